/// `reconnect`, `disconnect` and `release`: what an administrator tells a connection to do. On the host that has the link
/// of an upstream for its fleet that link is told, too.
protocol OrderCall: LocalCall {
  var target: CallTarget { get }
  /// What the connection's state machine is asked for.
  static var event: ConnectionStateMachine.Event { get }

  init(target: CallTarget)
  func order(_ connection: Connection) throws(IllegalTransition)
}

extension OrderCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    self.init(target: try params.target(line))
  }

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    let specification = try session.caller.specification(target, need: .admin)
    let connections = session.gateway.upstreams.connections(of: specification).filter(\.takesOrders)
    let state: ConnectionState
    do { state = try order(connections) } catch { throw LocalError(error) }
    session.reply(id) { $0.member("state", state.rawValue) }
  }

  /// Tells all of them, the link first; returns the state of the last one that could do it. It fails where none could:
  /// what programs use may have nothing to do as long as the link is down, and the other way round.
  private func order(_ connections: [Connection]) throws(IllegalTransition) -> ConnectionState {
    var state: ConnectionState?
    var refusal = IllegalTransition(state: .released, asked: Self.event)
    for connection in connections.reversed() {
      do {
        try order(connection)
        state = connection.state
      } catch { refusal = error }
    }
    guard let state else { throw refusal }
    return state
  }
}

/// `reconnect`.
struct ReconnectCall: OrderCall {
  var target: CallTarget

  static let method = LocalMethod(
    "reconnect", "Connects now, and ends what `disconnect` began.", right: .admin,
    parameters: LocalParameter.target, result: ResultSchemas.state)

  static let event = ConnectionStateMachine.Event.connect

  func order(_ connection: Connection) throws(IllegalTransition) { try connection.reconnect() }
}

/// `disconnect`.
struct DisconnectCall: OrderCall {
  var target: CallTarget

  static let method = LocalMethod(
    "disconnect", "Disconnects, and stays so until `reconnect`.", right: .admin,
    parameters: LocalParameter.target, result: ResultSchemas.state)

  static let event = ConnectionStateMachine.Event.disconnect

  func order(_ connection: Connection) throws(IllegalTransition) { try connection.disconnect() }
}

/// `release`.
struct ReleaseCall: OrderCall {
  var target: CallTarget

  static let method = LocalMethod(
    "release", "Forgets a disconnected connection that nobody uses.", right: .admin,
    parameters: LocalParameter.target, result: ResultSchemas.state)

  static let event = ConnectionStateMachine.Event.release

  func order(_ connection: Connection) throws(IllegalTransition) { try connection.release() }
}
