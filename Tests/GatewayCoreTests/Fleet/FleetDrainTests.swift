import Testing

@testable import GatewayCore

@Suite struct FleetDrainTests {
  private let time = FakeTime()
  private let timers: Timers
  private let drain: FleetDrain
  private final class Notes {
    var isQuiet = false
    var ends: [Bool] = []
  }
  private let notes = Notes()

  init() {
    timers = Timers(time: time)
    drain = FleetDrain(timers: timers)
    let notes = notes
    drain.isQuiet = { notes.isQuiet }
    drain.onEnd = { notes.ends.append($0) }
  }

  private func pass(_ duration: Duration) {
    let end = time.now + duration
    while let next = timers.nextDeadline, next <= end {
      if next > time.now { time.advance(by: next - time.now) }
      timers.fire()
    }
    if time.now < end { time.advance(by: end - time.now) }
  }

  @Test func aLinkIsClosedAsSoonAsTheServerHasTheLastBytes() {
    drain.begin()
    pass(.milliseconds(500))
    #expect(notes.ends == [])
    notes.isQuiet = true
    pass(.milliseconds(5))
    #expect(notes.ends == [true])
    pass(.seconds(5))
    #expect(notes.ends == [true])
  }

  @Test func aLinkOnWhichNothingIsUnderWayIsClosedAtOnce() {
    notes.isQuiet = true
    drain.begin()
    #expect(notes.ends == [true])
  }

  @Test func aLinkIsCutWhoseServerDoesNotAcknowledgeTheLastBytesInTime() {
    drain.begin()
    pass(FleetDrain.limit - .milliseconds(1))
    #expect(notes.ends == [])
    pass(.milliseconds(1))
    #expect(notes.ends == [false])
    pass(.seconds(5))
    #expect(notes.ends == [false])
  }

  @Test func whoHoldsNoMoreWaitsForNothing() {
    drain.begin()
    drain.stop()
    pass(.seconds(5))
    #expect(notes.ends == [])
  }
}
