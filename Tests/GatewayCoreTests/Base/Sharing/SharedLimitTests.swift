import Testing

@testable import GatewayCore

/// Limits that users share.
@Suite struct SharedLimitTests {
  @Test func oneUserMayHaveHalfOfATotalAndAnotherTheRest() throws {
    var limit = SharedLimit(SharedBounds(total: 4))
    try limit.take(2, for: .user(1))
    #expect(throws: SharedBounds.Overrun.share(2)) { try limit.take(for: .user(1)) }
    try limit.take(2, for: .user(2))
    #expect(throws: SharedBounds.Overrun.total(4)) { try limit.take(for: .user(3)) }
    limit.giveBack(for: .user(1))
    try limit.take(for: .user(3))
    #expect([1, 2, 3, 4].map { limit.used(by: .user($0)) } == [1, 2, 1, 0])
    #expect(limit.used == 4)
  }

  @Test func whatOneMayHaveIsHalfOfWhatAllMay() throws {
    var limit = SharedLimit(SharedBounds(share: 3))
    try limit.take(3, for: .user(1))
    try limit.take(3, for: .configuration)
    #expect(throws: SharedBounds.Overrun.total(6)) { try limit.take(for: .user(2)) }
    #expect(SharedBounds(share: .max).total == .max)
    #expect(SharedBounds(total: 1).share == 1)
  }

  @Test func otherBoundsCountWhatIsThere() throws {
    var limit = SharedLimit(SharedBounds(total: 100))
    limit.count(60, for: .user(1))
    limit.bounds = SharedBounds(total: 10)
    #expect(throws: SharedBounds.Overrun.share(5)) { try limit.take(for: .user(1)) }
    #expect(throws: SharedBounds.Overrun.total(10)) { try limit.take(for: .user(2)) }
  }
}
