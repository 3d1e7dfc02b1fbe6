import Testing

@testable import GatewayCore

/// Whole gateways of one fleet, on one clock, and the store between them.
final class FleetGateways {
  let time = FakeTime()
  let store = FleetStore()
  private(set) var hosts: [String: GatewayHarness] = [:]
  /// Each host's disk outlives its processes.
  private var disks: [String: FakeOutboxStore] = [:]
  var adopt: Duration = .seconds(30)
  var durable = FleetDurability.host
  /// Of the processes that begin from now on.
  var access: [AccessRule] = []
  var keep = KeepMode.always
  var hold = FleetHold.may

  let place = FleetPlace(fleet: "f", upstream: "chat")

  /// A process of a host begins.
  @discardableResult
  func start(_ host: String, withDisk: Bool = true) -> GatewayHarness {
    let disk = disks[host] ?? FakeOutboxStore()
    disks[host] = disk
    let opening: OutboxOpening = withDisk ? .open(disk, disk.stored) : .unavailable(.none)
    let (adopt, durable, access, keep, hold) = (adopt, durable, access, keep, hold)
    processes += 1
    let harness = GatewayHarness(outbox: opening, time: time, seed: processes, fleet: store) {
      $0.fleet.name = "f"
      $0.fleet.redis = [RedisAddress("redis://127.0.0.1")].compactMap { $0 }
      ($0.fleet.host, $0.fleet.adopt, $0.fleet.durable) = (host, adopt, durable)
      $0.fleet.hold = hold
      $0.access = access
      $0.upstreams["chat"]?.settings.fleet = true
      $0.upstreams["chat"]?.settings.keep = keep
    }
    hosts[host] = harness
    turn(by: .zero)
    return harness
  }

  private var processes: UInt64 = 0

  /// A process of a host dies.
  func kill(_ host: String) {
    hosts[host] = nil
    disks[host]?.forgetWaiting()
  }

  /// Another daemon joins by the name of a host, which takes another one, and says nothing more.
  func joinANamesake(of host: String) {
    var details = FleetHostDetails(mayHold: false)
    details.instance = "two"
    let join = FleetJoin(place: place, host: host, life: 0, details: details)
    _ = store.run(FleetJoin.name, join.keys, join.arguments)
    turn(by: .seconds(5))
  }

  /// Its disk is a new one, which takes nothing for as long as there is a problem.
  func loseDisk(_ host: String, _ problem: StorageProblem? = nil) {
    let disk = FakeOutboxStore()
    disk.problem = problem
    disks[host] = disk
  }

  func disk(_ host: String) -> FakeOutboxStore? { disks[host] }

  /// Lets time pass for all of them.
  func turn(by duration: Duration) {
    let end = time.now + duration
    fire(until: end)
    if time.now < end { time.advance(by: end - time.now) }
    for disk in disks.values { disk.settle() }
    fire(until: end)
  }

  private func fire(until end: MonotonicInstant) {
    while let next = hosts.values.compactMap({ $0.timers.nextDeadline }).min(), next <= end {
      if next > time.now { time.advance(by: next - time.now) }
      for host in hosts.values { host.timers.fire() }
      for disk in disks.values { disk.settle() }
    }
  }

  /// The server takes a host's attempt, if it holds and makes one.
  func accept(_ host: String) {
    guard let channel = hosts[host]?.upstream.channels.last, !channel.isClosed, !channel.isFailed else { return }
    channel.accept()
    turn(by: .milliseconds(100))
  }

  /// The server takes the next attempt of a host that could not reach it.
  func reachServer(_ host: String) {
    for _ in 1...60 {
      guard let channel = hosts[host]?.upstream.channels.last, channel.isClosed || channel.isFailed else { break }
      turn(by: .seconds(1))
    }
    accept(host)
    turn(by: .seconds(15))
  }

  /// Host `a` has the link, and `b` uses it.
  func startTwo() {
    start("a")
    turn(by: .seconds(5))
    accept("a")
    start("b")
    turn(by: .seconds(20))
  }

  /// Host `a` dies, and `b` takes the link, whose server recovers the session or not.
  func takeOver(recovered: Bool) throws {
    kill("a")
    turn(by: .seconds(8))
    let channel = try #require(hosts["b"]?.upstream.channels.last)
    channel.isRecovered = recovered
    accept("b")
    turn(by: .seconds(1))
  }

  /// What the server was written by a process.
  func written(_ host: String) -> [String] { hosts[host]?.upstream.channels.flatMap(\.written) ?? [] }

  /// What the rows in a table are, in the order of their names.
  func rows(_ part: FleetKey.Part) -> [String] {
    store.rows(of: place.key(part)).sorted { $0.key < $1.key }.map {
      switch FleetBoxRow($0.value) {
      case .finished?: "finished"
      case .withheld?: "withheld"
      case .waiting?, nil: "waiting"
      }
    }
  }
}

extension FleetSeams {
  /// With a store in memory.
  init(_ store: FleetStore, time: FakeTime, timers: Timers, random: FakeRandom) {
    self.init(time: time, timers: timers, random: random, machine: "machine") { _ in
      let engine = FleetMemoryEngine(store, network: timers, random: random)
      engine.begin()
      return engine
    }
  }
}
