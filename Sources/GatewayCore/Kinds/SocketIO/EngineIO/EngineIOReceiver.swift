/// Who is told what happens on an `EngineIOSocket`. Spans are valid only during the call.
protocol EngineIOReceiver: AnyObject {
  /// The header lines of the answer that opened the transport.
  func engineHeard(_ headers: [HTTPHeader])
  /// The session, which began with long-polling, goes on over a WebSocket.
  func engineSwitched()
  func engineOpened(_ handshake: EngineIOHandshake)
  /// What one look at the server brought, to be handed out by the socket's `forEach`.
  func engineReceived(_ messages: any IncomingMessages, from socket: EngineIOSocket)
  /// A text message by itself; its content begins at `start`.
  func engineReceived(text: RawSpan, from start: Int)
  func engineReceived(binary: RawSpan)
  /// A large binary message of so many bytes has come as base64. True: that was all there is to be known of it, and it need
  /// not be decoded.
  func engineSkips(binaryCount: Int) -> Bool
  /// A long text message is coming, and this much of it has come; its content begins at `start`.
  func engineGathers(text: RawSpan, from start: Int)
  /// The same for a long binary message.
  func engineGathers(binary: RawSpan)
  /// The end, by the server or by a failure. Nothing follows.
  func engineEnded(_ failure: TransportFailure)
}

extension EngineIOReceiver {
  /// For receivers that look at whole messages.
  func engineGathers(text: RawSpan, from start: Int) {}
  func engineGathers(binary: RawSpan) {}
  func engineSkips(binaryCount: Int) -> Bool { false }
}
