/// What a kind with one transport per connection adds to a `DirectLink`: its own handshake and the meaning of messages.
/// Made for each transport and never used again; it speaks through its link, which outlives it. Spans are valid only
/// during the call.
protocol DirectSession: AnyObject {
  /// The transport is open. The session begins its handshake and, in the end or at once, calls `link.ready()`.
  func begin(_ facts: TransportFacts)
  /// A long text is coming, and this much of it has come, as in `TransportReceiver`.
  func gathers(text: RawSpan)
  func received(text: RawSpan)
  func received(binary: RawSpan)
  /// Only between `link.ready()` and the end.
  func write(_ message: PreparedMessage, ack: UInt64?)
  func answer(_ id: UInt64, _ message: PreparedMessage)
  /// As in `UpstreamChannel`.
  func decline(_ id: UInt64, _ why: AnswerAbsence) -> Bool
  /// An acknowledgement is not awaited any more.
  func forget(ack: UInt64)
  /// As in `UpstreamChannel`; also before the session is ready.
  func want(_ interest: Interest)
  func drop(_ interest: Interest)
  /// Says goodbye. True: the server's answer is worth waiting for, after which the session calls `link.closeEnded()`.
  func leave() -> Bool
  /// Asks the server for a sign of life; whatever comes is one. False: it cannot be asked now.
  func probe() -> Bool
  /// The session is over: nothing may run on.
  func end()

  /// How often the server is asked for a sign of life, and after which silence it is gone; nil never asks.
  var heartbeat: HeartbeatSettings? { get }
  /// What the server has not answered while the handshake runs, for people: `the login`.
  var awaited: String { get }
  /// Protocol name to revision, for `status`.
  var protocols: [(name: String, revision: Int)] { get }
  /// The server's id of this conversation.
  var sid: String? { get }
}

extension DirectSession {
  func gathers(text: RawSpan) {}
  func answer(_ id: UInt64, _ message: PreparedMessage) {}
  func decline(_ id: UInt64, _ why: AnswerAbsence) -> Bool { false }
  func forget(ack: UInt64) {}
  func want(_ interest: Interest) {}
  func drop(_ interest: Interest) {}
  func leave() -> Bool { false }
  func end() {}
  var sid: String? { nil }
}
