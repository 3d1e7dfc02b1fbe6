/// `fleet.forget`: nothing is kept any more of a host that is gone for good.
struct FleetForgetCall: LocalCall {
  var host: String

  static let method = LocalMethod(
    "fleet.forget",
    "Removes what the fleet keeps of a host that is gone for good, once its durable sends were written.",
    right: .admin,
    parameters: [.required(.host, .string(1...64), "The host, as 'fleet.list' has it.")],
    result: .object([
      .always("host", .text),
      .always(
        "forgotten",
        FleetDocument.placesSchema,
        "Of what the fleet had something of it."
      ),
    ]))

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandAdministrator()
    let forgetting = FleetForgetting(host, in: try session.caller.fleet())
    let number = session.makeCallNumber()
    let open = OpenFleetCall(id) {
      forgetting.cancel()
    } demand: { caller throws(LocalError) in
      try caller.demandAdministrator()
    }
    session.open(open, number: number)
    forgetting.start { [weak session, host] result in
      guard let session else { return }
      switch result {
      case .success(let places):
        guard let call = session.close(number) else { return }
        session.reply(call.requestID) {
          $0.member("host", host)
          FleetDocument.write("forgotten", places, into: &$0)
        }
      case .failure(let failure): session.end(number, LocalError(failure, of: host))
      }
    }
  }
}

extension FleetForgetCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    host = try params.required(.host, params.string(.host, line))
  }
}
