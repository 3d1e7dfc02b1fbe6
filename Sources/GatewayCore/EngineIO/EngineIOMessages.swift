/// The messages of one look at a server on their way through an `EngineIOSocket`, which keeps for itself what only concerns
/// the session.
struct EngineIOMessages {
  let socket: EngineIOSocket
  let messages: any IncomingMessages

  /// Hands out the text messages in order; the content of each begins at `start`. What else there is reaches the socket's
  /// receiver in its turn, by its other ways. To be called once.
  func forEach(_ body: (_ text: RawSpan, _ start: Int) -> Void) {
    messages.forEach { kind, message in
      switch kind {
      case .text: if socket.isPlain(message) { body(message, 1) } else { socket.transportReceived(text: message) }
      case .binary: socket.transportReceived(binary: message)
      }
    }
  }
}
