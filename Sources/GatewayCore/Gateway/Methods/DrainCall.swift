/// `drain`: nothing new is taken, and what is there leaves.
struct DrainCall: LocalCall {
  var timeout: Duration?

  static let method = LocalMethod(
    "drain", "Takes nothing new any more, and answers when everything has left or the time is over.", right: .admin,
    parameters: [
      .optional(.timeout, .duration(default: nil), "How long to wait, in milliseconds; `limits.stop` unless given.")
    ],
    result: .object([.always("left", .count, "Sends that have not left.")]))

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandAdministrator()
    // It may be asked for once more while the gateway drains.
    try session.checkOpenCalls()
    let number = session.makeCallNumber()
    let open = OpenDrain(id)
    session.open(open, number: number)
    let limit = timeout ?? session.gateway.configuration.limits.stop
    session.gateway.drain(within: limit, while: { !open.isCancelled }) { [weak session] left in
      guard let session, let call = session.close(number) else { return }
      session.reply(call.requestID) { $0.member("left", left) }
    }
  }
}

extension DrainCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    timeout = try params.duration(.timeout, line)
  }
}

/// A `drain` that waits. The draining itself goes on without it.
private final class OpenDrain: OpenCall {
  let requestID: RequestID?
  private(set) var isCancelled = false

  init(_ id: RequestID?) { requestID = id }

  var outlivesStop: Bool { true }

  func demandRights(in session: LocalSession) throws(LocalError) { try session.caller.demandAdministrator() }

  func cancel(in session: LocalSession) { isCancelled = true }
}
