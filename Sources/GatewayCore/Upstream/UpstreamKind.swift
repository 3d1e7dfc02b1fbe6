/// One kind of upstream: makes what a connection needs to speak to its server.
protocol UpstreamKind: AnyObject {
  /// What is known of the kind without any object of it.
  var traits: UpstreamTraits { get }
  /// A connector for one connection.
  func connector(for specification: UpstreamSpecification) -> any UpstreamConnector
}

/// One object of each kind of upstream. What a kind is made of is the core's affair: a program hands them on.
public struct UpstreamKindSet {
  let all: [any UpstreamKind]
}

/// What is known of a kind of upstream beforehand: enough to judge a URL and a configuration.
public struct UpstreamTraits: Sendable {
  /// What the path of a URL means.
  public enum Path: Sendable {
    /// The namespace, which may also be named beside a URL without one.
    case namespace
    /// The path of the HTTP request, or nothing; there are no namespaces.
    case request
  }

  /// What there is to examine behind name, TCP, proxy and TLS.
  enum Examination: Sendable {
    /// A handshake of several HTTP requests, each looked at by itself; then the namespace.
    case stepwise
    /// The kind's own handshake.
    case handshake
  }

  /// `socketio`; shown as `kind` in `status`.
  var name: String
  /// The URL schemes that mean this kind, in lower case.
  var schemes: [String]
  public var path: Path
  var examination: Examination
  /// Whether the part of a URL behind `#` means something.
  var usesFragment: Bool
  /// The table of settings that this kind alone has, in an upstream's; nil if it has none.
  var table: String?
  /// Settings of an upstream that mean nothing to this kind, or tables of them.
  var foreign: [String]
  /// What makes an upstream impossible whatever the server says, such as a malformed namespace; nil if nothing does.
  var problem: @Sendable (UpstreamSpecification) -> MessageProblem?
  /// What makes it impossible to say something to any server of the kind, with the settings of an upstream; nil if
  /// nothing does.
  var unsayable: @Sendable (MessageDraft, UpstreamSettings) -> MessageProblem?

  init(
    _ name: String, schemes: [String], path: Path, examination: Examination, usesFragment: Bool = false,
    table: String? = nil,
    foreign: [String] = [],
    problem: @escaping @Sendable (UpstreamSpecification) -> MessageProblem?,
    unsayable: @escaping @Sendable (MessageDraft, UpstreamSettings) -> MessageProblem? = { _, _ in nil }
  ) {
    self.name = name
    self.schemes = schemes
    self.path = path
    self.examination = examination
    self.usesFragment = usesFragment
    self.table = table
    self.foreign = foreign
    self.problem = problem
    self.unsayable = unsayable
  }

  /// The namespace that a URL and, beside it, a call mean. Without namespaces it is always `/`.
  func namespace(of url: UpstreamURL, asked: String?) throws(MessageProblem) -> String {
    guard path == .namespace else {
      guard asked == nil || asked == "/" else {
        throw .invalid("an upstream of \(url.scheme):// has no namespaces; leave `namespace` out")
      }
      return "/"
    }
    // A URL without a path, or with `/` alone, leaves the choice to the call.
    let path = url.path == "/" ? "" : url.path
    guard let asked else { return path.isEmpty ? "/" : path }
    guard path.isEmpty || path.isExactly(asked) else {
      throw .invalid("`namespace` differs from the URL's path, which is a namespace too; leave one of them out")
    }
    return asked.isEmpty ? "/" : asked
  }
}

/// The kinds of upstream that a configuration may name, as far as each is known beforehand.
public struct UpstreamKinds: Sendable {
  public let traits: [UpstreamTraits]

  init(_ traits: [UpstreamTraits]) { self.traits = traits }

  /// The kind of a scheme; nil for one that no kind claims.
  public func traits(of scheme: String) -> UpstreamTraits? {
    traits.first { $0.schemes.contains(scheme) }
  }

  /// Why an upstream is impossible whatever its server says, judged before anything exists; nil if it is not.
  func problem(with specification: UpstreamSpecification) -> MessageProblem? {
    traits(of: specification.url.scheme)?.problem(specification)
  }
}

/// Everything that a kind must know to reach one upstream connection. Never mutated: a changed configuration makes a
/// new value.
struct UpstreamSpecification: Hashable, Sendable {
  /// The configured name; nil for an ad-hoc URL.
  @ByBytes var name: String?
  var url: UpstreamURL
  /// The namespace, beginning with `/`; `/` for kinds that have none.
  @ByBytes var namespace: String
  var settings: UpstreamSettings
  /// For an ad-hoc connection the owner's uid, which keeps users apart; nil for a configured upstream.
  var owner: UInt32?
  /// On whose account the connection is made and waits for its turns: its owner's; that of the user who asked for it
  /// first, where it is another namespace of a configured upstream than the configuration's.
  var requester: Account
  /// What a program said of an ad-hoc URL; it is in the settings too.
  var options: TargetOptions?
  /// Whether it is the link of a fleet's holder to the server, and not what programs use.
  var isHeld = false

  init(name: String?, url: UpstreamURL, namespace: String, settings: UpstreamSettings, owner: UInt32?) {
    self.name = name
    self.url = url
    self.namespace = namespace
    self.settings = settings
    self.owner = owner
    requester = owner.map { .user($0) } ?? .configuration
  }

  /// On whose account its connection is counted.
  var account: Account { owner.map { .user($0) } ?? .configuration }

  /// The namespace without what may be secret in it: old servers take credentials as its query.
  var shownNamespace: String { ShownAddress.namespace(namespace) }

  /// Whether no third party can listen on the way to any of its places, unless it goes through a proxy.
  var isPrivate: Bool { ([url] + settings.alternatives).allSatisfy(\.isPrivate) }
}
