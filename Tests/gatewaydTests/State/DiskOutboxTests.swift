@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

@Suite struct DiskOutboxTests {
  private let folder: TemporaryDirectory
  private let loop: EventLoop
  private let outbox: DiskOutbox

  init() throws {
    folder = try TemporaryDirectory()
    loop = try EventLoop()
    outbox = try DiskOutbox(loop: loop, database: OutboxFile(in: folder.path, now: 1).open().database)
  }

  private func runUntilClosed() throws {
    outbox.close { [loop] in loop.exit(0) }
    #expect(try loop.run() == 0)
  }

  private func stored() throws -> [UInt64] { try OutboxFile(in: folder.path, now: 2).open().entries.map(\.number) }

  @Test func answersComeInTheOrderOfTheCalls() throws {
    var answered: [UInt64] = []
    for number in 1...500 as ClosedRange<UInt64> {
      outbox.commit(.adding(OutboxSamples.plain(number))) { problem in
        #expect(problem == nil)
        answered.append(number)
        if number == 500 { loop.exit(7) }
      }
    }
    #expect(answered.isEmpty)
    #expect(try loop.run() == 7)
    #expect(answered == Array(1...500))
    try runUntilClosed()
    #expect(try stored() == Array(1...500))
  }

  @Test func whatNobodyWaitsForIsWrittenAfterAMoment() throws {
    outbox.note(.adding(OutboxSamples.plain(1)))
    loop.timers.after(OutboxWriter.patience + .seconds(1)) { [loop] in loop.exit(0) }
    let log = folder / OutboxFile.name + "-wal"
    let before = OutboxSamples.read(log)
    _ = try loop.run()
    #expect(OutboxSamples.read(log) != before)
    try runUntilClosed()
    #expect(try stored() == [1])
  }

  @Test func theInstantsOfAllRowsMoveWithoutBeingWritten() throws {
    outbox.note(.add(.init(OutboxSamples.full(1))))
    outbox.note(.shift(5_000))
    outbox.note(.add(.init(OutboxSamples.full(2))))
    outbox.note(.shift(-7_000))
    outbox.note(.update(.init(OutboxSamples.full(3))))
    try runUntilClosed()
    let contents = try OutboxFile(in: folder.path, now: 2).open()
    #expect(contents.database.offset == -2_000)
    #expect(
      contents.entries == [
        OutboxSamples.full(1).moved(by: -2_000), OutboxSamples.full(2).moved(by: -7_000), OutboxSamples.full(3),
      ])
  }

  @Test func oneEntryTakesAnothersPlaceInOneStep() throws {
    outbox.note(.adding(OutboxSamples.plain(1)))
    outbox.note(.replace(1, .init(OutboxSamples.plain(2))))
    try runUntilClosed()
    #expect(try stored() == [2])
  }

  @Test func closingWritesWhatIsLeft() throws {
    outbox.note(.adding(OutboxSamples.plain(1)))
    outbox.note(.adding(OutboxSamples.plain(2)))
    outbox.note(.remove(1))
    try runUntilClosed()
    #expect(try stored() == [2])
  }

  @Test func whatTheLastAnswerLeadsToIsWrittenBeforeTheEnd() throws {
    outbox.commit(.adding(OutboxSamples.plain(1))) { [outbox] _ in outbox.note(.adding(OutboxSamples.plain(2))) }
    try runUntilClosed()
    #expect(try stored() == [1, 2])
  }

  @Test func failureIsAnsweredAndWhatIsOwedIsWrittenAllTheSame() throws {
    try runUntilClosed()
    do {
      // The disk is full for entry 6.
      let database = try SQLiteDatabase(path: folder / OutboxFile.name)
      try database.run(
        "CREATE TRIGGER full BEFORE INSERT ON sends WHEN new.number = 6 BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    }
    let outbox = try DiskOutbox(loop: loop, database: OutboxFile(in: folder.path, now: 1).open().database)
    var problems: [StorageProblem?] = []
    outbox.note(.adding(OutboxSamples.plain(5)))
    outbox.commit(.adding(OutboxSamples.plain(6))) { problems.append($0) }
    outbox.close { [loop] in loop.exit(0) }
    _ = try loop.run()
    #expect(problems == [StorageProblem(.failed, "\(folder / OutboxFile.name): disk full")])
    #expect(try stored() == [5])
  }
}
