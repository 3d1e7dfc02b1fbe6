/// The answer to `fleet.list` while it is being written, in portions: in a fleet of thousands of hosts it takes longer than
/// a turn may, and more than a line. What does not fit is left out and counted. Decision 0102.
final class FleetListAnswer: PortionedAnswer {
  /// Nothing is listed before the first portion: one that waits for its turn holds no list.
  private enum Step {
    case head
    /// First who has each link: hosts are what there may be too many of.
    case upstreams(ListRest<FleetLink>, [FleetLink])
    case hosts(ListRest<String>, of: [FleetLink], upstreamsLeftOut: Int)
    case end
  }

  private var out = JSONWriter()
  private let fleet: Fleet
  private var step = Step.head

  /// Hosts, or upstreams, that are looked at in one go, at most.
  private static let portion = 64

  init(_ id: RequestID, _ fleet: Fleet) {
    self.fleet = fleet
    LocalReply.begin(id, into: &out)
  }

  var line: [UInt8] { out.bytes }

  func isLong(in gateway: Gateway) -> Bool {
    let links = fleet.places.compactMap { fleet.link(of: $0) }
    return links.reduce(links.count) { $0 + $1.roster.hosts.count } > Self.portion
  }

  func write(for session: LocalSession) -> Bool {
    switch step {
    case .head: step = begin(for: session)
    case .upstreams(var rest, let links):
      rest.write(
        Self.portion, for: session, into: &out, { session.caller.maySee($0.place) ? $0 : nil },
        { FleetDocument.write($0, into: &$1) })
      step = .upstreams(rest, links)
      guard rest.isEmpty else { return false }
      out.endArray()
      step = beginHosts(of: links, for: session, upstreamsLeftOut: rest.leftOut)
    case .hosts(var rest, let links, let upstreamsLeftOut):
      let seen = links.filter { session.caller.maySee($0.place) }
      rest.write(
        Self.portion, for: session, into: &out, { host in FleetDocument.HostFacts(host, seen) },
        { [fleet] in FleetDocument.write($0, fleet, into: &$1) })
      step = .hosts(rest, of: links, upstreamsLeftOut: upstreamsLeftOut)
      guard rest.isEmpty else { return false }
      out.endArray()
      writeLeftOut(hosts: rest.leftOut, upstreams: upstreamsLeftOut)
      LocalReply.end(&out)
      step = .end
      return true
    case .end: return true
    }
    return false
  }

  private func begin(for session: LocalSession) -> Step {
    let links = fleet.places.filter { session.caller.maySee($0) }.compactMap { fleet.link(of: $0) }
    FleetDocument.writeListHead(fleet, links, into: &out)
    out.key("upstreams")
    out.beginArray()
    return .upstreams(ListRest(links, for: session), links)
  }

  private func beginHosts(of links: [FleetLink], for session: LocalSession, upstreamsLeftOut: Int) -> Step {
    out.key("hosts")
    out.beginArray()
    let hosts = Set(links.flatMap { $0.roster.hosts.keys }).sorted()
    return .hosts(ListRest(hosts, for: session), of: links, upstreamsLeftOut: upstreamsLeftOut)
  }

  private func writeLeftOut(hosts: Int, upstreams: Int) {
    guard hosts + upstreams > 0 else { return }
    out.key("left_out")
    out.object {
      $0.member("hosts", hosts)
      $0.member("upstreams", upstreams)
    }
  }
}
