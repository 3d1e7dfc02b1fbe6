@testable import GatewayCore
import Testing

@testable import gatewayd

@Suite struct OutboxWriterBatchTests {
  private static func batch(_ changes: [(UInt64, isAwaited: Bool)]) -> OutboxWriter.Batch {
    var batch = OutboxWriter.Batch()
    for (number, isAwaited) in changes { batch.append(.remove(number), isAwaited: isAwaited) }
    return batch
  }

  private static func numbers(_ batch: OutboxWriter.Batch) -> [UInt64] {
    batch.items.compactMap { if case .remove(let number) = $0.change { number } else { nil } }
  }

  @Test func theOldestChangesAreTakenFirstAndBothPartsKnowWhoWaits() {
    var batch = Self.batch([(1, true), (2, false)])
    batch.append(Self.batch([(3, true), (4, true)]))
    #expect(batch.awaited == 3)
    let first = batch.takeFirst(3)
    #expect(Self.numbers(first) == [1, 2, 3] && first.awaited == 2)
    #expect(Self.numbers(batch) == [4] && batch.awaited == 1)
    let last = batch.takeFirst(3)
    #expect(Self.numbers(last) == [4] && last.awaited == 1)
    #expect(batch.isEmpty && batch.awaited == 0)
  }

  @Test func aBatchKnowsThatTheClockWasSetInIt() {
    var batch = Self.batch([(1, true)])
    var later = Self.batch([(2, true)])
    later.append(.shift(5), isAwaited: false)
    batch.append(later)
    #expect(batch.hasShift)
    let first = batch.takeFirst(2)
    #expect(!first.hasShift && batch.hasShift)
  }
}
