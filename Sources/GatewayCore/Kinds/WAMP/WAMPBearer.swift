/// What carries a session and hears of it: the transport below, and the connection above. Spans are valid only during the
/// call.
protocol WAMPBearer: AnyObject {
  /// `compress`: whether the transport may compress it.
  func send(_ text: RawSpan, compress: Bool)
  /// As `Transport.send(control:)`: what the router makes us say.
  func send(control text: RawSpan)
  /// The router has answered our goodbye.
  func closeEnded()
  /// The session is there.
  func began()
  /// The session is over; the transport is to be closed once what was sent has left. Nothing follows.
  func ended(_ failure: UpstreamFailure)

  /// An event or, with `ack`, an invocation. `name` is a JSON string, `arguments` are in the local form, without brackets.
  func event(_ name: RawSpan, _ arguments: RawSpan, _ keywords: RawSpan?, ack: UInt64?)
  func dropped(_ reason: GapReason)
  func acknowledged(_ ack: UInt64, _ arguments: RawSpan, _ keywords: RawSpan?)
  func progressed(_ ack: UInt64, _ arguments: RawSpan, _ keywords: RawSpan?)
  /// As in `UpstreamChannelOwner`: what is longer than a line.
  var lineLimit: Int { get }
  func event(_ name: RawSpan, tooLong size: Int, ack: UInt64?)
  func answered(_ ack: UInt64, tooLong size: Int, isPart: Bool)
  func failed(_ ack: UInt64, _ error: RemoteError)
  func withdrew(_ ack: UInt64)
  func answered(_ interest: Interest, _ refusal: UpstreamFailure?)

  /// Whether anybody watches.
  var isObserved: Bool { get }
  /// `message` is nil where it carries a secret.
  func observed(_ direction: TraceFact.Direction, _ words: String, _ message: RawSpan?)
}
