import Testing

@testable import GatewayCore

/// How much is done in one turn, by the clock and by number.
@Suite struct PortionTests {
  private let time = FakeTime()
  private let timers: Timers
  private let work: SlicedWork

  init() {
    timers = Timers(time: time)
    work = SlicedWork(timers)
  }

  /// Takes long to free.
  private final class Heavy {
    private let onEnd: () -> Void
    init(_ onEnd: @escaping () -> Void) { self.onEnd = onEnd }
    deinit { onEnd() }
  }

  @Test func aPortionEndsWithItsNumberOrItsTimeButNotBeforeItsFirst() {
    #expect(taken(5, each: .zero) == [true, true, true, false, false])
    #expect(taken(3, each: Portion.limit) == [true, false, false])
    #expect(taken(3, each: Portion.limit / 2) == [true, true, false])
  }

  /// Whether each of so many would be done, in a portion of three at most.
  private func taken(_ count: Int, each duration: Duration) -> [Bool] {
    var portion = Portion(3, timers)
    return (0..<count).map { _ in
      defer { time.advance(by: duration) }
      return portion.takesMore()
    }
  }

  @Test func whatASnapshotHasGivenLivesByItNoMore() {
    var freed = 0
    let snapshot = Snapshot((0..<3).map { _ in Heavy { freed += 1 } }, work, for: .user(1))
    _ = snapshot.next()
    #expect(freed == 1 && !snapshot.isEmpty)
    while snapshot.next() != nil {}
    #expect(freed == 3 && snapshot.isEmpty)
  }

  @Test func manyThatASnapshotAloneKeepsAliveAreNotFreedInOneTurn() {
    var freed = 0
    var snapshot: Snapshot<Heavy>? = Snapshot(
      (0..<100).map { _ in
        Heavy { [time] in
          freed += 1
          time.advance(by: Portion.limit / 5)
        }
      }, work, for: .user(1))
    withExtendedLifetime(snapshot) {}
    snapshot = nil
    var last = freed
    #expect(last == 0)
    for _ in 0..<100 where freed < 100 {
      timers.fire()
      #expect(freed - last <= 5)
      last = freed
    }
    #expect(freed == 100 && timers.count == 0)
  }

  @Test func whatASnapshotIsLeftWithIsFreedOnTheAccountThatItWasTakenFor() {
    var snapshot: Snapshot<Heavy>? = Snapshot((0..<100).map { _ in Heavy {} }, work, for: .user(1))
    withExtendedLifetime(snapshot) {}
    snapshot = nil
    #expect(work.isBusy(for: .user(1)) && !work.isBusy(for: .configuration))
  }

  @Test func workThatTakesLongerThanOthersGoesOnInLaterTurns() {
    var done: [Int] = []
    work.forEach(of: 1...5, portion: 100, for: .user(1)) { [time] in
      done.append($0)
      time.advance(by: Portion.limit / 2)
    } then: {
      done.append(0)
    }
    #expect(done == [1, 2])
    timers.fire()
    #expect(done == [1, 2, 3, 4])
    timers.fire()
    #expect(done == [1, 2, 3, 4, 5, 0])
  }
}
