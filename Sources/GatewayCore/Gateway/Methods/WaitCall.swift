/// `wait`: until a connection is in a state. It holds the connection meanwhile.
struct WaitCall: LocalCall {
  var target: CallTarget
  var state: ConnectionState
  var timeout: Duration

  static let method = LocalMethod(
    "wait", "Waits until a connection is in a state, and holds it meanwhile.", right: .subscribe,
    parameters: LocalParameter.target + [
      .required(.state, .choice(ConnectionState.allCases.map(\.rawValue)), "The state to wait for."),
      .required(
        .timeout, .duration(default: nil), "How long to wait, in milliseconds; then the call ends as Expired."),
    ],
    result: ResultSchemas.state)

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    // A connection that is waited for is used: only one without any use is released, and then there is none.
    let pool = session.gateway.upstreams.pool
    if state == .released, pool.existing(try session.caller.specification(target, need: .subscribe)) == nil {
      return session.reply(id) { $0.member("state", state.rawValue) }
    }
    let connection = try session.caller.connection(target, need: .subscribe)
    let lease = connection.lease(.call)
    if connection.state == state {
      connection.giveBack(lease)
      return session.reply(id) { $0.member("state", state.rawValue) }
    }
    let number = session.makeCallNumber()
    let timers = session.gateway.seams.timers
    let end = timers.now + timeout
    let deadline = timers.at(end) { [weak session] in session?.waitExpired(number, for: state) }
    session.open(OpenWait(id, self, connection, lease, until: end, deadline), number: number)
    session.waits += 1
    session.gateway.clients.waiting.insert(session.number)
  }
}

extension WaitCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    target = try params.target(line)
    state = try params.required(.state, params.choice(.state, line))
    timeout = try params.required(.timeout, params.duration(.timeout, line))
  }
}

/// A `wait` that holds its connection.
private final class OpenWait: OpenCall {
  let id: RequestID?
  private let call: WaitCall
  private let end: MonotonicInstant
  private let target: Connection
  private let lease: Lease
  private let deadline: Timers.ID

  init(
    _ id: RequestID?, _ call: WaitCall, _ target: Connection, _ lease: Lease, until end: MonotonicInstant,
    _ deadline: Timers.ID
  ) {
    self.id = id
    self.call = call
    self.end = end
    self.target = target
    self.lease = lease
    self.deadline = deadline
  }

  var connection: Connection? { target }
  var state: ConnectionState { call.state }

  func continuation(at now: MonotonicInstant) -> [UInt8]? {
    var rest = call
    rest.timeout = max(end - now, .zero)
    return rest.line(id)
  }

  func cancel(in session: LocalSession) {
    session.gateway.seams.timers.cancel(deadline)
    target.giveBack(lease)
    session.waits -= 1
    if session.waits == 0 { session.gateway.clients.waiting.remove(session.number) }
  }

  func demandRights(in session: LocalSession) throws(LocalError) { try session.caller.demand(.subscribe, on: target) }
}

extension LocalSession {
  /// A connection took another state: answers the calls that waited for it.
  func connectionMoved(_ connection: Connection, to state: ConnectionState) {
    for (number, call) in openCalls(OpenWait.self) where call.connection === connection && call.state == state {
      _ = close(number)
      call.cancel(in: self)
      reply(call.id) { $0.member("state", state.rawValue) }
    }
  }

  /// The gateway stops for good.
  func endWaitsForStates() {
    for (number, _) in openCalls(OpenWait.self) { end(number, .draining) }
  }

  fileprivate func waitExpired(_ number: UInt64, for state: ConnectionState) {
    guard let connection = openCall(number)?.connection else { return }
    let detail = connection.lastFailure.map { ", last: \($0.detail)" } ?? ""
    end(
      number,
      LocalError(
        .expired,
        "The connection did not become \(state.rawValue) in time (it is \(connection.state.rawValue)\(detail)).",
        [.init("state", .string(connection.state.rawValue))]))
  }
}
