/// What a connection does with a command, by its state alone.
enum CommandAdmission: Equatable, Sendable {
  /// Keep it in the `CommandQueue` until the connection is connected.
  case queue
  /// Write it now.
  case write
  /// Remember it for as long as the lease lives; nothing is written.
  case keep
  /// An error: the connection is gone.
  case illegal

  /// What local programs ask of a connection.
  enum Operation: String, CaseIterable, Sendable {
    case send, request, subscribe
  }
}

extension ConnectionStateMachine {
  /// The table of commands: the machine's other half, which changes no state.
  static func admits(
    _ operation: CommandAdmission.Operation, in state: ConnectionState
  ) -> CommandAdmission {
    switch (state, operation) {
    case (.created, .send), (.created, .request), (.disconnected, .send), (.disconnected, .request),
      (.reconnecting, .send), (.reconnecting, .request):
      .queue
    case (.connected, .send), (.connected, .request): .write
    case (.created, .subscribe), (.connected, .subscribe), (.disconnected, .subscribe), (.reconnecting, .subscribe):
      .keep
    case (.released, .send), (.released, .request), (.released, .subscribe): .illegal
    }
  }
}
