/// One kind of upstream. A further kind is one more implementation, registered with the `ConnectionFactory`.
public protocol UpstreamKind: AnyObject {
  /// The URL schemes that mean this kind, in lower case.
  var schemes: [String] { get }
  /// What makes an upstream impossible whatever the server says, such as a malformed namespace; nil if nothing does.
  func problem(with specification: UpstreamSpecification) -> MessageProblem?
  /// A connector for one connection.
  func connector(for specification: UpstreamSpecification) -> any UpstreamConnector
}
