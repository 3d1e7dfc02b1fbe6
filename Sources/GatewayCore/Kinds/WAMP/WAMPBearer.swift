/// What carries a session and hears of it: the transport below, and the connection above. Spans are valid only during
/// the call.
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

  /// An event or, with `ack`, an invocation. `name` is a JSON string, `arguments` are in the local form, without
  /// brackets.
  func event(_ name: RawSpan, _ arguments: RawSpan, _ keywords: RawSpan?, ack: UInt64?)
  func dropped(_ event: DroppedEvent)
  func acknowledged(_ ack: UInt64, _ arguments: RawSpan, _ keywords: RawSpan?)
  func progressed(_ ack: UInt64, _ arguments: RawSpan, _ keywords: RawSpan?)
  /// As in `UpstreamChannelOwner`: what is longer than a line.
  var lineLimit: Int { get }
  func event(_ name: RawSpan, tooLong size: Int, ack: UInt64?)
  func answered(_ ack: UInt64, tooLong size: Int, isPart: Bool)
  func answeredUnreadably(_ ack: UInt64)
  func failed(_ ack: UInt64, _ error: RemoteError)
  func withdrew(_ ack: UInt64)
  func answered(_ interest: Interest, _ refusal: UpstreamFailure?)

  /// Whether the connection has observers.
  var isObserved: Bool { get }
  /// `message` is nil where it carries a secret.
  func observed(_ direction: TraceFact.Direction, _ words: String, _ message: RawSpan?)
}

/// Says what a session has to say, to the transport and to the observers.
final class WAMPSender {
  /// What carries the session; nil when it was let go.
  weak var bearer: (any WAMPBearer)?

  init(_ bearer: any WAMPBearer) { self.bearer = bearer }

  /// `words` are for the observers; of a message that carries a secret they see nothing else.
  func send(
    _ message: [UInt8], _ words: @autoclosure () -> String, isSecret: Bool = false, compress: Bool = true
  ) {
    guard let bearer else { return }
    if bearer.isObserved { bearer.observed(.outgoing, words(), isSecret ? nil : message.span.bytes) }
    bearer.send(message.span.bytes, compress: compress)
  }

  /// The same for what the router makes us say.
  func send(control message: [UInt8], _ words: @autoclosure () -> String, isSecret: Bool = false) {
    guard let bearer else { return }
    if bearer.isObserved { bearer.observed(.outgoing, words(), isSecret ? nil : message.span.bytes) }
    bearer.send(control: message.span.bytes)
  }

  /// Tells the observers what came.
  func observe(_ message: WAMPMessage, _ text: RawSpan, _ traffic: WAMPTraffic) {
    guard let bearer, bearer.isObserved else { return }
    guard text.byteCount <= bearer.lineLimit else {
      return bearer.observed(.incoming, "\(message.code.word) (\(text.byteCount) bytes, more than a line)", nil)
    }
    bearer.observed(.incoming, WAMPDescription.received(message, name: traffic.name(of: message, text), text), text)
  }
}
