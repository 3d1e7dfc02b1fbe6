import Testing

@testable import GatewayCore

@Suite struct FleetUpPlaceTests {
  @Test func whatIsReadWhileABeatIsUnderWayIsNotReadAgain() {
    var place = FleetUpPlace()
    place.go(to: FleetPosition(5, 0))
    place.beats()
    place.go(to: FleetPosition(9, 0))
    let isBack = place.isBackAtStart(behind: FleetPosition(5, 0))
    #expect(!isBack)
    #expect(place.position == FleetPosition(9, 0))
  }

  @Test func aStreamThatEndsBeforeWhatWasReadIsReadFromItsBeginning() {
    var place = FleetUpPlace()
    place.go(to: FleetPosition(9, 0))
    place.beats()
    let isBack = place.isBackAtStart(behind: FleetPosition(8, 3))
    #expect(isBack)
    #expect(place.position == .start)
    // Said once for it.
    let isBackAgain = place.isBackAtStart(behind: FleetPosition(8, 3))
    #expect(!isBackAgain)
  }

  @Test func aBeatOfTheServerBeforeSaysNothingOfTheNextOne() {
    var place = FleetUpPlace()
    place.go(to: FleetPosition(9, 0))
    place.beats()
    place.go(to: .start)
    place.go(to: FleetPosition(3, 0))
    let isBack = place.isBackAtStart(behind: FleetPosition(2, 0))
    #expect(!isBack)
  }
}
