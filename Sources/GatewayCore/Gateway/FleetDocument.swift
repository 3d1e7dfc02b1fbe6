/// What `status` and `fleet.list` say of a fleet.
enum FleetDocument {
  // MARK: - A connection

  /// The member `fleet` of a connection that has to do with one; nothing of other connections.
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
      $0.bool(holder?.mayWrite == true)
      $0.member("holder", holderName(link.roster.lastRecord, holder, fleet))
      $0.member("term", Int(clamping: term(link, holder)))
      $0.member(
        "conversation", Int(clamping: max(link.hearing.tops.conversation, link.roster.lastRecord?.conversation ?? 0)))
      let own = holder.flatMap { $0.mayWrite ? $0.limit - link.timers.now : nil }
      $0.member("lease", (own ?? link.roster.leaseLeft)?.milliseconds)
      $0.member("behind", link.behind.map { Int(clamping: $0) })
      $0.member("unconfirmed", link.unconfirmed)
      $0.member("hosts", link.roster.presentCount)
      $0.member("carried", holder?.adopted.count ?? 0)
      $0.member("warning", warning(fleet))
      writeServer(fleet, link, into: &$0)
    }
  }

  /// What a connection is to its fleet; nil for one that has to do with none.
  static func role(_ connection: Connection) -> FleetRole? {
    let specification = connection.specification
    guard specification.settings.fleet else { return nil }
    return specification.isHeld ? .holder : .follower
  }

  /// Nil where none is known, or the last one has given the link back.
  private static func holderName(_ record: FleetLeaseRecord?, _ holder: FleetHolder?, _ fleet: Fleet) -> String? {
    if holder?.mayWrite == true { return fleet.host }
    return record?.holder.flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func term(_ link: FleetLink, _ holder: FleetHolder?) -> UInt64 {
    max(link.hearing.tops.term, holder?.lease.own?.term ?? 0, link.roster.lastRecord?.own?.term ?? 0)
  }

  private static func warning(_ fleet: Fleet) -> String? {
    if let taken = fleet.takenName {
      return
        "another daemon of the fleet is called \(taken) as well: give each host a `fleet.host` of its own; this one, \(fleet.host) until then, takes its name again when it is reloaded, or has no link and the other one is silent for `fleet.adopt`"
    }
    return fleet.abstains ? "this host has left the fleet's links to others, until it is restarted or reloaded" : nil
  }

  /// Where this host takes no part because it has other settings than the holder, or another version; what Redis refuses is
  /// said of that. Programs may not have noticed: none may use such an upstream now.
  private static func objections(_ links: [FleetLink]) -> String? {
    var details: [String] = []
    for link in links where link.refusal == nil {
      if let detail = link.objection?.detail, !details.contains(detail) { details.append(detail) }
    }
    return details.isEmpty ? nil : details.joined(separator: "; ")
  }

  /// The member `redis`. `link`: what it was refused there counts too.
  private static func writeServer(_ fleet: Fleet, _ link: FleetLink?, into out: inout JSONWriter) {
    let engine = link?.engine ?? fleet.engine
    let refusal = link?.refusal.map { UpstreamFailure($0.reason, $0.sentence(of: engine.server?.address ?? "it")) }
    let failure = engine.server == nil ? engine.failure : link?.trouble ?? refusal
    out.key("redis")
    out.object {
      let isReached = engine.server != nil
      $0.member("state", !isReached ? "unreachable" : failure == nil ? "working" : "refusing")
      $0.member("server", engine.server?.address)
      $0.member("version", engine.server?.version)
      $0.key("rtt")
      if let roundTrip = engine.roundTrip {
        $0.number(Double(roundTrip.nanoseconds / 1_000) / 1_000)
      } else {
        $0.null()
      }
      $0.member("reason", failure?.reason.rawValue)
      $0.member("detail", failure?.detail)
      $0.member("warning", engine.server?.danger)
    }
  }

  // MARK: - A trace

  /// Which host shows the packets of an upstream's link, for a trace on a host that does not have it; nil on the one
  /// that has.
  static func holderFact(of place: FleetPlace, in fleet: Fleet) -> TraceFact? {
    guard fleet.holder(of: place)?.mayWrite != true else { return nil }
    return TraceFact(.incoming, TraceFact.Layer(rawValue: "fleet"), "HOLDER \(whereabouts(of: place, in: fleet))")
  }

  private static func whereabouts(of place: FleetPlace, in fleet: Fleet) -> String {
    guard let record = fleet.link(of: place)?.roster.record else {
      return "unknown: this host has not read from the fleet's Redis which host has the link"
    }
    // An earlier process of this host may have had it last.
    guard let name = record.holder, !name.isEmpty, name != fleet.host else {
      return "none: no host has the fleet's link now"
    }
    return "\(name): it has the fleet's link, and a trace on that host shows what goes over it"
  }

  // MARK: - The daemon

  /// The member `fleet` of the daemon; nothing where the configuration has none.
  static func writeDaemon(_ fleet: Fleet?, shownTo caller: Caller, into out: inout JSONWriter) {
    guard let fleet else { return }
    let links = fleet.places.filter { caller.maySee($0) }.compactMap { fleet.link(of: $0) }
    out.key("fleet")
    out.object {
      $0.member("name", fleet.place("", "/").fleet)
      $0.member("host", fleet.host)
      $0.member("warning", warning(fleet) ?? objections(links))
      // Where each upstream has a server of its own one that cannot be used says more than the others.
      writeServer(fleet, links.first { $0.engine.server == nil || $0.trouble != nil || $0.refusal != nil }, into: &$0)
    }
  }

  // MARK: - The list

  /// What the result of `fleet.list` begins with. `links`: those that the program may see.
  static func writeListHead(_ fleet: Fleet, _ links: [FleetLink], into out: inout JSONWriter) {
    out.member("name", fleet.place("", "/").fleet)
    out.member("host", fleet.host)
    out.member("warning", warning(fleet))
    writeServer(fleet, links.first { $0.refusal != nil }, into: &out)
  }

  /// A host, and the links in which it is known.
  struct HostFacts {
    let host: String
    let known: [FleetLink]

    /// Nil where it is known in none of them.
    init?(_ host: String, _ links: [FleetLink]) {
      (self.host, known) = (host, links.filter { $0.roster.hosts[host] != nil })
      if known.isEmpty { return nil }
    }
  }

  static func write(_ facts: HostFacts, _ fleet: Fleet, into out: inout JSONWriter) {
    let (host, known) = (facts.host, facts.known)
    let details = known.compactMap { $0.roster.hosts[host]?.details }
    let lives = known.map { host == fleet.host ? true : $0.roster.isAlive(host) }
    out.object {
      $0.member("host", host)
      $0.member("version", details.map(\.release).max().flatMap { $0.isEmpty ? nil : $0 })
      $0.member("speaks", details.map(\.version).max().map { Int(clamping: $0) })
      $0.key("may_hold")
      $0.bool(details.contains { $0.mayHold })
      $0.key("alive")
      if lives.contains(true) { $0.bool(true) } else if lives.contains(nil) { $0.null() } else { $0.bool(false) }
      $0.key("stopped")
      $0.bool(host != fleet.host && !details.isEmpty && details.allSatisfy { $0.isStopped })
      $0.member("heard", known.compactMap { $0.roster.silence(of: host) }.min()?.milliseconds)
      $0.key("here")
      $0.bool(host == fleet.host)
      $0.key("upstreams")
      $0.beginArray()
      for link in known { write(host, link, into: &$0) }
      $0.endArray()
    }
  }

  /// What a host is to one upstream.
  private static func write(_ host: String, _ link: FleetLink, into out: inout JSONWriter) {
    guard let row = link.roster.hosts[host] else { return }
    out.object {
      $0.member("upstream", link.place.upstream)
      $0.member("namespace", link.place.namespace)
      $0.key("holds")
      $0.bool(link.roster.lastRecord?.holder == host)
      $0.member("life", Int(clamping: row.life))
      $0.key("differs")
      $0.beginArray()
      let agreement = link.roster.lastRecord?.agreement ?? FleetAgreement()
      for name in row.details.agreement.differences(from: agreement) { $0.string(name) }
      $0.endArray()
    }
  }

  /// Who has the link of an upstream.
  static func write(_ link: FleetLink, into out: inout JSONWriter) {
    let record = link.roster.lastRecord
    out.object {
      $0.member("upstream", link.place.upstream)
      $0.member("namespace", link.place.namespace)
      $0.member("holder", record?.holder.flatMap { $0.isEmpty ? nil : $0 })
      $0.member("term", Int(clamping: record?.own?.term ?? 0))
      $0.member("since", record?.since.map { Int(clamping: $0) })
      $0.member("lease", link.roster.leaseLeft?.milliseconds)
      $0.member("next", record.flatMap { $0.next.isEmpty ? nil : $0.next })
      $0.member("conversation", Int(clamping: record?.conversation ?? 0))
      $0.key("open")
      $0.bool(record?.isOpen == true && link.silence == nil)
      $0.member("epoch", record.flatMap { $0.epoch.isEmpty ? nil : $0.epoch })
      $0.member("version", record?.version.map { Int(clamping: $0) })
      $0.member("hosts", link.roster.presentCount)
      $0.member("objection", link.objection?.detail)
      $0.member("reason", record?.trouble?.reason.rawValue ?? link.silence?.reason.rawValue)
      $0.member("detail", record?.trouble?.detail ?? link.silence?.detail)
    }
  }

  /// A member with the links of upstreams that an order was about.
  static func write(_ name: String, _ places: [FleetPlace], into out: inout JSONWriter) {
    out.key(name)
    out.beginArray()
    for place in places {
      out.object {
        $0.member("upstream", place.upstream)
        $0.member("namespace", place.namespace)
      }
    }
    out.endArray()
  }

  // MARK: - Schemas

  /// What `write` makes of links of upstreams.
  static let placesSchema = JSONSchema.list(.object([.always("upstream", .text), .always("namespace", .text)]))

  private static let host = JSONSchema.object([
    .always("host", .text), .always("version", .optional(.text), "Of its gatewayd."),
    .always("speaks", .optional(.count), "The version of the fleet's protocol that it speaks."),
    .always("may_hold", .boolean),
    .always("alive", .optional(.boolean), "Null as long as it was seen only once, which says nothing, or not at all."),
    .always("stopped", .boolean, "Whether it has said that it ends, and was not started since."),
    .always(
      "heard", .optional(.count),
      "Milliseconds since it was heard, at most; null where it was not since this host looks."),
    .always("here", .boolean, "Whether it is this host."),
    .always(
      "upstreams",
      .list(
        .object([
          .always("upstream", .text), .always("namespace", .text), .always("holds", .boolean),
          .always("life", .count, "A number that grows whenever it joins, or is taken for dead."),
          .always("differs", .list(.text), "Settings that it has otherwise than the holder."),
        ]))),
  ])

  private static let upstream = JSONSchema.object([
    .always("upstream", .text), .always("namespace", .text), .always("holder", .optional(.text)),
    .always("term", .count),
    .always("since", .optional(.count), "When the term began by the clock of its holder, in milliseconds since 1970."),
    .always("lease", .optional(.count)),
    .always("next", .optional(.text), "The host that is to take it next; `*` for any other."),
    .always("conversation", .count), .always("open", .boolean, "Whether the link to the server is up."),
    .always("epoch", .optional(.text)),
    .always("version", .optional(.count), "Of the protocol that the fleet speaks."), .always("hosts", .count),
    .always("objection", .optional(.text), "Why this host can take no part."),
    .sometimes("reason", .optional(ResultSchemas.reason), "Why the holder is not connected to the server."),
    .sometimes("detail", .optional(.text), "The same in a sentence."),
  ])

  static let listSchema = JSONSchema.object([
    .always("name", .text), .always("host", .text), .always("warning", .optional(.text)),
    .always("redis", ResultSchemas.fleetServer),
    .always("hosts", .list(host)), .always("upstreams", .list(upstream)),
    .sometimes(
      "left_out", .object([.always("hosts", .count), .always("upstreams", .count)]),
      "How many did not fit into one line."),
  ])
}
