import Testing

@testable import GatewayCore

@Suite struct FleetReachTests {
  private let time = FakeTime()
  private let timers: Timers
  private let reach: FleetReach
  private final class Notes {
    var asked = 0
    var isOtherWilling = true
  }
  private let notes = Notes()

  init() {
    timers = Timers(time: time)
    reach = FleetReach(patience: .seconds(10), timers: timers)
    let notes = notes
    reach.onYield = {
      notes.asked += 1
      return notes.isOtherWilling
    }
  }

  private func pass(_ seconds: Int) -> Int {
    for _ in 0..<seconds {
      time.advance(by: .seconds(1))
      timers.fire()
    }
    defer { notes.asked = 0 }
    return notes.asked
  }

  @Test func aHolderWithoutALinkGivesTheLeaseAwayOnce() {
    reach.lost()
    #expect(pass(9) == 0)
    #expect(pass(1) == 1)
    #expect(pass(30) == 0)
  }

  @Test func whereNoOtherHostWouldTakeItItIsLookedForOneAgain() {
    notes.isOtherWilling = false
    reach.lost()
    #expect(pass(13) == 4)
    notes.isOtherWilling = true
    #expect(pass(30) == 1)
  }

  @Test func aLinkThatComesUpInTimeKeepsTheLease() {
    reach.lost()
    #expect(pass(9) == 0)
    reach.settle()
    #expect(pass(30) == 0)
    reach.lost()
    #expect(pass(9) == 0)
    #expect(pass(1) == 1)
  }
}
