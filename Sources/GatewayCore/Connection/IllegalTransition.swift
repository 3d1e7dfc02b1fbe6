/// A transition that does not exist was asked for. The connection is as it was.
public struct IllegalTransition: Error, Equatable, Sendable, CustomStringConvertible {
  public var state: ConnectionState
  public var asked: ConnectionStateMachine.Event

  public init(state: ConnectionState, asked: ConnectionStateMachine.Event) {
    self.state = state
    self.asked = asked
  }

  /// The state that the connection would have had to take.
  public var target: ConnectionState {
    switch asked {
    case .connect: .reconnecting
    case .disconnect, .lost: .disconnected
    case .release: .released
    case .opened: .connected
    }
  }

  /// One sentence that names both states.
  public var description: String {
    if state == .created && asked == .connect { return "the first attempt of a created connection is under way" }
    return "'\(asked.rawValue)' would make a \(state.rawValue) connection \(target.rawValue), which is not allowed"
  }
}
