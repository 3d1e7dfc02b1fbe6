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
    session.open(OpenFleetCall(id), number: number)
    fleet.retire(within: Self.limit) { [weak session] result in
      guard let session else { return }
      switch result {
      case .success(let places):
        guard let call = session.close(number) else { return }
        session.reply(call.id) {
          FleetDocument.write("left", places, into: &$0)
        }
      case .failure(let problem):
        session.end(number, LocalError(problem.problem, of: problem.place.upstream, to: nil))
      }
    }
  }
}

extension FleetLeaveCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) {}
}
