import GatewayCore
import Testing

@testable import gatewayd

@Suite struct KernelLimitTests {
  private static let lease: Duration = .seconds(3)

  private func instant(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }

  /// What the kernel is told when a host looks once a second, and its lease is extended each time.
  private func timeouts(_ deliveries: [KernelLimit.Delivery?]) -> [Duration] {
    var limit = KernelLimit()
    return deliveries.enumerated().map { second, delivery in
      let now = instant(Int64(second))
      return limit.timeout(until: now + Self.lease, at: now, delivery)
    }
  }

  private func waiting(_ acknowledged: UInt64) -> KernelLimit.Delivery {
    KernelLimit.Delivery(acknowledged: acknowledged, isWaiting: true)
  }

  /// The kernel counts from the beginning of the stall: a time-out of the lease alone would end the connection.
  @Test func aServerThatTakesNothingForLongerThanTheLeaseKeepsItsConnection() {
    #expect(timeouts(Array(repeating: waiting(7), count: 6)) == (3...8).map { Duration.seconds($0) })
  }

  @Test func theTimeOutIsTheRestOfTheLeaseAgainAfterEachByteThatWasTaken() {
    #expect(timeouts([7, 7, 8, 9, 9, 9].map(waiting)) == [3, 4, 3, 3, 4, 5].map { Duration.seconds($0) })
  }

  @Test func whatWaitsNewlyHasItsOwnBeginning() {
    let idle = KernelLimit.Delivery(acknowledged: 7, isWaiting: false)
    #expect(
      timeouts([waiting(7), waiting(7), idle, idle, waiting(7), waiting(7)])
        == [3, 4, 3, 3, 3, 4].map { Duration.seconds($0) })
  }

  @Test func whereTheKernelSaysNothingTheTimeOutIsTheRestOfTheLease() {
    #expect(timeouts([nil, nil, nil]) == Array(repeating: Self.lease, count: 3))
  }

  /// A stall that is over leaves a time-out of its length: what is written then would have as long.
  @Test func whatIsWrittenBehindAStallIsNotKeptForAsLongAsTheStallWas() {
    var limit = KernelLimit()
    for second in Int64(0)...5 { _ = limit.timeout(until: instant(second + 3), at: instant(second), waiting(7)) }
    let now = instant(5) + .milliseconds(1)
    #expect(limit.outlasts(instant(8), at: now))
    _ = limit.timeout(until: instant(8), at: now, KernelLimit.Delivery(acknowledged: 8, isWaiting: false))
    #expect(!limit.outlasts(instant(8), at: now))
  }

  @Test func theKernelIsToldAnewBeforeAWriteThatIsLaterByMoreThanTheTolerance() {
    var limit = KernelLimit()
    let until = instant(3)
    #expect(limit.outlasts(until, at: instant(0)))
    _ = limit.timeout(until: until, at: instant(0), nil)
    let late = instant(0) + KernelLimit.tolerance
    #expect(!limit.outlasts(until, at: late))
    #expect(limit.outlasts(until, at: late + .milliseconds(1)))
    #expect(!limit.outlasts(until + .seconds(1), at: late + .milliseconds(1)))
  }

  @Test func aLeaseThatIsNotExtendedLeavesLessAndLess() {
    var limit = KernelLimit()
    let until = instant(3)
    let left = (0..<3).map { limit.timeout(until: until, at: instant($0), waiting(UInt64($0))) }
    #expect(left == [3, 2, 1].map { Duration.seconds($0) })
  }
}
