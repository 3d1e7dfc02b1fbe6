import Testing

@testable import GatewayCore

/// What the filters of subscriptions may take, so that no user's globs hold up everybody's events.
struct FilterSharesTests {
  private let shares = FilterShares()

  private func hold(_ events: [String], on connection: String = "c", uid: UInt32 = 1) throws -> FilterHold {
    try shares.hold(try EventFilter(events), on: connection, for: uid)
  }

  private func globs(_ range: Range<Int>) -> [String] { range.map { "*\($0)" } }

  @Test func aUserMayHaveSoManyDifferentGlobsOnAConnection() throws {
    let held = try (0..<4).map { try hold(globs($0 * 256..<($0 + 1) * 256)) }
    #expect(throws: LocalError.noRoom(forGlobs: .share(1_024))) { try hold(["*more"]) }
    let others = [try hold(["*more"], uid: 2), try hold(["*more"], on: "d"), try hold(["name"])]
    #expect(held.count + others.count == 7)
  }

  @Test func equalGlobsCountOnceAsLongAsOneIsHeld() throws {
    let all = try (0..<4).map { try hold(globs($0 * 256..<($0 + 1) * 256)) }
    var again: FilterHold? = try hold(globs(0..<256))
    #expect(again != nil && all.count == 4)
    again = nil
    #expect(throws: LocalError.noRoom(forGlobs: .share(1_024))) { try hold(["*more"]) }
  }

  @Test func whatIsGivenBackIsThereAgain() throws {
    var held: [FilterHold] = try (0..<4).map { try hold(globs($0 * 256..<($0 + 1) * 256)) }
    held.removeLast()
    #expect(throws: Never.self) { try hold(globs(2_000..<2_256)) }
  }

  @Test func namesCountByTheirBytes() throws {
    let names = (0..<1_000).map { String(repeating: "n", count: 1_000) + String($0) }
    let held = try (0..<7).map { _ in try hold(names) }
    #expect(throws: LocalError.noRoom(forFilter: .share(8 << 20))) { try hold(names) }
    #expect(throws: Never.self) { try hold(names, uid: 2) }
    #expect(held.count == 7)
  }

  @Test func allUsersTogetherHaveTwiceAsManyGlobsOnAConnection() throws {
    let held = try (1...2).flatMap { uid in
      try (0..<4).map { try hold(globs($0 * 256..<($0 + 1) * 256), uid: UInt32(uid)) }
    }
    #expect(throws: LocalError.noRoom(forGlobs: .total(2_048))) { try hold(["*one"], uid: 3) }
    #expect(throws: Never.self) { try hold(["*one"], on: "d", uid: 3) }
    #expect(held.count == 8)
  }

  @Test func aLongGlobCountsAsOftenAsComparingItTakesAMachineWord() throws {
    let long = (0..<256).map { String(repeating: "n", count: 200) + "*\($0)" }
    #expect(throws: Never.self) { try hold(long) }
    let held = try [hold(long), hold([String(repeating: "m", count: 64) + "*"], uid: 2)]
    #expect(throws: LocalError.noRoom(forGlobs: .share(1_024))) { try hold(["*more"]) }
    #expect(held.count == 2)
  }

  @Test func whatIsReplacedTakesNoRoomFromWhatReplacesIt() throws {
    var held = try (0..<4).map { try hold(globs($0 * 256..<($0 + 1) * 256)) }
    let fresh = try shares.hold(try EventFilter(globs(2_000..<2_256)), on: "c", for: 1, insteadOf: [held[0]])
    #expect(throws: LocalError.noRoom(forGlobs: .share(1_024))) { try hold(["*more"]) }
    held.removeFirst()
    #expect(throws: LocalError.noRoom(forGlobs: .share(1_024))) { try hold(["*more"]) }
    #expect(throws: Never.self) { try hold(globs(2_000..<2_256)) }
    held.removeFirst()
    #expect(throws: Never.self) { try hold(["*more"]) }
    withExtendedLifetime(fresh) {}
  }
}
