import Testing

@testable import GatewayCore

/// Two engines on a store in memory.
private final class MemoryBench: FleetEngineBench {
  private let store = FleetStore()
  private let timers: Timers
  private let time = FakeTime()
  private let first: FleetMemoryEngine
  private let second: FleetMemoryEngine

  var engine: any FleetEngine { first }
  var other: any FleetEngine { second }
  var run: String { store.run }

  init() throws {
    timers = Timers(time: time)
    first = FleetMemoryEngine(store, network: timers, random: FakeRandom())
    second = FleetMemoryEngine(store, network: timers, random: FakeRandom(), rank: 1)
    first.begin()
    second.begin()
    #expect(try goOn { first.server != nil && second.server != nil })
  }

  func goOn(until condition: () -> Bool) throws -> Bool {
    while !condition() {
      guard let next = timers.nextDeadline else { return false }
      time.now = max(time.now, next)
      timers.fire()
    }
    return true
  }
}

@Suite struct FleetEngineTests {
  @Test(arguments: FleetEngineCase.all)
  func theEngineInMemory(case test: FleetEngineCase) throws { try test.run(MemoryBench()) }
}
