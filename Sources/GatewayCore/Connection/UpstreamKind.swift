/// One kind of upstream, such as Socket.IO: chosen by the URL's scheme, it makes the connectors of all its connections
/// and owns what they share.
public protocol UpstreamKind: AnyObject {
  /// The URL schemes that it serves, in lower case.
  var schemes: [String] { get }

  /// What a connection uses to prepare messages and to dial. The specification has passed `problem(with:)`.
  func connector(for specification: UpstreamSpecification) -> any UpstreamConnector

  /// Why such an upstream cannot be used; nil when it can.
  func problem(with specification: UpstreamSpecification) -> MessageProblem?
}
