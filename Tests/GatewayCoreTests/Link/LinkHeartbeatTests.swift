import Testing

@testable import GatewayCore

@Suite struct LinkHeartbeatTests {
  private func instant(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
  private let settings = HeartbeatSettings(interval: .seconds(10), timeout: .seconds(15))

  @Test func theServerIsAskedAtEveryInterval() {
    var heartbeat = LinkHeartbeat(settings, at: instant(0))
    #expect(heartbeat.judge(at: instant(4)) == .wait(.seconds(6)))
    #expect(heartbeat.judge(at: instant(10)) == .ask(then: .seconds(10)))
    heartbeat.heard()
    #expect(heartbeat.judge(at: instant(20)) == .ask(then: .seconds(10)))
  }

  @Test func silenceIsCountedFromTheOldestQuestion() {
    var heartbeat = LinkHeartbeat(settings, at: instant(0))
    _ = heartbeat.judge(at: instant(10))
    #expect(heartbeat.judge(at: instant(20)) == .ask(then: .seconds(5)))
    #expect(heartbeat.deadline == instant(25))
    #expect(heartbeat.judge(at: instant(24)) == .wait(.seconds(1)))
    #expect(heartbeat.judge(at: instant(25)) == .silent)
  }

  @Test func anythingHeardTakesTheQuestionBack() {
    var heartbeat = LinkHeartbeat(settings, at: instant(0))
    _ = heartbeat.judge(at: instant(10))
    heartbeat.heard()
    #expect(heartbeat.judge(at: instant(25)) == .ask(then: .seconds(10)))
  }

  @Test func aMachineThatSleptKnowsThatItIsOverdue() {
    let heartbeat = LinkHeartbeat(settings, at: instant(0))
    #expect(heartbeat.deadline == instant(25))
  }
}
