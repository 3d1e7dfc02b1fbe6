import Testing

@testable import GatewayCore

/// Limits that users share.
@Suite struct SharedLimitTests {
  @Test func oneUserMayHaveHalfOfATotalAndAnotherTheRest() throws {
    var limit = SharedLimit(total: 4)
    try limit.take(2, for: .user(1))
    #expect(throws: SharedLimit.Overrun.share(2)) { try limit.take(for: .user(1)) }
    try limit.take(2, for: .user(2))
    #expect(throws: SharedLimit.Overrun.total(4)) { try limit.take(for: .user(3)) }
    limit.giveBack(for: .user(1))
    try limit.take(for: .user(3))
    #expect([1, 2, 3, 4].map { limit.used(by: .user($0)) } == [1, 2, 1, 0])
    #expect(limit.used == 4)
  }

  @Test func whatOneMayHaveIsHalfOfWhatAllMay() throws {
    var limit = SharedLimit(share: 3)
    try limit.take(3, for: .user(1))
    try limit.take(3, for: .configuration)
    #expect(throws: SharedLimit.Overrun.total(6)) { try limit.take(for: .user(2)) }
    #expect(SharedLimit(share: .max).total == .max)
    #expect(SharedLimit(total: 1).share == 1)
  }

  @Test func whatTakesThePlaceOfAnotherNeedsOnlyTheDifference() throws {
    var limit = SharedLimit(share: 10)
    try limit.take(9, for: .user(1))
    try limit.check(10, for: .user(1), freeing: 9)
    #expect(throws: SharedLimit.Overrun.share(10)) { try limit.check(11, for: .user(1), freeing: 9) }
  }

  @Test func otherLimitsCountWhatIsThere() throws {
    var limit = SharedLimit(total: 100)
    limit.count(60, for: .user(1))
    limit.adopt(SharedLimit(total: 10))
    #expect(throws: SharedLimit.Overrun.share(5)) { try limit.take(for: .user(1)) }
    #expect(throws: SharedLimit.Overrun.total(10)) { try limit.take(for: .user(2)) }
  }
}
