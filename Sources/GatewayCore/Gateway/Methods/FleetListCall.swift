/// `fleet.list`: the hosts of the fleet, and which of them holds what.
struct FleetListCall: LocalCall {
  static let method = LocalMethod(
    "fleet.list", "Lists the hosts of the fleet, and which of them has the link of each upstream.", right: .status,
    result: FleetDocument.listSchema)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandStatus()
    let fleet = try session.caller.fleet()
    guard let id else { return }
    try session.checkOpenCalls()
    let number = session.makeCallNumber()
    session.open(OpenFleetCall(id) { caller throws(LocalError) in try caller.demandStatus() }, number: number)
    // What is shown is as it is now, where Redis says so.
    fleet.refresh { [weak session] in
      guard let session, session.close(number) != nil else { return }
      do throws(LocalError) {
        try OpenAnswer.begin(id, in: session) { FleetListAnswer($0, fleet) }
      } catch {
        session.reply(id, error)
      }
    }
  }
}

extension FleetListCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) {}
}

/// A call that waits for the fleet's server.
final class OpenFleetCall: OpenCall {
  let requestID: RequestID?
  private let demand: (Caller) throws(LocalError) -> Void
  private let onCancel: () -> Void

  /// `demand`: throws where the caller has not the right to it.
  init(
    _ id: RequestID?, onCancel: @escaping () -> Void = {}, demand: @escaping (Caller) throws(LocalError) -> Void
  ) {
    requestID = id
    self.demand = demand
    self.onCancel = onCancel
  }

  func cancel(in session: LocalSession) { onCancel() }

  func demandRights(in session: LocalSession) throws(LocalError) { try demand(session.caller) }
}

extension Caller {
  /// The fleet that this host is in.
  func fleet() throws(LocalError) -> Fleet {
    guard let fleet = upstreams.fleet else {
      throw LocalError(.conflict, "This host is in no fleet: set `name` and `redis` in `[fleet]`, and restart it.")
    }
    return fleet
  }

  /// Whether it may see what an upstream's fleet is.
  func maySee(_ place: FleetPlace) -> Bool {
    guard var specification = upstreams.resolver.configured(place.upstream) else { return false }
    specification.namespace = place.namespace
    return may(.status, upstreams.resolver.place(of: specification))
  }
}
