import Testing

@testable import GatewayCore

@Suite struct FleetLeaseTests {
  private var lease: FleetLease
  private var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
  private let settings: FleetLease.Settings
  private static let other = FleetSight(own: "7@b", beat: "3")

  init() {
    var settings = FleetLease.Settings(host: "a")
    (settings.lease, settings.grace) = (.seconds(3), .seconds(10))
    self.settings = settings
    lease = FleetLease(settings)
  }

  private mutating func at(_ seconds: Double, _ event: FleetLease.Event) -> [FleetLease.Action] {
    lease.handle(event, at: now + .milliseconds(Int64(seconds * 1_000)))
  }

  private func instant(_ seconds: Double) -> MonotonicInstant { now + .milliseconds(Int64(seconds * 1_000)) }

  private mutating func see(_ seconds: Double, _ sight: FleetSight = other, holder: String? = "b") -> [FleetLease
    .Action]
  {
    at(seconds, .saw(sight, holder: holder, fraction: 0))
  }

  private func taken(_ term: UInt64) -> FleetTaken {
    FleetTaken(term: term, conversation: term, sequence: 0, epoch: "", isSameRun: true)
  }

  /// Holds in term 8 since the given second.
  private mutating func hold(_ seconds: Double = 0) {
    _ = at(seconds, .gained(run: "r"))
    _ = see(seconds, holder: "")
    _ = at(seconds, .took(taken(8)))
  }

  @Test mutating func aLeaseThatDoesNotChangeIsTakenAfterATenthMore() {
    #expect(at(0, .gained(run: "r")) == [.look, .wake(instant(0.375))])
    #expect(see(0) == [])
    #expect(see(2.9) == [])
    #expect(see(3.29) == [.wake(instant(3.3))])
    #expect(see(3.3) == [.take(Self.other, isLate: true)])
  }

  @Test mutating func aBeatBeginsTheWaitingAnew() {
    _ = at(0, .gained(run: "r"))
    _ = see(0)
    let beaten = FleetSight(own: "7@b", beat: "4")
    #expect(see(3.2, beaten) == [])
    #expect(see(6.4, beaten) == [.wake(instant(6.5))])
    #expect(see(6.5, beaten) == [.take(beaten, isLate: true)])
  }

  @Test mutating func aLeaseThatWasGivenBackIsTakenAtOnce() {
    _ = at(0, .gained(run: "r"))
    #expect(see(0, holder: "") == [.take(Self.other)])
  }

  @Test mutating func theLeaseOfOnesOwnEarlierLifeIsTakenAtOnce() {
    _ = at(0, .gained(run: "r"))
    #expect(see(0, holder: "a") == [.take(Self.other)])
  }

  /// A replica that took the place of a master does not have what that had last, nor does a server that was restarted and
  /// has its file up to a second before, or one whose file was read in part.
  @Test(arguments: ["a", ""])
  mutating func aLeaseThatSeemsFreeAtAServerThatReplacedAnotherIsWaitedFor(_ holder: String) {
    _ = at(0, .gained(run: "new"))
    #expect(at(0, .saw(Self.other, holder: holder, isOfServer: false, fraction: 0)) == [])
    #expect(
      at(3.3, .saw(Self.other, holder: holder, isOfServer: false, fraction: 0)) == [.take(Self.other, isLate: true)])
    lease = FleetLease(lease.settings)
    _ = at(10, .gained(run: "new"))
    #expect(at(10, .saw(Self.other, holder: holder, fraction: 0)) == [.take(Self.other)])
  }

  @Test mutating func aLapsedHolderIsQuietAtAServerThatReplacedItsOwnUntilNobodyElseMayWrite() {
    hold()
    #expect(at(3, .rang).first == .lapse)
    _ = at(3, .lost)
    #expect(at(4, .gained(run: "new")).first == .beat)
    #expect(!at(4.1, .beaten).contains { if case .extend = $0 { true } else { false } })
    #expect(at(5.1, .rang).first == .beat)
    #expect(!at(5.2, .beaten).contains { if case .extend = $0 { true } else { false } })
    #expect(lease.mayWriteUntil == nil)
    #expect(at(7.3, .rang).first == .beat)
    #expect(at(7.35, .beaten).first == .extend(instant(10.3)))
  }

  @Test mutating func aLinkIsNotGivenBackAtARestartedServerWhileAnotherHostMayStillWrite() {
    hold()
    #expect(at(3, .rang).first == .lapse)
    _ = at(3, .lost)
    _ = at(4, .gained(run: "new"))
    _ = at(4.1, .beaten)
    #expect(at(4.2, .leave) == [.drain])
    #expect(lease.mayWriteUntil == instant(4.2))
    #expect(at(4.3, .drained) == [.wake(instant(7.3))])
    _ = at(5.1, .rang)
    _ = at(5.2, .beaten)
    #expect(lease.mayWriteUntil == instant(4.2))
    #expect(at(7.3, .rang).first == .release)
  }

  @Test mutating func aHolderThatDidNotLapseWritesOnAtAnotherServer() {
    hold()
    _ = at(1, .lost)
    #expect(at(2, .gained(run: "new")).first == .beat)
    #expect(at(2.1, .beaten).first == .extend(instant(5)))
  }

  @Test mutating func whoWasFencedByAHolderOfItsOwnNameTakesNothingBack() {
    hold()
    _ = at(1, .fenced)
    #expect(see(1, FleetSight(own: "9@a", beat: "0"), holder: "a") == [])
  }

  @Test mutating func anEmptyLeaseIsNoReleasedOne() {
    _ = at(0, .gained(run: "r"))
    #expect(see(0, FleetSight(), holder: nil) == [])
    #expect(see(3.3, FleetSight(), holder: nil) == [.take(FleetSight(), isLate: true)])
  }

  @Test mutating func anotherServerBeginsTheWaitingAnew() {
    _ = at(0, .gained(run: "r"))
    _ = see(0)
    _ = at(3, .lost)
    _ = at(3.1, .gained(run: "r2"))
    #expect(see(3.4) == [])
    #expect(see(6.7) == [.take(Self.other, isLate: true)])
  }

  @Test mutating func newsDoNotWaitForTheNextBeat() {
    #expect(at(0, .news) == [])
    hold()
    #expect(at(0.5, .news).first == .beat)
    // One is on its way.
    #expect(at(0.6, .news) == [])
    _ = at(0.7, .beaten)
    #expect(at(0.8, .news).first == .beat)
  }

  @Test mutating func aHolderMayWriteForALeaseFromTheSendingOn() {
    _ = at(0, .gained(run: "r"))
    _ = see(1, holder: "")
    #expect(at(1.5, .took(taken(8))) == [.begin(taken(8)), .extend(instant(4)), .wake(instant(2))])
    #expect(at(2, .rang) == [.beat, .wake(instant(4))])
    #expect(at(2.9, .beaten) == [.extend(instant(5)), .wake(instant(3))])
    #expect(lease.mayWriteUntil == instant(5))
  }

  @Test mutating func aTakeOverThatIsAnsweredTooLateMayNotWrite() {
    _ = at(0, .gained(run: "r"))
    _ = see(0, holder: "")
    #expect(at(3, .took(taken(8))) == [.begin(taken(8)), .lapse, .beat, .wake(instant(6))])
    #expect(lease.mayWriteUntil == nil)
    #expect(at(3.2, .beaten) == [.extend(instant(6)), .wake(instant(4))])
  }

  @Test mutating func aHolderLapsesWhenNoBeatIsConfirmedInTime() {
    hold()
    #expect(at(1, .rang) == [.beat, .wake(instant(3))])
    #expect(at(3, .rang) == [.lapse, .wake(instant(4))])
    #expect(lease.mayWriteUntil == nil)
    #expect(lease.own == FleetOwn(term: 8, host: "a"))
    #expect(at(4, .rang) == [.distrust])
    #expect(at(4, .beatFailed) == [.wake(instant(2))])
    #expect(at(4, .lost) == [.wake(instant(13))])
    #expect(at(5, .gained(run: "r")) == [.beat, .wake(instant(8))])
    #expect(at(5.1, .beaten) == [.extend(instant(8)), .wake(instant(6))])
  }

  @Test mutating func aLapsedHolderKeepsItsLinkForTheGrace() {
    hold()
    _ = at(0.5, .lost)
    #expect(at(3, .rang) == [.lapse, .wake(instant(13))])
    #expect(at(13, .rang) == [.cut])
    #expect(lease.own != nil)
    #expect(at(20, .gained(run: "r")) == [.beat, .wake(instant(23))])
    #expect(at(20.5, .fenced) == [.end, .look, .wake(instant(20.875))])
    #expect(lease.own == nil)
  }

  @Test mutating func aConfirmationThatComesTooLateIsOfNoUse() {
    hold()
    _ = at(1, .rang)
    #expect(at(4.5, .beaten) == [.lapse, .beat, .wake(instant(7.5))])
    #expect(lease.mayWriteUntil == nil)
  }

  @Test mutating func aHolderThatIsFencedEndsAtOnceWhateverItDoes() {
    hold()
    #expect(at(1, .fenced) == [.end, .look, .wake(instant(1.375))])
    #expect(at(1, .beaten) == [])
  }

  @Test mutating func whoLeavesGivesTheLeaseBackWhenTheLinkIsClosed() {
    hold()
    #expect(at(1, .leave) == [.drain])
    #expect(at(1.1, .drained) == [.release])
    #expect(at(1.2, .released) == [.end, .wake(instant(1.575))])
    // Others have the first right to it, for a minute.
    #expect(see(2, holder: "") == [])
    #expect(see(5, FleetSight(own: "8@a", beat: "0"), holder: "") == [])
    #expect(
      see(8.3, FleetSight(own: "8@a", beat: "0"), holder: "")
        == [.take(FleetSight(own: "8@a", beat: "0"), isLate: true)])
  }

  @Test mutating func aReleaseThatWasNotAnsweredIsRepeated() {
    hold()
    _ = at(1, .leave)
    _ = at(1.1, .drained)
    _ = at(1.2, .lost)
    #expect(at(2, .gained(run: "r")) == [.beat, .wake(instant(5)), .release])
  }

  @Test mutating func whoWasFasterHasIt() {
    _ = at(0, .gained(run: "r"))
    _ = see(0, holder: "")
    #expect(at(0.1, .took(nil)) == [.wake(instant(0.475))])
    #expect(lease.own == nil)
  }

  @Test mutating func anAnswerThatNeverComesEndsTheConnection() {
    _ = at(0, .gained(run: "r"))
    _ = see(0, holder: "")
    #expect(at(3, .rang) == [.distrust])
    #expect(at(3, .takeFailed) == [])
  }

  @Test mutating func whatIsLeftWhileItIsTakenIsGivenBackAtOnce() {
    _ = at(0, .gained(run: "r"))
    _ = see(0, holder: "")
    #expect(at(0.1, .leave) == [])
    #expect(lease.isTaking)
    #expect(at(0.2, .took(taken(8))) == [.release])
    #expect(lease.mayWriteUntil != nil && lease.own?.term == 8)
    #expect(at(0.3, .released) == [.end, .wake(instant(0.675))])
    #expect(see(1, holder: "") == [])
  }

  @Test mutating func laterRanksWaitLonger() {
    let third = FleetRank(place: 3, yields: false)
    _ = at(0, .gained(run: "r"))
    _ = at(0, .saw(Self.other, holder: "b", rank: third, fraction: 0))
    #expect(at(3.89, .saw(Self.other, holder: "b", rank: third, fraction: 0)) == [.wake(instant(3.9))])
    #expect(at(3.9, .saw(Self.other, holder: "b", rank: third, fraction: 0)) == [.take(Self.other, isLate: true)])
  }

  @Test mutating func ofThousandsNoneWaitsForMoreThanEight() {
    let last = FleetRank(place: 5_000, yields: false)
    _ = at(0, .gained(run: "r"))
    _ = at(0, .saw(Self.other, holder: "b", rank: last, fraction: 0))
    #expect(at(4.9, .saw(Self.other, holder: "b", rank: last, fraction: 0)) == [.take(Self.other, isLate: true)])
  }

  @Test mutating func hostsBehindTheFirstEightLookSeldom() {
    _ = at(0, .gained(run: "r"))
    _ = at(0, .saw(Self.other, holder: "b", rank: FleetRank(place: 7, yields: false), fraction: 0))
    #expect(at(0.375, .rang) == [.look, .wake(instant(0.75))])
    _ = at(0.4, .saw(Self.other, holder: "b", rank: FleetRank(place: 8, yields: false), fraction: 0))
    #expect(at(0.75, .rang) == [.look, .wake(instant(3.75))])
  }

  @Test mutating func whoSeesALinkEndLooksForTheLeaseAgainAndAgain() {
    _ = at(0, .gained(run: "r"))
    _ = see(0)
    #expect(at(0.1, .closed) == [.look, .wake(instant(0.11))])
    #expect(see(0.101) == [])
    #expect(at(0.11, .rang) == [.look, .wake(instant(0.13))])
    #expect(at(0.13, .rang) == [.look, .wake(instant(0.17))])
    #expect(at(0.17, .rang) == [.look, .wake(instant(0.25))])
    #expect(at(0.25, .rang) == [.look, .wake(instant(0.41))])
    #expect(at(0.41, .rang) == [.look, .wake(instant(0.73))])
    #expect(at(0.73, .rang) == [.look, .wake(instant(1.105))])
    #expect(see(1.105, holder: "") == [.take(Self.other)])
    hold(2)
    #expect(at(2.1, .closed) == [])
  }

  @Test mutating func aLeaseThatWasGivenBackIsLeftToAHostThatPrefersForAMoment() {
    let second = FleetRank(place: 1, yields: true)
    _ = at(0, .gained(run: "r"))
    _ = at(0, .saw(Self.other, holder: "b", rank: second, fraction: 0))
    #expect(at(1, .saw(Self.other, holder: "", rank: second, fraction: 0)) == [])
    #expect(at(1.9, .saw(Self.other, holder: "", rank: second, fraction: 0)) == [.wake(instant(2))])
    #expect(at(2, .saw(Self.other, holder: "", rank: second, fraction: 0)) == [.take(Self.other)])
  }

  @Test mutating func aLeaseThatDoesNotChangeIsLeftToAHostThatPrefersForAMoment() {
    let second = FleetRank(place: 1, yields: true)
    _ = at(0, .gained(run: "r"))
    _ = at(0, .saw(Self.other, holder: "b", rank: second, fraction: 0))
    #expect(at(4.4, .saw(Self.other, holder: "b", rank: second, fraction: 0)) == [.wake(instant(4.5))])
    #expect(at(4.5, .saw(Self.other, holder: "b", rank: second, fraction: 0)) == [.take(Self.other, isLate: true)])
  }

  private mutating func seeReleased(
    _ seconds: Double, next: String, disagrees: Bool = false
  ) -> [FleetLease.Action] {
    at(seconds, .saw(Self.other, holder: "", next: next, disagrees: disagrees, fraction: 0))
  }

  @Test mutating func whoLeftALeaseToAnotherHostTakesItWhenThatOneGivesItBack() {
    hold()
    _ = at(1, .leave)
    _ = at(1.1, .drained)
    _ = at(1.2, .released)
    #expect(see(2, FleetSight(own: "8@a", beat: "0"), holder: "") == [])
    #expect(see(3) == [])
    #expect(seeReleased(4, next: "*") == [.take(Self.other)])
  }

  @Test mutating func aLeaseThatIsToMoveIsTakenByTheNamedHostAtOnceAndByOthersWhenThatIsLate() {
    _ = at(0, .gained(run: "r"))
    #expect(seeReleased(0, next: "c") == [])
    #expect(seeReleased(3.2, next: "c") == [.wake(instant(3.3))])
    #expect(seeReleased(3.3, next: "c") == [.take(Self.other, isLate: true)])
    _ = at(3.3, .took(nil))
    #expect(seeReleased(4, next: "*") == [.take(Self.other)])
    _ = at(4, .took(nil))
    #expect(seeReleased(5, next: "a") == [.take(Self.other)])
  }

  @Test mutating func theNamedHostTakesTheLeaseThatItHasJustGivenAway() {
    hold()
    _ = at(1, .leave)
    _ = at(1.1, .drained)
    _ = at(1.2, .released)
    #expect(seeReleased(2, next: "") == [])
    #expect(seeReleased(2.1, next: "a") == [.take(Self.other)])
  }

  @Test mutating func aHostThatDisagreesTakesNothingUntilTheLeaseIsForsaken() {
    _ = at(0, .gained(run: "r"))
    #expect(seeReleased(0, next: "", disagrees: true) == [])
    #expect(seeReleased(29.9, next: "", disagrees: true) == [.wake(instant(30))])
    #expect(seeReleased(30, next: "", disagrees: true) == [.take(Self.other, isLate: true)])
  }
}
