@testable import GatewayCore
import Testing

/// The machine, the back-off and the keeper together, with an owner that does nothing but carry out the verdicts.
@Suite struct KeeperLifeTests {
  /// One connection of which a test decides how its attempts end.
  final class Patient {
    let time = FakeTime()
    var health: Health
    var machine = ConnectionStateMachine()
    var backoff: Backoff
    var openedAt: MonotonicInstant?
    /// What happened, with the seconds since the beginning.
    var story: [String] = []
    private let start: MonotonicInstant
    private let keeper = Keeper()

    init(_ settings: UpstreamSettings = UpstreamSettings()) {
      start = time.now
      health = Health(state: .created, since: time.now, now: time.now, settings: settings)
      backoff = Backoff(settings: settings.reconnect)
    }

    /// Performs verdicts until the keeper waits, and returns until when.
    func settle() throws -> MonotonicInstant? {
      while true {
        health.now = time.now
        switch keeper.judge(health).verdict {
        case .wait(let until): return until
        case .act(.connect):
          health.lastAttemptAt = time.now
          health.nextAttemptAt = nil
          health.urgency = .none
          try tell(.connect)
        case .act(.disconnect(let reason)), .act(.abandon(let reason)):
          backoff.ended(lasted: openedAt.map { time.now - $0 })
          openedAt = nil
          health.lastReason = reason
          try tell(machine.state == .created ? .lost : .disconnect)
        case .act(.release): try tell(.release)
        }
      }
    }

    func open() throws {
      openedAt = time.now
      try tell(.opened)
    }

    func fail(_ reason: DownReason) throws {
      let delay = backoff.failed(reason, lasted: openedAt.map { time.now - $0 }, fraction: 0.5)
      openedAt = nil
      health.attempts = backoff.attempts
      health.lastReason = reason
      health.nextAttemptAt = time.now + delay
      try tell(.lost)
    }

    func lease(_ held: Bool) {
      health.hasLeases = held
      health.unleasedSince = held ? nil : time.now
    }

    private func tell(_ event: ConnectionStateMachine.Event) throws {
      let before = machine.state
      _ = try machine.handle(event)
      story.append("\((time.now - start).milliseconds) \(event.rawValue)")
      health.attemptIsUnderWay = machine.attemptIsUnderWay
      if machine.state != before { health.since = time.now }
      health.state = machine.state
    }
  }

  @Test func anUnreachableUpstreamIsTriedForEverAndEverMoreSlowly() throws {
    let patient = Patient()
    patient.lease(true)
    var until = try patient.settle()
    for _ in 0..<8 {
      try patient.fail(.unreachable)
      until = try patient.settle()
      patient.time.now = try #require(until)
      until = try patient.settle()
    }
    let attempts = patient.story.filter { $0.hasSuffix("connect") }
    let seconds = [0, 500, 1_500, 3_500, 7_500, 15_500, 30_500, 45_500, 60_500]
    #expect(attempts == seconds.map { "\($0) connect" })
  }

  @Test func connectThenDropKeepsDecayingUntilItIsStable() throws {
    let patient = Patient()
    patient.lease(true)
    var waits: [Duration] = []
    for lasted: Duration in [.zero, .zero, .zero, .seconds(11), .zero] {
      _ = try patient.settle()
      try patient.open()
      patient.time.advance(by: lasted)
      try patient.fail(.closed)
      let until = try #require(try patient.settle())
      waits.append(until - patient.time.now)
      patient.time.now = until
    }
    #expect(waits == [0.5, 1, 2, 0.5, 1].map { .seconds($0) })
  }

  @Test func aConnectionThatNobodyUsesAnyMoreLingersThenClosesThenGoes() throws {
    let patient = Patient()
    patient.lease(true)
    _ = try patient.settle()
    try patient.open()
    patient.lease(false)
    while let until = try patient.settle() { patient.time.now = until }
    #expect(patient.story == ["0 connect", "0 opened", "30000 disconnect", "90000 release"])
  }

  @Test func aLeaseDuringTheLingerKeepsTheConnection() throws {
    let patient = Patient()
    patient.lease(true)
    _ = try patient.settle()
    try patient.open()
    patient.lease(false)
    _ = try patient.settle()
    patient.time.advance(by: .seconds(29))
    patient.lease(true)
    #expect(try patient.settle() == nil)
    patient.time.advance(by: .seconds(600))
    #expect(try patient.settle() == nil)
    #expect(patient.machine.state == .connected)
  }

  @Test func aNewLeaseOnAClosedConnectionStartsAnAttemptAtOnce() throws {
    let patient = Patient()
    patient.lease(true)
    _ = try patient.settle()
    try patient.open()
    patient.lease(false)
    patient.time.now = try #require(try patient.settle())
    _ = try patient.settle()
    #expect(patient.machine.state == .disconnected)
    patient.time.advance(by: .seconds(5))
    patient.lease(true)
    #expect(try patient.settle() == nil)
    #expect(patient.machine.state == .reconnecting)
  }

  @Test func losingTheNetworkClosesAtOnceAndItsReturnReconnectsAtOnce() throws {
    let patient = Patient()
    patient.lease(true)
    _ = try patient.settle()
    try patient.open()
    patient.time.advance(by: .seconds(60))
    patient.health.networkIsUp = false
    #expect(try patient.settle() == nil)
    patient.time.advance(by: .seconds(60))
    patient.health.networkIsUp = true
    #expect(try patient.settle() == nil)
    #expect(patient.story == ["0 connect", "0 opened", "60000 disconnect", "120000 connect"])
  }
}
