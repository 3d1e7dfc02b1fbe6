/// What makes two connections one and the same: the pool hands out the same object for equal keys. Names are compared
/// by their bytes, as access rules and servers do. Secrets take part in it and are never shown.
struct ConnectionKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  private enum Identity: Hashable {
    /// A configured upstream is itself by name, whatever its settings are.
    case configured(name: ExactText, namespace: ExactText)
    /// The link of a fleet's holder beside that.
    case held(name: ExactText, namespace: ExactText)
    /// An ad-hoc one by everything that the server sees, and by its owner. Where the path of the URL is the namespace
    /// it counts once.
    case adhoc(origin: UpstreamURL, namespace: ExactText, auth: AuthSource, owner: UInt32?, options: TargetOptions?)
  }

  private let identity: Identity

  init(_ specification: UpstreamSpecification) {
    if let name = specification.name {
      let (name, namespace) = (ExactText(name), ExactText(specification.namespace))
      identity =
        specification.isHeld
        ? .held(name: name, namespace: namespace) : .configured(name: name, namespace: namespace)
      return
    }
    var origin = specification.url.canonical
    if origin.path == "/" || origin.path.isExactly(specification.namespace) { origin.path = "" }
    // Written differently, the same JSON is a different identity: the bytes decide, nothing is parsed.
    identity = .adhoc(
      origin: origin, namespace: ExactText(specification.namespace.isEmpty ? "/" : specification.namespace),
      auth: specification.settings.auth, owner: specification.owner,
      options: specification.options)
  }

  private init(_ identity: Identity) { self.identity = identity }

  /// The key of the connection that programs use, also where this one is that of the link beside it.
  var ofUpstream: ConnectionKey {
    guard case .held(let name, let namespace) = identity else { return self }
    return ConnectionKey(.configured(name: name, namespace: namespace))
  }

  /// The same in every daemon, without secrets: equal where the keys are, and hardly ever elsewhere.
  var fingerprint: UInt64 {
    switch identity {
    case .configured(let name, let namespace):
      return Fingerprint.of([[1], Array(name.text.utf8), Array(namespace.text.utf8)])
    case .held(let name, let namespace):
      return Fingerprint.of([[3], Array(name.text.utf8), Array(namespace.text.utf8)])
    case .adhoc(let origin, let namespace, let auth, let owner, let options):
      let secret: [UInt8] =
        switch auth {
        case .none: []
        case .inline(let payload): payload
        case .external(let source): Array(source.subject.utf8)
        }
      let user = owner.map { Array(String($0).utf8) } ?? []
      let said = options.map { [$0.text] } ?? []
      return Fingerprint.of([[2], Array(origin.fullText.utf8), Array(namespace.text.utf8), secret, user] + said)
    }
  }

  /// Without secrets, for the log.
  var description: String {
    switch identity {
    case .configured(let name, let namespace): "\(name.text) \(namespace.text)"
    case .held(let name, let namespace): "\(name.text) \(namespace.text), held"
    case .adhoc(let origin, let namespace, _, let owner, _):
      "\(origin.redacted) \(namespace.text)" + (owner.map { " of uid \($0)" } ?? "")
    }
  }

  /// Keeps secrets out of dumps too.
  var customMirror: Mirror { Mirror(reflecting: description) }
}
