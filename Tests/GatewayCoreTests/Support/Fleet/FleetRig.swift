@testable import GatewayCore

/// A fleet on one clock that the test turns: hosts, a store and a server, with faults at random moments, and the table of
/// what is promised held against what has happened. One seed is one run.
final class FleetRig {
  enum Fault: String, CaseIterable {
    case kill, pause, leave, cutEngine, awayFromEngine, awayFromServer, hangUp, restartStore, stopStore, failOver, flush
    /// The master lives when it is failed over, and what it confirms from then on is undone.
    case replace
    /// The replica is late, or the store has no room for entries.
    case slowCopies, fillStore
  }

  enum Outcome { case finished, lost }

  struct Options {
    var hosts = 3
    var copies = 0
    var recovers = false
    var faults: [Fault] = [
      .kill, .pause, .leave, .cutEngine, .awayFromEngine, .awayFromServer, .hangUp, .restartStore, .stopStore,
    ]
    /// In milliseconds, on average.
    var faultPause: UInt64 = 900
    var sendPause: UInt64 = 90
    var eventPause: UInt64 = 60
    var duration: Duration = .seconds(8)
    /// The holder is stopped for so long in the middle, between a look at the clock and the call.
    var stop: Duration?
    /// Clocks run so much faster or slower, in per mille.
    var drift: Int64 = 40
  }

  let options: Options
  let time = FakeTime()
  let network: Timers
  let random: FakeRandom
  let store = FleetStore()
  let server: FleetRigServer
  private(set) var hosts: [FleetRigHost] = []
  private var ways: [FleetRigWays] = []
  private var clocks: [FleetRigClock] = []
  private var processes = 0
  private var numbers: [String: UInt64] = [:]
  /// Programs send, and things go wrong.
  private(set) var isBusy = true
  private(set) var faults: [Fault] = []
  /// When the store was failed over, or emptied.
  private(set) var losses: [MonotonicInstant] = []

  /// Durable sends that were told to be kept.
  var stored: Set<FleetRigMessage> = []
  var adopted: Set<FleetRigMessage> = []
  var outcomes: [FleetRigMessage: [Outcome]] = [:]
  var problems: [String] = []
  /// Sends that are written at most once and had not been when the holder left in order.
  var requeued = 0
  private(set) var opened = 0
  private(set) var events = 0
  private(set) var gaps = 0
  /// What each position held, and which positions each process passed over.
  private(set) var contents: [String: UInt64] = [:]
  private(set) var passed: [(host: String, epoch: String, range: ClosedRange<UInt64>)] = []
  private var last: [Int: (place: EventPlace, number: UInt64)] = [:]

  init(_ options: Options, seed: UInt64) {
    self.options = options
    random = FakeRandom(seed: seed)
    network = Timers(time: time)
    server = FleetRigServer(network: network, random: random)
    server.recovers = options.recovers
    for _ in 0..<options.hosts {
      ways.append(FleetRigWays())
      let rate = 1_000 - options.drift + Int64(random.bits() % UInt64(2 * options.drift + 1))
      clocks.append(FleetRigClock(time, origin: Int64(random.bits() % 1_000_000) * 1_000_000, rate: rate))
    }
    for place in 0..<options.hosts { hosts.append(start(place)) }
  }

  private func start(_ place: Int) -> FleetRigHost {
    processes += 1
    let name = "h\(place)"
    var settings = FleetSettings(place: FleetPlace(fleet: "f", upstream: "u"), host: name)
    (settings.lease, settings.grace, settings.handshake) = (.seconds(1), .seconds(2), .seconds(2))
    settings.adopt = .seconds(2)
    return FleetRigHost(
      name, place: place, process: processes, settings: settings, world: self, ways: ways[place],
      clock: clocks[place])
  }

  func nextNumber(_ host: String) -> UInt64 {
    numbers[host, default: 0] += 1
    return numbers[host] ?? 0
  }

  // MARK: - Time

  /// Turns the clock.
  func turn(by duration: Duration) {
    let end = time.now + duration
    while true {
      let deadlines = [network.nextDeadline] + hosts.map(\.nextDeadline)
      guard let next = deadlines.compactMap({ $0 }).min(), next <= end else { break }
      if next > time.now { time.advance(by: next - time.now) }
      network.fire()
      for host in hosts { host.fire() }
    }
    if time.now < end { time.advance(by: end - time.now) }
  }

  func some(_ range: ClosedRange<UInt64>) -> UInt64 {
    range.lowerBound + random.bits() % (range.upperBound - range.lowerBound + 1)
  }

  private func later(_ range: ClosedRange<UInt64>, _ body: @escaping () -> Void) {
    network.after(.milliseconds(Int64(some(range))), body)
  }

  // MARK: - The run

  /// A schedule of faults, then quiet until everything has its end.
  func run() {
    talk()
    // Before the first event of a session a server could recover nothing.
    if options.recovers { turn(by: .seconds(3)) }
    disturb()
    turn(by: options.duration / 2)
    if let stop = options.stop { hosts.first { $0.holder.holds }?.stop = stop }
    turn(by: options.duration / 2)
    isBusy = false
    turn(by: .seconds(6))
    for _ in 0..<60 where !isSettled { turn(by: .seconds(1)) }
    check()
  }

  private var isSettled: Bool { hosts.allSatisfy { $0.program.isIdle } }

  private func talk() {
    guard isBusy else { return }
    later(1...(2 * options.eventPause)) { [weak self] in
      self?.server.say()
      self?.talk()
    }
  }

  private func disturb() {
    later(1...(2 * options.faultPause)) { [weak self] in
      guard let self, isBusy, !options.faults.isEmpty else { return }
      strike(options.faults[Int(random.bits() % UInt64(options.faults.count))])
      disturb()
    }
  }

  private func strike(_ fault: Fault) {
    let place = Int(random.bits() % UInt64(hosts.count))
    let host = hosts[place]
    faults.append(fault)
    switch fault {
    case .kill: kill(place)
    case .pause:
      host.isPaused = true
      later(200...4_000) { host.isPaused = false }
    case .leave: host.deliver { host.holder.leave() }
    case .cutEngine: host.engine.cut()
    case .awayFromEngine:
      host.engine.way.isOpen = false
      host.engine.cut()
      later(200...4_000) { host.engine.way.isOpen = true }
    case .awayFromServer:
      ways[place].reachesServer = false
      later(200...4_000) { [ways] in ways[place].reachesServer = true }
    case .hangUp: server.hangUp()
    case .restartStore: store.restart()
    case .stopStore:
      store.stop()
      later(200...3_000) { [store] in if !store.isUp { store.start() } }
    case .failOver: failOver()
    case .replace:
      store.beReplaced()
      later(50...2_500) { [weak self] in self?.failOver() }
    case .slowCopies:
      copies(areConfirmed: false)
      later(100...900) { [weak self] in self?.copies(areConfirmed: true) }
    case .fillStore:
      store.isFull = true
      later(200...3_000) { [store] in store.isFull = false }
    case .flush:
      noteLoss()
      store.flush()
    }
  }

  private func copies(areConfirmed: Bool) {
    for host in hosts { host.engine.isCopied = areConfirmed }
  }

  func failOver() {
    noteLoss()
    store.failOver()
  }

  /// The store forgets what hosts may not have heard: which terms there were.
  private func noteLoss() { losses.append(time.now) }

  private func kill(_ place: Int) {
    let old = hosts[place]
    old.kill()
    later(50...3_000) { [weak self] in
      guard let self, hosts[place] === old else { return }
      hosts[place] = start(place)
    }
  }

  /// A host's process dies, and another one begins.
  func restart(_ host: FleetRigHost) -> FleetRigHost {
    guard let place = hosts.firstIndex(where: { $0 === host }) else { return host }
    host.kill()
    hosts[place] = start(place)
    return hosts[place]
  }

  // MARK: - What happens

  func opened(_ host: FleetRigHost) { opened += 1 }

  /// The server's number of the last event that a process has heard.
  func lastHeard(_ host: FleetRigHost) -> UInt64 { last[host.process]?.number ?? 0 }

  func heard(_ host: FleetRigHost, _ place: EventPlace, _ number: UInt64) {
    events += 1
    let key = "\(place.epoch)/\(place.sequence)"
    if let before = contents.updateValue(number, forKey: key), before != number {
      problems.append("\(key) is \(before) and \(number)")
    }
    defer { last[host.process] = (place, number) }
    guard let last = last[host.process], last.place.epoch == place.epoch else { return }
    guard place.sequence > last.place.sequence else {
      return problems.append("\(host.name) heard \(key) behind \(last.place.sequence)")
    }
    if place.sequence > last.place.sequence + 1 {
      gaps += 1
      passed.append((host.name, place.epoch, (last.place.sequence + 1)...(place.sequence - 1)))
    } else if number != last.number + 1 {
      problems.append("\(host.name) heard \(number) behind \(last.number) without a gap, at \(key)")
    }
  }
}
