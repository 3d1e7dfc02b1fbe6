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
    #expect(throws: FilterShares.Overrun.globs) { try hold(["*more"]) }
    let others = [try hold(["*more"], uid: 2), try hold(["*more"], on: "d"), try hold(["name"])]
    #expect(held.count + others.count == 7)
  }

  @Test func equalGlobsCountOnceAsLongAsOneIsHeld() throws {
    let all = try (0..<4).map { try hold(globs($0 * 256..<($0 + 1) * 256)) }
    var again: FilterHold? = try hold(globs(0..<256))
    #expect(again != nil && all.count == 4)
    again = nil
    #expect(throws: FilterShares.Overrun.globs) { try hold(["*more"]) }
  }

  @Test func whatIsGivenBackIsThereAgain() throws {
    var held: [FilterHold] = try (0..<4).map { try hold(globs($0 * 256..<($0 + 1) * 256)) }
    held.removeLast()
    #expect(throws: Never.self) { try hold(globs(2_000..<2_256)) }
  }

  @Test func namesCountByTheirBytes() throws {
    let names = (0..<1_000).map { String(repeating: "n", count: 1_000) + String($0) }
    let held = try (0..<7).map { _ in try hold(names) }
    #expect(throws: FilterShares.Overrun.bytes(.share(8 << 20))) { try hold(names) }
    #expect(throws: Never.self) { try hold(names, uid: 2) }
    #expect(held.count == 7)
  }
}
