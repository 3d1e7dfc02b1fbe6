/// This host's share in a fleet: one engine, and for each upstream of the fleet a link and, where this host may hold, a
/// holder. Decision 0130.
final class Fleet {
  private struct Member {
    let link: FleetLink
    let holder: FleetHolder?
  }

  private struct Namesake {
    let name: String
    /// When it was noticed.
    let since: MonotonicInstant
    /// This host gives its links away to take the name again.
    var isOver = false
  }

  let options: FleetOptions
  /// What the fleet calls this host.
  private(set) var host: String
  /// Another daemon has the name that this host was to have.
  private var namesake: Namesake?
  /// What it was to be called, where another daemon has that name.
  var takenName: String? { namesake?.name }
  /// It holds nothing until it is told so.
  private(set) var abstains = false
  /// The same, or it is about to give away what it has.
  var leaves: Bool { abstains || retirement != nil }
  /// It ends.
  private(set) var isStopping = false
  /// The version of this gatewayd, for people.
  var release = ""
  /// Tells this process from another one of the same name.
  private let instance: String
  let engine: any FleetEngine
  /// When a durable send is kept.
  var durable: FleetDurability { options.durable }
  private let seams: FleetSeams
  private var members: [FleetPlace: Member] = [:]
  /// What it takes back of upstreams that it does not share any more, and of names that it has no more.
  private var withdrawals: [FleetWithdrawal] = []
  /// The order to give up everything that is under way.
  private var retirement: FleetRetirement?

  /// It takes part in an upstream in which it did not before.
  var onJoin: (FleetPlace) -> Void = { _ in }
  /// What becomes of a durable send of this host.
  var onSend: (FleetPlace, FleetBox.News) -> Void = { _, _ in }
  /// Asked of a durable send, by its number, before a copy of it goes that the fleet shares no longer: calls back, at once or
  /// later, when this host can do without.
  var whenNeedless: (UInt64, @escaping () -> Void) -> Void = { $1() }
  /// The holder's own connection to the server is wanted from now on, or not any more.
  var onWant: (FleetPlace, Bool) -> Void = { _, _ in }
  /// Why that is down; nil while it is up, and before anything has failed.
  var trouble: (FleetPlace) -> UpstreamFailure? = { _ in nil }
  /// Another host than before has the link, or none, as far as this host has seen.
  var onHolder: (FleetPlace) -> Void = { _ in }
  /// A program of this host waits for what the server refuses.
  var onHurry: (FleetPlace) -> Void = { _ in }
  /// It must not write another byte.
  var onCut: (FleetPlace) -> Void = { _ in }
  /// Another daemon has this host's name, and this one has another from now on.
  var onRenamed: (_ old: String, _ new: String) -> Void = { _, _ in }
  /// It has its own again.
  var onNameRegained: (String) -> Void = { _ in }

  /// Told what becomes of Redis and of this host's links.
  var onReport: (FleetReport) -> Void = { _ in }

  /// Nil where the configuration wants none.
  init?(_ options: FleetOptions, _ seams: FleetSeams) {
    guard options.isWanted else { return nil }
    self.options = options
    self.seams = seams
    host = options.host ?? seams.machine
    instance = seams.random.uuid()
    engine = seams.makeEngine(RedisSettings(options))
    engine.onReport = { [weak self] in self?.onReport($0) }
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

  /// A connection of its own to the fleet's server, to look at it; nil where there is none to be looked at.
  func makeProbe() -> RedisProbe? { seams.makeProbe?(RedisSettings(options)) }

  func place(_ upstream: String, _ namespace: String) -> FleetPlace {
    FleetPlace(fleet: options.name ?? "", upstream: upstream, namespace: namespace)
  }

  /// Who holds, as far as this host knows; nil for an upstream that it has nothing to do with.
  func link(of place: FleetPlace) -> FleetLink? { members[place]?.link }
  func holder(of place: FleetPlace) -> FleetHolder? { members[place]?.holder }
  /// The upstreams that it has to do with, by name and namespace.
  var places: [FleetPlace] {
    members.keys.sorted { ($0.upstream, $0.namespace) < ($1.upstream, $1.namespace) }
  }

  private func member(
    _ place: FleetPlace, _ specification: UpstreamSpecification, _ connector: any UpstreamConnector
  ) -> Member {
    let settings = specification.settings
    let agreement = FleetAgreement(
      specification, kind: connector.kind, lease: options.lease, adopt: options.adopt)
    if let known = members[place] {
      if !specification.isHeld { known.link.lives.details.isIdle = false }
      known.link.adopt(agreement)
      known.holder?.adopt(agreement)
      // The holder's own connection keeps no history, whatever the upstream is to have.
      if !specification.isHeld { known.holder?.publisher.historyLimit = settings.history.events }
      return known
    }
    var own = FleetSettings(place: place, host: host)
    (own.lease, own.grace, own.adopt, own.yield) = (options.lease, options.grace, options.adopt, options.yield)
    own.servers = options.redis.map(\.host)
    let engine = engine.share(of: place)
    own.agreement = agreement
    let wall = UInt64(max(0, seams.time.wallMilliseconds))
    let link = FleetLink(own, engine: engine, timers: seams.timers, life: wall, details: details(agreement))
    link.lives.onNamesake = { [weak self] in self?.takeAnotherName() }
    link.onHolder = { [weak self] in self?.onHolder(place) }
    link.onHurry = { [weak self] in self?.onHurry(place) }
    link.onLook = { [weak self] in self?.lookAtNamesake() }
    link.box.onNews = { [weak self] in self?.onSend(place, $0) }
    for withdrawal in takeWithdrawals(of: place) { link.box.drop(withdrawal.end()) }
    var holder: FleetHolder?
    if options.hold.mayHold {
      let made = FleetHolder(own, connector, engine: engine, timers: seams.timers, random: seams.random) { [link] in
        link.hearing.tops
      }
      // An earlier holder of this host may still be leaving: the link is this one's as soon as this one is there.
      let isPresent = { [weak self, weak made] in self?.members[place].map { $0.holder === made } ?? true }
      made.onWant = { [weak self] in if isPresent() { self?.onWant(place, $0) } }
      made.trouble = { [weak self] in isPresent() ? self?.trouble(place) : nil }
      made.onCut = { [weak self] in if isPresent() { self?.onCut(place) } }
      made.onReport = { [weak self] in self?.onReport($0) }
      made.onYield = { [link] in link.lives.beReluctant(for: FleetLease.reluctance) }
      made.onForbidden = { [link] in link.lives.beForbidden(for: FleetLease.reluctance) }
      made.wallMilliseconds = { [seams] in seams.time.wallMilliseconds }
      made.lastTime = { [link] in link.hearing.epoch == $0 ? link.hearing.time : 0 }
      made.version = { [link] in link.roster.version(own.versions) }
      made.rank = { [link] in link.roster.rank(of: link.host, prefers: link.lives.details.prefers) }
      link.onDown = { [weak made] in made?.otherClosed() }
      link.isOwnTerm = { [weak made] in made?.lease.own == $0 }
      made.abstains = abstains
      made.publisher.historyLimit = settings.history.events
      holder = made
    }
    let member = Member(link: link, holder: holder)
    members[place] = member
    onJoin(place)
    return member
  }

  private func details(_ agreement: FleetAgreement) -> FleetHostDetails {
    var details = FleetHostDetails(version: FleetWire.versions.upperBound, mayHold: options.hold.mayHold && !abstains)
    (details.prefers, details.answers) = (options.hold == .prefer, true)
    (details.release, details.instance, details.agreement) = (release, instance, agreement)
    return details
  }

  /// Another daemon has the name of this host, and has joined later: it keeps it.
  private func takeAnotherName() {
    let old = host
    let name = takenName ?? old
    namesake = Namesake(name: name, since: seams.time.now)
    rename("\(name.prefix(Self.nameLimit))-\(String(seams.random.bits() & 0xff_ffff, radix: 36))")
    onRenamed(old, host)
  }

  /// Takes the name again that another daemon has. If that one lives it is the older of the two from now on, and takes
  /// another. What this host holds it holds under the name that it has: that is given back in order first, and not where the
  /// engine is not reached for that.
  func takeOwnName() {
    guard let namesake, !namesake.isOver,
      members.values.allSatisfy({ $0.holder?.holds != true || $0.link.engine.server != nil })
    else { return }
    self.namesake?.isOver = true
    for member in members.values { member.holder?.leave("this host takes its own name in the fleet again") }
    wait(for: Array(members.values), until: seams.time.now + Self.leaveLimit) { [weak self] in
      guard let self, let name = takenName, !isStopping else { return }
      self.namesake = nil
      rename(name)
      onNameRegained(name)
    }
  }

  /// The other daemon of this host's name may be gone, or have another one by now. A link is worth more than the name.
  private func lookAtNamesake() {
    guard let namesake, !isStopping, seams.time.now - namesake.since >= options.adopt,
      members.values.allSatisfy({ $0.holder?.holdsOrTakes != true }),
      // One that was stopped may be about to be started again.
      members.values.allSatisfy({
        $0.link.roster.isAlive(namesake.name) == false && $0.link.roster.isSilent(namesake.name)
      })
    else { return }
    takeOwnName()
  }

  private func rename(_ name: String) {
    host = name
    for member in members.values {
      member.holder?.rename(name)
      let copies = member.link.rename(name, insteadOf: takenName)
      for withdrawal in takeWithdrawals(of: member.link.place) { member.link.box.drop(withdrawal.end()) }
      if let copies { begin(copies) }
    }
  }

  /// What is kept of a name that gets something behind it.
  private static let nameLimit = 48

  /// Takes no lease from now on, or takes them again.
  func abstain(_ abstains: Bool) {
    guard abstains != self.abstains else { return }
    self.abstains = abstains
    for member in members.values {
      member.holder?.abstains = abstains
      member.link.lives.mayHold = options.hold.mayHold && !abstains
    }
  }

  /// Takes part no more in what is not wanted: what this host holds of it is given to others first.
  func keep(_ isWanted: (FleetPlace) -> Bool) {
    for (place, member) in members where !isWanted(place) {
      part(from: member, of: place, "the fleet shares the upstream no longer")
    }
  }

  private func part(from member: Member, of place: FleetPlace, _ why: String) {
    members[place] = nil
    takeBack(member.link)
    member.link.lives.stop()
    member.holder?.leave(why)
    member.link.roster.stop()
    wait(for: [member], until: seams.time.now + Self.leaveLimit) { [weak self] in
      let engine = member.link.engine
      // Also where that could not be done in order.
      if let self, members[place] == nil { onWant(place, false) }
      engine.remove(member.link)
      if let holder = member.holder { engine.remove(holder) }
    }
  }

  /// Takes part no more in what neither the configuration names nor programs of this host use, as soon as its durable sends
  /// have their outcomes and no other host needs it there.
  func review(_ isUsed: @escaping (FleetPlace) -> Bool) {
    var rest = Array(members.keys)
    seams.timers.goOn { [weak self] in
      guard let self, !isStopping, retirement == nil else { return false }
      for place in rest.suffix(Self.reviewPortion) { review(place, isUsed) }
      rest.removeLast(min(rest.count, Self.reviewPortion))
      return !rest.isEmpty
    }
  }

  private func review(_ place: FleetPlace, _ isUsed: (FleetPlace) -> Bool) {
    guard let member = members[place] else { return }
    let link = member.link
    let isUnused = !isUsed(place) && link.box.isSettled && link.box.isEmpty
    let mayHold = link.lives.details.mayHold
    link.lives.details.isIdle = isUnused && mayHold
    let isHolder = member.holder?.mayWrite == true
    guard isUnused, link.roster.isDispensable(host, mayHold: mayHold, holds: isHolder) else { return }
    if isHolder { giveUp(place, member) } else { part(from: member, of: place, Self.nobodyUses) }
  }

  /// Upstreams that are looked at in one turn, each of which may have many hosts.
  private static let reviewPortion = 16

  /// Gives a link up that no host uses any more, once what hosts that died have left is written.
  private func giveUp(_ place: FleetPlace, _ member: Member) {
    let link = member.link
    link.engine.names(of: place.key(.adopted)) { [weak self] outcome in
      guard let self, members[place]?.link === link, link.lives.details.isIdle, case .done(let left) = outcome,
        left.isEmpty
      else { return }
      part(from: member, of: place, Self.nobodyUses)
    }
  }

  private static let nobodyUses = "no program uses the upstream in that namespace any more"
  private static let leaveLimit: Duration = .seconds(5)

  /// Removes what the engine has of this host's durable sends, however long that is not reached.
  private func takeBack(_ link: FleetLink) {
    guard let withdrawal = link.box.withdraw() else { return }
    withdrawal.onReturned = { [weak self, place = link.place] in self?.onSend(place, .returned($0)) }
    begin(withdrawal)
  }

  private func begin(_ withdrawal: FleetWithdrawal) {
    withdrawal.onOver = { [weak self, unowned withdrawal] in self?.withdrawals.removeAll { $0 === withdrawal } }
    withdrawal.whenNeedless = whenNeedless
    withdrawals.append(withdrawal)
    withdrawal.begin()
  }

  /// This host shares an upstream again, or has a name again: what is left of that is for its box, under the same name.
  private func takeWithdrawals(of place: FleetPlace) -> [FleetWithdrawal] {
    let taken = withdrawals.filter { $0.place == place && $0.host == host }
    withdrawals.removeAll { one in taken.contains { $0 === one } }
    return taken
  }

  /// This host ends: it says so, and gives everything that it holds to others, as `leave`.
  func stop(within limit: Duration, _ done: @escaping () -> Void) {
    isStopping = true
    for member in members.values { member.link.lives.stop() }
    leave(within: limit, done)
  }

  /// Gives everything that this host holds to others; `done` is called when that is known, or not to be known in time.
  /// - Parameter isLast: the process ends afterwards.
  func leave(within limit: Duration, isLast: Bool = false, _ done: @escaping () -> Void) {
    for member in members.values {
      member.holder?.isLast = isLast
      member.holder?.leave()
    }
    wait(for: Array(members.values), until: seams.time.now + limit, done)
  }

  /// Gives everything that this host holds to others, and takes no lease from now on until it is told so. Not where no other
  /// host could take it, or does: `answer` hears which upstreams went, or what is in the way of one. Where that is under way
  /// already it hears what becomes of it.
  func retire(within limit: Duration, _ answer: @escaping FleetRetirement.Answer) {
    // What takes part in nothing has nothing to leave.
    guard !members.isEmpty else { return answer(.success([])) }
    if let retirement { return retirement.join(answer) }
    let retirement = FleetRetirement(self, timers: seams.timers) { [weak self] in
      self?.retirement = nil
      if case .success(let places) = $0 { self?.onReport(.left(places.map(\.upstream))) }
      answer($0)
    }
    self.retirement = retirement
    retirement.start(within: limit)
  }

  /// Takes leases again, also where it was told otherwise a moment ago.
  func rejoin() {
    let hadLeft = abstains && retirement == nil
    retirement?.overtake()
    abstain(false)
    if hadLeft { onReport(.returned) }
  }

  /// Looks at all leases and hosts now; `done` is called once, later or at once, whatever came of it.
  func refresh(_ done: @escaping () -> Void) { look(at: places[...], done) }

  private func look(at places: ArraySlice<FleetPlace>, _ done: @escaping () -> Void) {
    guard let place = places.first else { return done() }
    guard let link = members[place]?.link else { return look(at: places.dropFirst(), done) }
    link.roster.refresh { [weak self] in self?.look(at: places.dropFirst(), done) }
  }

  private func wait(for members: [Member], until end: MonotonicInstant, _ done: @escaping () -> Void) {
    let isOver = members.allSatisfy {
      $0.link.engine.server == nil || $0.holder?.holdsOrTakes != true && !$0.link.lives.isStopping
    }
    guard !isOver, seams.time.now < end else { return done() }
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
  /// What looks at its server; nil where there is none to be looked at.
  let makeProbe: ((RedisSettings) -> RedisProbe)?

  /// With Redis.
  /// - Parameter dialer: of connections that carry bytes as they come.
  public init(
    dialer: any TransportDialer, credentials: any CredentialReader, time: any TimeSource, timers: Timers,
    random: any RandomSource, machine: String
  ) {
    self.init(
      time: time, timers: timers, random: random, machine: machine,
      makeProbe: { RedisProbe($0, dialer: dialer, credentials: credentials, timers: timers) }
    ) { settings in
      let engine = RedisEngine(settings, dialer: dialer, credentials: credentials, timers: timers, random: random)
      // A password that cannot be read is known at once, and what reports it is not there yet.
      timers.after(.zero) { [weak engine] in engine?.begin() }
      return engine
    }
  }

  init(
    time: any TimeSource, timers: Timers, random: any RandomSource, machine: String,
    makeProbe: ((RedisSettings) -> RedisProbe)? = nil, makeEngine: @escaping (RedisSettings) -> any FleetEngine
  ) {
    (self.time, self.timers, self.random) = (time, timers, random)
    (self.machine, self.makeProbe, self.makeEngine) = (machine, makeProbe, makeEngine)
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
    // The rarest are an adoption, which waits for `adopt` again, and a lease that another host may take as well.
    retryLimit = max(options.adopt * 3 / 2, options.lease * 3 + .seconds(2))
  }
}
