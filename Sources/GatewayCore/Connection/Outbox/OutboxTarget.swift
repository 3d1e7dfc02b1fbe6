/// Where a durable send goes, in words that mean the same after a restart: the configuration may have changed meanwhile.
public struct OutboxTarget: Hashable, Sendable {
  public enum Name: Hashable, Sendable {
    /// A configured upstream.
    case upstream(String)
    /// The whole URL, which may hold secrets in its user info and query.
    case url(String)
  }
  public var name: Name
  /// For Socket.IO beginning with `/`.
  public var namespace: String

  public init(name: Name, namespace: String) {
    self.name = name
    self.namespace = namespace
  }
}
