@testable import GatewayCore

/// A clock that starts somewhere and runs at a rate of its own.
final class FleetRigClock: TimeSource {
  private let world: FakeTime
  private let begin: MonotonicInstant
  private let origin: Int64
  /// Seconds of it in a thousand seconds of the world.
  private let rate: Int64

  init(_ world: FakeTime, origin: Int64, rate: Int64) {
    self.world = world
    begin = world.now
    self.origin = origin
    self.rate = rate
  }

  var now: MonotonicInstant {
    MonotonicInstant(nanoseconds: origin + (world.now - begin).nanoseconds / 1_000 * rate)
  }
  var wallMilliseconds: Int64 { world.wallMilliseconds }

  /// When the world has got so far that this clock shows an instant.
  func worldInstant(_ instant: MonotonicInstant) -> MonotonicInstant {
    let elapsed = max(0, instant.nanoseconds - origin)
    return begin + .nanoseconds((elapsed + rate - 1) / rate * 1_000)
  }
}

/// What may be wrong between one host and the rest. It outlives the host.
final class FleetRigWays {
  var reachesServer = true
  /// In milliseconds.
  var delays: ClosedRange<Int64> = 1...4
  /// How the process is told something.
  var delivery: (@escaping () -> Void) -> Void = { $0() }

  func delay(_ random: FakeRandom) -> Duration {
    .milliseconds(delays.lowerBound + Int64(random.bits() % UInt64(delays.upperBound - delays.lowerBound + 1)))
  }
}

/// One process of the fleet: its link, its holder, a keeper for each of its two connections, and a program.
final class FleetRigHost {
  let name: String
  let process: Int
  let settings: FleetSettings
  let clock: FleetRigClock
  let timers: Timers
  let ways: FleetRigWays
  let engine: FleetMemoryEngine
  let link: FleetLink
  private(set) var holder: FleetHolder!
  private(set) var program: FleetRigProgram!
  private(set) var rig: FleetRigConnector!
  private let world: FleetRig
  private var isDead = false
  func random(_ bound: UInt64) -> UInt64 { world.random.bits() % bound }
  /// It stands still.
  var isPaused = false {
    didSet { if !isPaused { goOn() } }
  }
  /// It is stopped for so long at its next call that writes to the server, behind its look at the clock and before the call
  /// itself.
  var stop: Duration?
  private var inbox: [() -> Void] = []
  private var isWanted = false
  private var tap: (any UpstreamChannel)?
  private var keeper: HolderKeeper!

  init(
    _ name: String, place: Int, process: Int, settings: FleetSettings, world: FleetRig, ways: FleetRigWays,
    clock: FleetRigClock
  ) {
    self.world = world
    self.name = name
    self.process = process
    self.settings = settings
    self.ways = ways
    self.clock = clock
    timers = Timers(time: clock)
    engine = FleetMemoryEngine(world.store, network: world.network, random: world.random, rank: place)
    engine.copies = world.options.copies
    engine.way.delay = 0...3
    engine.way.reach = 1...60
    engine.way.doubled = 20
    link = FleetLink(settings, engine: engine, timers: timers, life: UInt64(clock.wallMilliseconds))
    rig = FleetRigConnector(world.server, self)
    holder = FleetHolder(settings, rig, engine: engine, timers: timers, random: world.random) { [link] in
      link.hearing.tops
    }
    program = FleetRigProgram(self, world)
    keeper = HolderKeeper(self)
    holder.wallMilliseconds = { [unowned world] in 1_000_000 + world.time.now.nanoseconds / 1_000_000 }
    holder.onWant = { [weak self] in self?.want($0) }
    holder.onCut = { [weak self] in self?.cut() }
    holder.rank = { [link] in link.roster.rank(of: link.host, prefers: false) }
    link.onDown = { [weak holder] in holder?.otherClosed() }
    ways.delivery = { [weak self] in self?.deliver($0) }
    engine.deliver = { [weak self] in self?.deliver($0) }
    engine.begin()
    program.begin()
  }

  func deliver(_ body: @escaping () -> Void) {
    guard !isDead else { return }
    if isPaused { inbox.append(body) } else { body() }
  }

  /// For how long it stands still from now on, between a look at the clock and the call; nil: not at all.
  func takeStop() -> Duration? {
    defer { stop = nil }
    if stop != nil { isPaused = true }
    return stop
  }

  /// Its timers ring when it goes on, and what came meanwhile is read.
  private func goOn() {
    let waiting = inbox
    inbox = []
    for body in waiting { deliver(body) }
  }

  /// The process dies; what its kernel has does not.
  func kill() {
    isDead = true
    inbox = []
    engine.cut()
    engine.remove(link)
    engine.remove(holder)
    rig.last?.suspend()
  }

  var nextDeadline: MonotonicInstant? {
    isDead || isPaused ? nil : timers.nextDeadline.map { clock.worldInstant($0) }
  }

  func fire() { if !isDead, !isPaused { timers.fire() } }

  // MARK: - The connection to the server

  private func want(_ wants: Bool) {
    isWanted = wants
    if wants { dial() } else { hangUp() }
  }

  private func dial() {
    guard isWanted, tap == nil, !isDead else { return }
    tap = holder.connector.dial(owner: keeper)
  }

  private func hangUp() {
    guard let old = tap else { return }
    tap = nil
    old.close()
  }

  private func cut() {
    rig.last?.cut()
    hangUp()
    redial()
  }

  private func redial() { timers.after(.milliseconds(100)) { [weak self] in self?.dial() } }

  /// Stands for the connection to the server.
  private final class HolderKeeper: UpstreamChannelOwner {
    private unowned let host: FleetRigHost
    init(_ host: FleetRigHost) { self.host = host }
    func channelOpened(_ channel: any UpstreamChannel) {}
    func channel(
      _ channel: any UpstreamChannel, receivedEvent name: RawSpan, arguments: RawSpan, kwargs: RawSpan?, ack: UInt64?
    ) {}
    func channel(_ channel: any UpstreamChannel, dropped event: DroppedEvent) {}
    func channel(_ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan, kwargs: RawSpan?) {}
    func channelHasNewCredentials(_ channel: any UpstreamChannel) {}
    func channelEnded(_ channel: any UpstreamChannel, _ failure: UpstreamFailure) {
      guard channel === host.tap else { return }
      host.tap = nil
      host.redial()
    }
  }
}
