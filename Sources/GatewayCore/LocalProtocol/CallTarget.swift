/// Which upstream a call is about.
public struct CallTarget: Equatable, Sendable {
  public enum Name: Equatable, Sendable {
    case upstream(String)
    case url(String)
  }
  public var name: Name
  public var namespace: String?
  /// Raw JSON object text; only with `url`. Secret.
  public var auth: [UInt8]?

  init(name: Name, namespace: String? = nil, auth: [UInt8]? = nil) {
    self.name = name
    self.namespace = namespace
    self.auth = auth
  }
}
