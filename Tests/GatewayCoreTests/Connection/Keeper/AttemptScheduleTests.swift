import Testing

@testable import GatewayCore

@Suite struct AttemptScheduleTests {
  private let time = FakeTime()

  private func nextAttempt(_ schedule: AttemptSchedule) -> MonotonicInstant? {
    var health = Health(state: .disconnected, since: time.now, now: time.now, settings: UpstreamSettings())
    schedule.describe(to: &health)
    return health.nextAttemptAt
  }

  @Test func afterALinkWhoseNextAttemptWaitsByItselfThereIsNoBackOff() {
    var schedule = AttemptSchedule(settings: ReconnectSettings())
    let lost = UpstreamFailure(.closed, "the test says so")
    func lose(waitsByItself: Bool) {
      schedule.failed(lost, at: time.now, fraction: 0.5, waitsByItself: waitsByItself)
    }
    schedule.started(at: time.now)
    schedule.opened(at: time.now)
    lose(waitsByItself: true)
    #expect(nextAttempt(schedule) == time.now)
    // What had not opened was in vain.
    schedule.started(at: time.now)
    lose(waitsByItself: true)
    #expect(nextAttempt(schedule) == time.now + .milliseconds(500))
    schedule.started(at: time.now)
    schedule.opened(at: time.now)
    lose(waitsByItself: false)
    #expect(nextAttempt(schedule) == time.now + .seconds(1))
  }
}
