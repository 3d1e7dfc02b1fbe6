/// This host's share in a fleet: one engine, and for each upstream of the fleet a link and, where this host may hold, a
/// holder. Decision 0130.
final class Fleet {
  private struct Member {
    let link: FleetLink
    let holder: FleetHolder?
  }

  private let options: FleetOptions
  /// What the fleet calls this host.
  let host: String
  let engine: any FleetEngine
  private let seams: FleetSeams
  private var members: [FleetPlace: Member] = [:]

  /// What becomes of a durable send of this host.
  var onSend: (FleetPlace, FleetBox.News) -> Void = { _, _ in }
  /// The holder's own connection to the server is wanted from now on, or not any more.
  var onWant: (FleetPlace, Bool) -> Void = { _, _ in }
  /// It must not write another byte.
  var onCut: (FleetPlace) -> Void = { _ in }

  /// Nil where the configuration wants none.
  init?(_ options: FleetOptions, _ seams: FleetSeams) {
    guard options.isWanted else { return nil }
    self.options = options
    self.seams = seams
    host = options.host ?? seams.machine
    engine = seams.makeEngine(RedisSettings(options))
  }

  /// What a connection of an upstream speaks to: of one that the fleet shares it is the fleet.
  func connector(for specification: UpstreamSpecification, _ connector: any UpstreamConnector)
    -> any UpstreamConnector
  {
    guard specification.settings.fleet, let name = specification.name else { return connector }
    let place = place(name, specification.namespace)
    let member = member(place, specification, connector)
    guard specification.isHeld else { return FleetConnector(connector, link: member.link) }
    guard let holder = member.holder else { return connector }
    holder.connector.adopt(connector)
    return holder.connector
  }

  func place(_ upstream: String, _ namespace: String) -> FleetPlace {
    FleetPlace(fleet: options.name ?? "", upstream: upstream, namespace: namespace)
  }

  /// Who holds, as far as this host knows; nil for an upstream that it has nothing to do with.
  func link(of place: FleetPlace) -> FleetLink? { members[place]?.link }
  func holder(of place: FleetPlace) -> FleetHolder? { members[place]?.holder }

  /// What this host writes for others that died, in the order of their places and hosts.
  var adoptedSends: [FleetSend] {
    members.sorted { ($0.key.upstream, $0.key.namespace) < ($1.key.upstream, $1.key.namespace) }
      .flatMap { $0.value.holder?.adopted.values.sorted() ?? [] }
  }

  private func member(
    _ place: FleetPlace, _ specification: UpstreamSpecification, _ connector: any UpstreamConnector
  ) -> Member {
    let settings = specification.settings
    if let known = members[place] {
      // The holder's own connection keeps no history, whatever the upstream is to have.
      if !specification.isHeld { known.holder?.publisher.historyLimit = settings.history.events }
      return known
    }
    var own = FleetSettings(place: place, host: host)
    (own.lease, own.grace, own.adopt) = (options.lease, options.grace, options.adopt)
    own.servers = options.redis.map(\.host)
    let link = FleetLink(
      own, engine: engine, timers: seams.timers, details: FleetHostDetails(mayHold: options.hold == .may))
    link.box.onNews = { [weak self] in self?.onSend(place, $0) }
    var holder: FleetHolder?
    if options.hold == .may {
      let made = FleetHolder(own, connector, engine: engine, timers: seams.timers, random: seams.random) { [link] in
        link.tops
      }
      made.onWant = { [weak self] in self?.onWant(place, $0) }
      made.onCut = { [weak self] in self?.onCut(place) }
      made.wallMilliseconds = { [seams] in seams.time.wallMilliseconds }
      made.publisher.historyLimit = settings.history.events
      holder = made
    }
    let member = Member(link: link, holder: holder)
    members[place] = member
    return member
  }

  /// Takes part no more in what is not wanted: what this host holds of it is given to others first.
  func keep(_ isWanted: (FleetPlace) -> Bool) {
    for (place, member) in members where !isWanted(place) {
      members[place] = nil
      member.link.box.withdraw()
      member.holder?.leave()
      wait(for: [member], until: seams.time.now + Self.leaveLimit) { [engine] in
        engine.remove(member.link)
        if let holder = member.holder { engine.remove(holder) }
      }
    }
  }

  private static let leaveLimit: Duration = .seconds(5)

  /// Gives everything that this host holds to others; `done` is called when that is known, or not to be known in time.
  func leave(within limit: Duration, _ done: @escaping () -> Void) {
    for member in members.values { member.holder?.leave() }
    wait(for: Array(members.values), until: seams.time.now + limit, done)
  }

  private func wait(for members: [Member], until end: MonotonicInstant, _ done: @escaping () -> Void) {
    guard members.contains(where: { $0.holder?.holds == true }), engine.server != nil, seams.time.now < end
    else { return done() }
    seams.timers.after(Self.look) { [weak self] in self?.wait(for: members, until: end, done) }
  }

  private static let look: Duration = .milliseconds(5)
}

/// What a connection is to its fleet.
enum FleetRole: String, CaseIterable {
  /// It uses the link that a host of the fleet holds, perhaps this one.
  case follower
  /// It is the link to the server.
  case holder
}

/// What a fleet needs of the outside.
public struct FleetSeams {
  let time: any TimeSource
  let timers: Timers
  let random: any RandomSource
  /// The machine's name, where the configuration names this host nothing else.
  let machine: String
  /// The engine, which looks for its server from now on.
  let makeEngine: (RedisSettings) -> any FleetEngine

  /// With Redis.
  /// - Parameter dialer: of connections that carry bytes as they come.
  public init(
    dialer: any TransportDialer, credentials: any CredentialReader, time: any TimeSource, timers: Timers,
    random: any RandomSource, machine: String
  ) {
    self.init(time: time, timers: timers, random: random, machine: machine) { settings in
      let engine = RedisEngine(settings, dialer: dialer, credentials: credentials, timers: timers, random: random)
      engine.begin()
      return engine
    }
  }

  init(
    time: any TimeSource, timers: Timers, random: any RandomSource, machine: String,
    makeEngine: @escaping (RedisSettings) -> any FleetEngine
  ) {
    (self.time, self.timers, self.random) = (time, timers, random)
    (self.machine, self.makeEngine) = (machine, makeEngine)
  }
}

extension RedisSettings {
  init(_ options: FleetOptions) {
    self.init(
      servers: options.redis.map { address in
        var tls = TLSSettings()
        tls.ca = options.authorities
        return DialRequest(
          secure: address.secure, host: address.host, port: address.port, target: "", headers: [], tls: tls,
          phaseLimit: .seconds(5), messageLimit: 64 << 20)
      })
    (user, password, copies) = (options.user, options.password, options.copies)
  }
}
