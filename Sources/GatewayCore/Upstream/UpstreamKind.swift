/// One kind of upstream: makes what a connection needs to speak to its server.
public protocol UpstreamKind: AnyObject {
  /// What is known of the kind without any object of it.
  var traits: UpstreamTraits { get }
  /// A connector for one connection.
  func connector(for specification: UpstreamSpecification) -> any UpstreamConnector
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
    /// The steps of Engine.IO, then the namespace.
    case engineIO
    /// The kind's own handshake.
    case handshake
  }

  /// `socketio`; shown as `kind` in `status`.
  public var name: String
  /// The URL schemes that mean this kind, in lower case.
  var schemes: [String]
  public var path: Path
  var examination: Examination
  /// Whether the part of a URL behind `#` means something.
  var usesFragment: Bool
  /// The table of settings that this kind alone has, in an upstream's; nil if it has none.
  public var table: String?
  /// Settings of an upstream that mean nothing to this kind, or tables of them.
  public var foreign: [String]
  /// What makes an upstream impossible whatever the server says, such as a malformed namespace; nil if nothing does.
  public var problem: @Sendable (UpstreamSpecification) -> MessageProblem?

  init(
    _ name: String, schemes: [String], path: Path, examination: Examination, usesFragment: Bool = false,
    table: String? = nil,
    foreign: [String] = [],
    problem: @escaping @Sendable (UpstreamSpecification) -> MessageProblem?
  ) {
    self.name = name
    self.schemes = schemes
    self.path = path
    self.examination = examination
    self.usesFragment = usesFragment
    self.table = table
    self.foreign = foreign
    self.problem = problem
  }

  /// The namespace that a URL and, beside it, a call mean. Without namespaces it is always `/`.
  public func namespace(of url: UpstreamURL, asked: String?) throws(MessageProblem) -> String {
    guard path == .namespace else {
      guard asked == nil || asked == "/" else {
        throw .invalid("`namespace` goes with Socket.IO only; an upstream of \(url.scheme):// has none")
      }
      return "/"
    }
    // A URL without a path, or with `/` alone, leaves the choice to the call.
    let path = url.path == "/" ? "" : url.path
    guard let asked else { return path.isEmpty ? "/" : path }
    guard path.isEmpty || path == asked else {
      throw .invalid("`namespace` differs from the URL's path, which is a namespace too; leave one of them out")
    }
    return asked.isEmpty ? "/" : asked
  }
}
