/// What `status` says of a connection that has to do with a fleet.
enum FleetDocument {
  /// The member `fleet`; nothing of other connections.
  static func write(_ connection: Connection, of fleet: Fleet?, into out: inout JSONWriter) {
    let specification = connection.specification
    guard let fleet, specification.settings.fleet, let name = specification.name,
      let link = fleet.link(of: fleet.place(name, specification.namespace))
    else { return }
    let holder = fleet.holder(of: link.place)
    let role = specification.isHeld ? FleetRole.holder : .follower
    out.key("fleet")
    out.object {
      $0.member("role", role.rawValue)
      $0.member("name", link.place.fleet)
      $0.member("host", fleet.host)
      $0.key("holds")
      $0.bool(holder?.holds == true)
      $0.member("term", Int(clamping: max(link.tops.term, holder?.lease.own?.term ?? 0)))
      $0.member("conversation", Int(clamping: link.tops.conversation))
      $0.member("unconfirmed", link.flights.count)
      $0.key("redis")
      $0.object {
        $0.member("state", fleet.engine.server == nil ? "unreachable" : "working")
        $0.member("server", fleet.engine.server?.address)
        $0.member("version", fleet.engine.server?.version)
      }
    }
  }
}
