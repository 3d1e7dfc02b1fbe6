import Testing

@testable import GatewayCore

@Suite struct LivenessTests {
  private func instant(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
  private let settings = HeartbeatSettings(interval: .seconds(10), timeout: .seconds(15))

  @Test func theServerIsAskedAtEveryInterval() {
    var heartbeat = Heartbeat(settings, by: .client(isExpected: false), at: instant(0))
    #expect(heartbeat.judge(at: instant(4)) == .wait(.seconds(6)))
    #expect(heartbeat.judge(at: instant(10)) == .ask(then: .seconds(10)))
    heartbeat.heard()
    #expect(heartbeat.judge(at: instant(20)) == .ask(then: .seconds(10)))
  }

  @Test func silenceIsCountedFromTheOldestQuestion() {
    var heartbeat = Heartbeat(settings, by: .client(isExpected: false), at: instant(0))
    _ = heartbeat.judge(at: instant(10))
    #expect(heartbeat.judge(at: instant(20)) == .ask(then: .seconds(5)))
    #expect(heartbeat.deadline == instant(25))
    #expect(heartbeat.judge(at: instant(24)) == .wait(.seconds(1)))
    #expect(heartbeat.judge(at: instant(25)) == .lastCall)
    #expect(heartbeat.judge(at: instant(25)) == .silent)
  }

  @Test func anythingHeardTakesTheQuestionBack() {
    var heartbeat = Heartbeat(settings, by: .client(isExpected: false), at: instant(0))
    _ = heartbeat.judge(at: instant(10))
    heartbeat.heard()
    #expect(heartbeat.judge(at: instant(25)) == .ask(then: .seconds(10)))
  }

  @Test func aMachineThatSleptKnowsThatItIsOverdue() {
    let heartbeat = Heartbeat(settings, by: .client(isExpected: false), at: instant(0))
    #expect(heartbeat.deadline == instant(25))
  }

  @Test func aServerThatAsksIsGoneWhenItDoesNot() {
    var heartbeat = Heartbeat(settings, by: .server, at: instant(0))
    #expect(heartbeat.deadline == instant(25))
    #expect(heartbeat.judge(at: instant(24)) == .wait(.seconds(1)))
    #expect(heartbeat.judge(at: instant(25)) == .lastCall)
    #expect(heartbeat.judge(at: instant(25)) == .silent)
  }

  @Test func whatElseComesDoesNotStandForAServersQuestion() {
    var heartbeat = Heartbeat(settings, by: .server, at: instant(0))
    #expect(heartbeat.judge(at: instant(25)) == .lastCall)
    heartbeat.heard()
    #expect(heartbeat.judge(at: instant(25)) == .silent)
  }

  @Test func whatIsHeardInTheLastTurnSavesTheLink() {
    var heartbeat = Heartbeat(settings, by: .client(isExpected: false), at: instant(0))
    #expect(heartbeat.judge(at: instant(10)) == .ask(then: .seconds(10)))
    #expect(heartbeat.judge(at: instant(25)) == .lastCall)
    heartbeat.heard()
    #expect(heartbeat.judge(at: instant(25)) == .ask(then: .seconds(10)))
    #expect(heartbeat.judge(at: instant(40)) == .lastCall)
  }

  @Test func aServerThatCountsOnBeingAskedWaitsFromTheLastQuestion() {
    var heartbeat = Heartbeat(settings, by: .client(isExpected: true), at: instant(0))
    #expect(heartbeat.deadline == instant(25))
    #expect(heartbeat.judge(at: instant(10)) == .ask(then: .seconds(10)))
    #expect(heartbeat.deadline == instant(35))
  }

  @Test func theServerIsAskedOnWhileAnAnswerIsPending() {
    let slow = HeartbeatSettings(interval: .seconds(25), timeout: .seconds(60))
    var heartbeat = Heartbeat(slow, by: .client(isExpected: true), at: instant(0))
    #expect(heartbeat.judge(at: instant(25)) == .ask(then: .seconds(25)))
    #expect(heartbeat.judge(at: instant(50)) == .ask(then: .seconds(25)))
    #expect(heartbeat.judge(at: instant(75)) == .ask(then: .seconds(10)))
    #expect(heartbeat.judge(at: instant(85)) == .lastCall)
  }

  /// A runner, and what it said and did.
  private final class Scene {
    private let time = FakeTime()
    private let timers: Timers
    private(set) var said: [String] = []
    private(set) var liveness: Liveness!

    init(hasOwnBeat: Bool = false) {
      timers = Timers(time: time)
      liveness = Liveness(
        timers: timers, time: time,
        ask: { [unowned self] in
          said.append("ask")
          return true
        },
        beat: hasOwnBeat ? { [unowned self] in said.append("beat") } : nil,
        fail: { [unowned self] in said.append("\($0)") })
    }

    func pass(_ duration: Duration) {
      let end = time.now + duration
      while let next = timers.nextDeadline, next <= end {
        if next > time.now { time.advance(by: next - time.now) }
        timers.fire()
      }
      time.advance(by: end - time.now)
    }
  }

  @Test func theHeartbeatAsksAndGivesTheServerOneMoreTurn() {
    let scene = Scene()
    scene.liveness.begin(settings, by: .client(isExpected: false))
    scene.pass(.seconds(10))
    #expect(scene.said == ["ask"])
    scene.pass(.seconds(15))
    #expect(scene.said == ["ask", "ask", "heartbeat"])
  }

  @Test func anAnswerToTheHeartbeatsOwnQuestionIsTheRoundTrip() {
    let scene = Scene(hasOwnBeat: true)
    scene.liveness.begin(settings, by: .client(isExpected: true))
    scene.pass(.seconds(10))
    scene.pass(.milliseconds(40))
    scene.liveness.answeredBeat()
    #expect(scene.said == ["beat"])
    #expect(scene.liveness.roundTrip == .milliseconds(40))
  }

  @Test func nothingIsAskedAfterTheEnd() {
    let scene = Scene()
    scene.liveness.begin(settings, by: .client(isExpected: false))
    scene.liveness.measure(in: .seconds(1))
    scene.liveness.end()
    scene.pass(.seconds(100))
    scene.liveness.check()
    #expect(scene.said == [])
  }
}
