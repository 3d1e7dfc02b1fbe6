/// The links to servers that this host holds for its fleet: connections like any others, which no program names.
final class HeldLinks {
  private struct Hold {
    let connection: Connection
    let lease: Lease
  }

  private let fleet: Fleet
  private unowned let upstreams: Upstreams
  private var holds: [FleetPlace: Hold] = [:]

  init(_ fleet: Fleet, _ upstreams: Upstreams) {
    self.fleet = fleet
    self.upstreams = upstreams
    fleet.onWant = { [weak self] in if $1 { self?.hold($0) } else { self?.letGo($0) } }
    fleet.onCut = { [weak self] in self?.cut($0) }
    fleet.onHurry = { [weak self] in self?.holds[$0]?.connection.hurry(.request) }
    fleet.trouble = { [weak self] in self?.trouble(of: $0) }
  }

  /// Why a link is down, unless it is only being made anew.
  private func trouble(of place: FleetPlace) -> UpstreamFailure? {
    holds[place]?.connection.downFailure.flatMap { $0.reason == .idle ? nil : $0 }
  }

  private func hold(_ place: FleetPlace) {
    guard let specification = upstreams.held(place.upstream, place.namespace) else { return }
    // One of an earlier part in the fleet has the connector of that.
    if let old = upstreams.pool.existing(specification), old.connector !== fleet.holder(of: place)?.connector {
      letGo(place)
      try? old.release()
    }
    guard holds[place] == nil, let connection = upstreams.connection(for: specification) else { return }
    holds[place] = Hold(connection: connection, lease: connection.lease(.subscription))
    connection.hurry(.order)
  }

  private func letGo(_ place: FleetPlace) {
    guard let hold = holds.removeValue(forKey: place) else { return }
    hold.connection.giveBack(hold.lease)
    hold.connection.end(.linkNotHeld)
    // Nothing is left of a fleet that this host has left.
    let isShared = upstreams.held(place.upstream, place.namespace)?.settings.fleet == true
    if !isShared { try? hold.connection.release() }
  }

  private func cut(_ place: FleetPlace) {
    guard let connection = holds[place]?.connection, connection.channel != nil else { return }
    connection.restart(UpstreamFailure(.fleet, "this host may not write to the server any more"))
  }
}

extension Upstreams {
  /// What the link of a holder is: as the configuration has the upstream, but wanted by the holder alone.
  func held(_ name: String, _ namespace: String) -> UpstreamSpecification? {
    guard var specification = resolver.configured(name) else { return nil }
    if namespace.isExactly(specification.namespace) {
      specification.settings.onConnect = configuration.upstreams[name]?.settings.onConnect ?? []
    }
    specification.namespace = namespace
    specification.isHeld = true
    specification.settings.keep = .onDemand
    specification.settings.history.events = 0
    return specification
  }

  /// Takes part in the fleet, where there is one: also for programs of other hosts.
  func beginFleet(_ relay: OutboxRelay) {
    guard let fleet, links == nil else { return }
    links = HeldLinks(fleet, self)
    sends = FleetSends(fleet, relay)
    relay.outbox.copies = sends
    joinFleet()
  }

  /// Takes part no more in what neither the configuration nor a program of this host needs.
  func reviewFleet() {
    fleet?.review { [weak self] in self?.isUsed($0) ?? true }
  }

  /// Whether the configuration names it, or programs of this host use it.
  private func isUsed(_ place: FleetPlace) -> Bool {
    guard var specification = resolver.configured(place.upstream) else { return false }
    if specification.namespace.isExactly(place.namespace) { return true }
    specification.namespace = place.namespace
    // A link that an administrator keeps closed stays so.
    return connections(of: specification).contains { !$0.specification.isHeld || $0.isRequestedDown }
  }

  /// Takes part in what the configuration in force has of the fleet.
  func joinFleet() {
    guard let fleet else { return }
    // Whoever gave everything away may hold again.
    fleet.rejoin()
    fleet.keep { configuration.upstreams[$0.upstream]?.settings.fleet == true }
    // Another daemon may have another name by now. What was given up above has been taken back under the name that it had.
    fleet.takeOwnName()
    for (name, upstream) in configuration.upstreams.sorted(by: { $0.key < $1.key }) where upstream.settings.fleet {
      guard let specification = resolver.configured(name) else { continue }
      // Of one that is known it learns the settings.
      _ = factory.connector(for: specification)
    }
  }
}
