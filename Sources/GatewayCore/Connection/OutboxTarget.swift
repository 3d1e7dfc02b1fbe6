/// Where a durable send goes, in words that mean the same after a restart: the configuration may have changed
/// meanwhile. An object, because every entry has one, and nearly always that of its connection.
public final class OutboxTarget: Hashable, Sendable {
  public enum Name: Hashable, Sendable {
    /// A configured upstream.
    case upstream(String)
    /// The whole URL, which may hold secrets in its user info and query.
    case url(String)

    public static func == (a: Self, b: Self) -> Bool {
      switch (a, b) {
      case (.upstream(let one), .upstream(let other)), (.url(let one), .url(let other)): one.isExactly(other)
      case (.upstream, .url), (.url, .upstream): false
      }
    }

    public func hash(into hasher: inout Hasher) {
      switch self {
      case .upstream(let name), .url(let name): name.hashExactly(into: &hasher)
      }
    }
  }
  public let name: Name
  /// For Socket.IO beginning with `/`.
  public let namespace: String
  /// What a program said of a URL. Without secrets in what is stored: those are refused.
  public let options: TargetOptions?
  /// Bytes that are stored of it beside what every entry has.
  let byteCount: Int
  /// What every entry to it has of it on a disk. Nil where the options hold secrets: there is no such entry, and they need not
  /// be in memory once more.
  let encoded: [UInt8]?

  public init(name: Name, namespace: String, options: TargetOptions? = nil) {
    self.name = name
    self.namespace = namespace
    self.options = options
    // A configured name has no length that a program chose.
    let url = if case .url(let url) = name { url.utf8.count } else { 0 }
    byteCount = url + namespace.utf8.count + (options?.byteCount ?? 0)
    encoded = options?.holdSecrets == true ? nil : Self.encode(name, namespace: namespace, options)
  }

  public static func == (a: OutboxTarget, b: OutboxTarget) -> Bool {
    a === b || (a.name == b.name && a.namespace.isExactly(b.namespace) && a.options == b.options)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    namespace.hashExactly(into: &hasher)
    hasher.combine(options)
  }

  /// It has to be read before it is known what it means.
  var isURL: Bool { if case .url = name { true } else { false } }

  /// As it stands on a disk: the name or the URL, and with the URL the text of what was said of it. Nil for both names, for
  /// none, and for a text that says nothing.
  public convenience init?(upstream: String?, url: String?, namespace: String, options: [UInt8]?) {
    switch (upstream, url) {
    case (let name?, nil): self.init(name: .upstream(name), namespace: namespace)
    case (nil, let url?):
      guard let options else {
        self.init(name: .url(url), namespace: namespace)
        return
      }
      guard let known = try? TargetOptions.read(options) else { return nil }
      self.init(name: .url(url), namespace: namespace, options: known)
    case (nil, nil), (_?, _?): return nil
    }
  }
}

extension OutboxTarget {
  /// The target of a connection. The path stays as it was: after a restart the URL must not mean another upstream.
  convenience init(_ specification: UpstreamSpecification) {
    self.init(
      name: specification.name.map { .upstream($0) } ?? .url(specification.url.canonical.fullText),
      namespace: specification.namespace, options: specification.options)
  }

  /// The names under which entries of a connection may stand: the namespace may have been written as the URL's
  /// path, or beside it.
  static func names(of specification: UpstreamSpecification) -> Set<Name> {
    let (name, namespace) = (OutboxTarget(specification).name, specification.namespace)
    guard case .url = name, ["", "/", namespace].contains(where: specification.url.path.isExactly) else {
      return [name]
    }
    return Set(
      ["/", namespace].map { path in
        var other = specification
        other.url.path = path
        return OutboxTarget(other).name
      })
  }

  /// As a call would name it.
  var call: CallTarget {
    switch name {
    case .upstream(let name): CallTarget(name: .upstream(name), namespace: namespace)
    case .url(let url): CallTarget(name: .url(url), namespace: namespace, options: options)
    }
  }

  /// The configured upstream's name.
  var upstream: String? {
    if case .upstream(let name) = name { name } else { nil }
  }
}
