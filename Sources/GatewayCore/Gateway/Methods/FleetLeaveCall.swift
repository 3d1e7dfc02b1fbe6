/// `fleet.leave`: this host gives up all links that it has for its fleet, and takes none until it is restarted or reloaded.
struct FleetLeaveCall: LocalCall {
  static let method = LocalMethod(
    "fleet.leave",
    "Gives all links that this host has for the fleet to other hosts, and takes none until a restart or a reload.",
    right: .admin,
    result: .object([
      .always(
        "left",
        FleetDocument.placesSchema,
        "What this host had, and has given up."
      )
    ]))

  static let startsWork = true

  /// How long the last bytes and the fleet's server may take.
  private static let limit: Duration = .seconds(5)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandAdministrator()
    let fleet = try session.caller.fleet()
    let number = session.makeCallNumber()
    session.open(OpenFleetCall(id) { caller throws(LocalError) in try caller.demandAdministrator() }, number: number)
    let client = session.fact
    session.gateway.note(.fleetLeaveOrdered(client))
    // The client may be gone by then.
    fleet.retire(within: Self.limit) { [weak session, reference = session.gateway.reference] result in
      switch result {
      case .success(let places):
        guard let session, let call = session.close(number) else { return }
        session.reply(call.requestID) {
          FleetDocument.write("left", places, into: &$0)
        }
      case .failure(let problem):
        let error = LocalError(problem.problem, of: problem.place.upstream, to: nil)
        reference.object?.note(.fleetLeaveFailed(client, upstream: problem.place.upstream, detail: error.message))
        session?.end(number, error)
      }
    }
  }
}

extension FleetLeaveCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) {}
}
