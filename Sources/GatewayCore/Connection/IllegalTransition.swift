/// A transition that does not exist was asked for. The connection is as it was.
public struct IllegalTransition: Error, Equatable, Sendable, CustomStringConvertible {
  /// What a connection is needed for.
  public enum Use: Equatable, Sendable {
    /// So many commands have no outcome yet.
    case commands(Int)
    /// The configuration keeps it up.
    case configuration
    /// Programs have leases.
    case leases
  }

  public var state: ConnectionState
  public var asked: ConnectionStateMachine.Event
  /// Why it may not be released, whatever its state is.
  public var use: Use?

  init(state: ConnectionState, asked: ConnectionStateMachine.Event, use: Use? = nil) {
    self.state = state
    self.asked = asked
    self.use = use
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
