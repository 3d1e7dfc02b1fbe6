import Testing

@testable import GatewayCore

@Suite struct LeaseLookTests {
  @Test(arguments: [(1, 500), (3, 1_500), (10, 5_000), (60, 5_000)])
  func aLongLeaseIsNotWaitedForLongerThanAnExaminationMayTake(seconds: Int, pause: Int) {
    #expect(LeaseLook(lease: .seconds(seconds)).pause == .milliseconds(pause))
  }

  @Test func aHolderWhoseNextSignOfLifeIsNotDueYetIsNotSaidToBeSilent() {
    let look = LeaseLook(lease: .seconds(60))
    let (first, second) = (FleetSight(own: "1@a", beat: "7"), FleetSight(own: "1@a", beat: "8"))
    #expect(!look.isStill(first, second, left: nil))
    #expect(!look.isStill(first, first, left: .seconds(20)))
    #expect(look.isStill(first, first, left: .zero) && look.isStill(first, first, left: nil))
    #expect(LeaseLook(lease: .seconds(3)).isStill(first, first, left: .seconds(2)))
  }
}
