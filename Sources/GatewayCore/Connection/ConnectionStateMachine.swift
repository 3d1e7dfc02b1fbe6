/// The life of one connection as a pure value: facts and orders go in, the actions to perform come out. What a
/// handshake is doing is no part of it; that lives in the channel.
struct ConnectionStateMachine: Equatable, Sendable {
  /// What is asked of a connection, and what happened to its link.
  enum Event: String, CaseIterable, Sendable {
    /// Start an attempt.
    case connect
    /// Close the link, or give up the attempt that is under way.
    case disconnect
    /// Leave the pool for good.
    case release
    /// The attempt succeeded: the namespace is accepted.
    case opened
    /// The link broke, or the attempt failed.
    case lost
  }

  /// What the owner has to do, in the order of the list.
  enum Action: Equatable, Sendable {
    /// Dial a fresh channel.
    case startAttempt
    /// Close the channel and forget it.
    case closeChannel
    /// Forget the channel, which has ended by itself.
    case discardChannel
    /// Write what queued up, first in, first out.
    case drainQueue
    /// Tell the subscriptions that asked for transitions. Never merged with another one.
    case announce(from: ConnectionState, to: ConnectionState)
    case removeFromPool
  }

  /// The five states, with `created` told apart by whether its only attempt has been started.
  private enum Phase {
    /// No attempt so far. May become `attempting`, `connected` or `disconnected`.
    case fresh
    /// The first attempt is under way. May become `connected` or `disconnected`.
    case attempting
    /// May become `disconnected`.
    case connected
    /// May become `reconnecting` or `released`.
    case disconnected
    /// May become `connected` or `disconnected`.
    case reconnecting
    /// Terminal.
    case released

    var state: ConnectionState {
      switch self {
      case .fresh, .attempting: .created
      case .connected: .connected
      case .disconnected: .disconnected
      case .reconnecting: .reconnecting
      case .released: .released
      }
    }
  }

  private var phase = Phase.fresh

  init() {}

  var state: ConnectionState { phase.state }

  /// Whether an attempt runs now: in `reconnecting` always, in `created` once `connect` was asked.
  var attemptIsUnderWay: Bool { phase == .attempting || phase == .reconnecting }

  /// Stores the next state and returns what to do about it; an empty list means that there is nothing to do. A pair
  /// that no transition exists for changes nothing and throws.
  mutating func handle(_ event: Event) throws(IllegalTransition) -> [Action] {
    switch (phase, event) {
    case (.fresh, .connect):
      phase = .attempting
      return [.startAttempt]
    case (.disconnected, .connect):
      return [move(to: .reconnecting), .startAttempt]

    case (.fresh, .opened), (.attempting, .opened), (.reconnecting, .opened):
      return [move(to: .connected), .drainQueue]

    case (.connected, .disconnect), (.reconnecting, .disconnect):
      return [.closeChannel, move(to: .disconnected)]

    case (.fresh, .lost), (.attempting, .lost), (.connected, .lost), (.reconnecting, .lost):
      return [.discardChannel, move(to: .disconnected)]

    case (.disconnected, .release):
      return [move(to: .released), .removeFromPool]

    case (.connected, .opened), (.disconnected, .disconnect), (.disconnected, .lost):
      return []

    case (.attempting, .connect), (.connected, .connect), (.reconnecting, .connect), (.released, .connect),
      (.fresh, .disconnect), (.attempting, .disconnect), (.released, .disconnect),
      (.fresh, .release), (.attempting, .release), (.connected, .release), (.reconnecting, .release),
      (.released, .release),
      (.disconnected, .opened), (.released, .opened), (.released, .lost):
      throw IllegalTransition(state: state, asked: event)
    }
  }

  private mutating func move(to next: Phase) -> Action {
    let previous = state
    phase = next
    return .announce(from: previous, to: state)
  }
}

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

/// A transition that does not exist was asked for. The connection is as it was.
struct IllegalTransition: Error, Equatable, Sendable, CustomStringConvertible {
  /// What a connection is needed for.
  enum Use: Equatable, Sendable {
    /// So many commands have no outcome yet.
    case commands(Int)
    /// The configuration keeps it up.
    case configuration
    /// Programs have leases.
    case leases
    /// It is the link that this host has for its fleet.
    case fleet
    /// Calls that waited for it are still to be told that they have ended.
    case endings
  }

  var state: ConnectionState
  var asked: ConnectionStateMachine.Event
  /// Why it may not be released, whatever its state is.
  var use: Use?

  init(state: ConnectionState, asked: ConnectionStateMachine.Event, use: Use? = nil) {
    self.state = state
    self.asked = asked
    self.use = use
  }

  /// The state that the connection would have had to take.
  var target: ConnectionState {
    switch asked {
    case .connect: .reconnecting
    case .disconnect, .lost: .disconnected
    case .release: .released
    case .opened: .connected
    }
  }

  /// One sentence that names both states.
  var description: String {
    if state == .created && asked == .connect { return "the first attempt of a created connection is under way" }
    return "'\(asked.rawValue)' would make a \(state.rawValue) connection \(target.rawValue), which is not allowed"
  }
}
