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
    let deadline = timers.at(end) { [weak session] in
      guard let session else { return }
      OpenWait.expired(number, in: session)
    }
    let wait = connection.stateWaits.add(state, cost: OpenWait.cost) { [weak session] in
      if let session { OpenWait.reached(number, in: session) }
    }
    session.open(OpenWait(id, self, connection, lease, wait, until: end, deadline), number: number)
    session.gateway.clients.countWait(of: session)
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
final class OpenWait: OpenCall {
  let requestID: RequestID?
  private let call: WaitCall
  private let end: MonotonicInstant
  private let target: Connection
  private let lease: Lease
  private let wait: StateWait
  private let deadline: Timers.ID

  /// What its end counts among `Endings`.
  static let cost = 2

  init(
    _ id: RequestID?, _ call: WaitCall, _ target: Connection, _ lease: Lease, _ wait: StateWait,
    until end: MonotonicInstant, _ deadline: Timers.ID
  ) {
    requestID = id
    self.call = call
    self.end = end
    self.target = target
    self.lease = lease
    self.wait = wait
    self.deadline = deadline
  }

  var connection: Connection? { target }
  private var state: ConnectionState { call.state }

  func continuation(at now: MonotonicInstant) -> CallContinuation? {
    var rest = call
    rest.timeout = max(end - now, .zero)
    return CallContinuation(line: rest.line(requestID))
  }

  func cancel(in session: LocalSession) {
    session.gateway.seams.timers.cancel(deadline)
    wait.cancel()
    target.giveBack(lease)
    session.gateway.clients.giveBackWait(of: session)
  }

  func demandRights(in session: LocalSession) throws(LocalError) { try session.caller.demand(.subscribe, on: target) }

  // MARK: - The ends

  /// The connection is in the state, or was since: the call is answered.
  fileprivate static func reached(_ number: UInt64, in session: LocalSession) {
    guard let call = session.close(number) as? OpenWait else { return }
    call.cancel(in: session)
    session.reply(call.requestID) { $0.member("state", call.state.rawValue) }
  }

  /// Those whose state was entered are answered at once, and do not wait for their turn.
  static func endReached(in session: LocalSession) {
    let ended = session.openCalls(OpenWait.self).filter(\.call.wait.isReached)
    for (number, _) in ended.sorted(by: { $0.number < $1.number }) { reached(number, in: session) }
  }

  /// The gateway stops for good.
  static func endAll(in session: LocalSession) {
    endReached(in: session)
    for (number, _) in session.openCalls(OpenWait.self) { session.end(number, .draining) }
  }

  fileprivate static func expired(_ number: UInt64, in session: LocalSession) {
    guard let call = session.openCall(number) as? OpenWait else { return }
    // The answer was only waiting for its turn.
    if call.wait.isReached { return reached(number, in: session) }
    let connection = call.target
    let detail = connection.lastFailure.map { ", last: \($0.detail)" } ?? ""
    session.end(
      number,
      LocalError(
        .expired,
        "The connection did not become \(call.state.rawValue) in time (it is \(connection.state.rawValue)\(detail)).",
        [.init("state", .string(connection.state.rawValue))]))
  }
}
