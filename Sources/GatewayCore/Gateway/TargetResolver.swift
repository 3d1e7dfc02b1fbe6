/// Finds out which upstream a call means, by the rules of "Target" in the protocol's reference.
struct TargetResolver {
  let configuration: Configuration
  private let urls: any URLReader
  private let factory: ConnectionFactory
  /// The names of the configured upstreams by the canonical spelling of each of their URLs, sorted.
  private let names: [UpstreamURL: [String]]
  /// The names of the configured upstreams by each of their servers, sorted.
  private var neighbours: [ServerAddress: [String]] = [:]
  /// The namespace that each configured upstream has without a call that names another one.
  private var ownNamespaces: [String: String] = [:]

  init(configuration: Configuration, urls: any URLReader, factory: ConnectionFactory) {
    self.configuration = configuration
    self.urls = urls
    self.factory = factory
    var names: [UpstreamURL: [String]] = [:]
    // Not sorted as pairs: the settings of thousands of upstreams are much to move.
    let sorted = configuration.upstreams.keys.sorted()
    for name in sorted {
      guard let upstream = configuration.upstreams[name] else { continue }
      for url in Set(upstream.urls.map(\.canonical)) { names[url, default: []].append(name) }
    }
    self.names = names
    for name in sorted {
      guard let upstream = configuration.upstreams[name] else { continue }
      for server in Set(upstream.urls.map(ServerAddress.init)) { neighbours[server, default: []].append(name) }
      ownNamespaces[name] = try? namespace(of: upstream.url, asked: nil)
    }
  }

  /// The upstream that `target` means for a program of `uid`. `mayKnow`: of which configured upstreams the program may
  /// hear the names that it has not said itself.
  func resolve(
    _ target: CallTarget, uid: UInt32, mayKnow: (String) -> Bool = { _ in true }
  ) throws(LocalError) -> UpstreamSpecification {
    let specification =
      switch target.name {
      case .upstream(let name): try configured(name, namespace: target.namespace, uid: uid)
      case .url(let text): try byURL(text, target: target, uid: uid, mayKnow: mayKnow)
      }
    if let problem = factory.problem(with: specification) {
      throw LocalError(.invalidParams, "The upstream cannot be used: \(problem).")
    }
    return specification
  }

  /// A configured upstream with its own namespace.
  func configured(_ name: String) -> UpstreamSpecification? {
    try? configured(name, namespace: nil, uid: nil)
  }

  private func configured(
    _ name: String, namespace: String?, uid: UInt32?
  ) throws(LocalError) -> UpstreamSpecification {
    // Names are ASCII, and a dictionary would also find one by another spelling: that of a K is the Kelvin sign.
    guard name.utf8.allSatisfy(Unicode.ASCII.isASCII), let upstream = configuration.upstreams[name] else {
      throw .unknownUpstream(name)
    }
    let own = try self.namespace(of: upstream.url, asked: nil)
    var specification = UpstreamSpecification(
      name: name, url: upstream.url, namespace: own, settings: upstream.settings, owner: nil)
    // The holder says it for all hosts.
    if upstream.settings.fleet { specification.settings.onConnect = [] }
    guard let namespace else { return specification }
    specification.namespace = try self.namespace(of: upstream.url, asked: namespace)
    guard !specification.namespace.isExactly(own) else { return specification }
    specification.settings.onConnect = []
    if let uid { specification.requester = .user(uid) }
    return specification
  }

  private func byURL(
    _ text: String, target: CallTarget, uid: UInt32, mayKnow: (String) -> Bool
  ) throws(LocalError) -> UpstreamSpecification {
    let url: UpstreamURL
    do { url = try urls.read(text) } catch {
      guard !error.isOfReader else { throw LocalError(.internalError, "No URL can be read now: \(error.message).") }
      throw LocalError(.invalidParams, "`url` cannot be used: \(error.message).")
    }
    let same = names(of: url)
    if same.count > 1 {
      let known = same.filter(mayKnow)
      guard !known.isEmpty else {
        throw LocalError(.conflict, "Several upstreams have this URL, under names that this user may not use.")
      }
      throw LocalError(
        .conflict, "Several upstreams have this URL (\(known.joined(separator: ", "))); use the name of one of them.")
    }
    if let name = same.first {
      if let own = target.auth.map({ _ in "auth" }) ?? target.options.map({ _ in "options" }) {
        let which = mayKnow(name) ? "the configured upstream '\(name)'" : "an upstream that this user may not use"
        throw .invalid(
          own,
          "`\(own)` is not allowed here: the URL is that of \(which), which has settings of its own; leave it out.")
      }
      return try configured(name, namespace: target.namespace, uid: uid)
    }
    guard configuration.adhoc else {
      throw LocalError(
        .upstreamUnknown,
        "The URL belongs to no configured upstream, and the configuration allows no others (`adhoc = false`); use an upstream that it names.",
        [.init("url", .string(url.redacted))])
    }
    try checkKind(of: url, target.options)
    var settings = configuration.adhocSettings
    if let auth = target.auth { settings.auth = .inline(auth) }
    target.options?.apply(to: &settings)
    var specification = UpstreamSpecification(
      name: nil, url: url, namespace: try namespace(of: url, asked: target.namespace), settings: settings,
      owner: uid)
    specification.options = target.options
    return specification
  }

  /// What only another kind of upstream has is a mistake, as it is in a configuration.
  private func checkKind(of url: UpstreamURL, _ options: TargetOptions?) throws(LocalError) {
    guard let options, let foreign = factory.traits(of: url)?.foreign else { return }
    for name in options.names where foreign.contains(where: { name == $0 || name.hasPrefix($0 + ".") }) {
      throw .invalid(
        "options", "options.\(name) means nothing for an upstream of \(url.scheme)://; leave it out.")
    }
  }

  /// The configured upstreams that have a URL.
  private func names(of url: UpstreamURL) -> [String] { names[url.canonical] ?? [] }

  /// The configured connection that a target means; nil where it means none.
  func configuredConnection(_ target: CallTarget, uid: UInt32) -> ConnectionKey? {
    guard let specification = try? resolve(target, uid: uid), specification.name != nil else { return nil }
    return ConnectionKey(specification)
  }

  /// What names an upstream that was resolved earlier: its user means the same connection by it.
  func target(of specification: UpstreamSpecification) -> CallTarget {
    func unless(_ own: String?) -> String? { own.isExactly(specification.namespace) ? nil : specification.namespace }
    if let name = specification.name {
      return CallTarget(name: .upstream(name), namespace: unless(configured(name)?.namespace))
    }
    var auth: [UInt8]?
    if case .inline(let payload) = specification.settings.auth { auth = payload }
    return CallTarget(
      name: .url(specification.url.fullText), namespace: unless(try? namespace(of: specification.url, asked: nil)),
      auth: auth, options: specification.options)
  }

  // MARK: - Whose rules hold

  /// Whose rules hold for an upstream that was resolved earlier: a URL may have become that of a configured upstream.
  func place(of specification: UpstreamSpecification) -> AccessPlace {
    let scope = specification.name.map { AccessScope.upstream($0) } ?? scope(of: specification.url)
    return place(scope, specification.url, specification.namespace)
  }

  /// The same for the target of an entry of the outbox. What no configuration lets any program use is `closed`.
  func place(of target: OutboxTarget) -> AccessPlace {
    switch target.name {
    case .upstream(let name): return place(.upstream(name), nil, target.namespace)
    case .url(let text):
      guard let url = try? urls.read(text) else { return AccessPlace(.closed, namespace: target.namespace) }
      return place(scope(of: url), url, target.namespace)
    }
  }

  /// A URL on the server of configured upstreams needs the rights on these as well, and so does a namespace of one
  /// upstream that is another one's own.
  private func place(_ scope: AccessScope, _ url: UpstreamURL?, _ namespace: String) -> AccessPlace {
    var place = AccessPlace(scope, namespace: namespace)
    switch scope {
    case .adhoc:
      guard let url, let found = neighbours[ServerAddress(url)] else { break }
      place.neighbours = found.filter { isSameKind(url, $0) }
      place.strangers = found.filter { !isSameKind(url, $0) }
    case .upstream(let name):
      guard let upstream = configuration.upstreams[name], !ownNamespaces[name].isExactly(place.namespace) else { break }
      let others = Set(upstream.urls.flatMap { neighbours[ServerAddress($0)] ?? [] }).subtracting([name])
      place.neighbours = others.filter { ownNamespaces[$0].isExactly(place.namespace) }.sorted()
    case .shared, .closed: break
    }
    return place
  }

  private func isSameKind(_ url: UpstreamURL, _ name: String) -> Bool {
    guard let upstream = configuration.upstreams[name] else { return false }
    return factory.traits(of: upstream.url)?.schemes == factory.traits(of: url)?.schemes
  }

  private func scope(of url: UpstreamURL) -> AccessScope {
    let names = names(of: url)
    guard let name = names.first else { return configuration.adhoc ? .adhoc : .closed }
    return names.count == 1 ? .upstream(name) : .shared(names)
  }

  /// Whose rules hold for seeing, taking back and retrying an entry. What no configuration lets any program use was
  /// sent by URL, and users that may do so see and take back what is left.
  func rules(of target: OutboxTarget) -> AccessPlace { place(of: target).orByURL }

  /// A URL that no kind claims is refused as a whole.
  private func namespace(of url: UpstreamURL, asked: String?) throws(LocalError) -> String {
    do throws(MessageProblem) { return try factory.traits(of: url)?.namespace(of: url, asked: asked) ?? "/" } catch {
      throw LocalError(error)
    }
  }

  /// Whether a connection's namespace may be another one than its URL names.
  func namesNamespaces(_ url: UpstreamURL) -> Bool {
    factory.traits(of: url)?.path == .namespace && (url.path.isEmpty || url.path == "/")
  }
}

extension AccessPlace {
  /// The same for what is left of a place that no program may use any more: the rules for URLs hold.
  var orByURL: AccessPlace {
    var place = self
    if scope == .closed { place.scope = .adhoc }
    return place
  }
}
