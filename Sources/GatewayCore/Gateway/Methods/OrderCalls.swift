/// `reconnect`, `disconnect` and `release`: what an administrator tells a connection to do.
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
    guard let connection = session.gateway.upstreams.pool.existing(specification) else {
      throw LocalError(IllegalTransition(state: .released, asked: Self.event))
    }
    do { try order(connection) } catch { throw LocalError(error) }
    session.reply(id) { $0.member("state", connection.state.rawValue) }
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
