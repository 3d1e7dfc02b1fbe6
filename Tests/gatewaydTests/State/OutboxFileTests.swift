@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

@Suite struct OutboxFileTests {
  private let folder: TemporaryDirectory
  private var file: String { folder / OutboxFile.name }

  init() throws { folder = try TemporaryDirectory() }

  private func open() throws(StorageProblem) -> OutboxFile.Contents {
    try OutboxFile(in: folder.path, now: 77).open()
  }

  @Test func aLongLogMovesToTheFileWhenNobodyWaits() throws {
    let database = try open().database
    var entry = OutboxSamples.plain(1)
    entry.message.body = [UInt8](repeating: 0x20, count: 1 << 20)
    for number in 1...20 as ClosedRange<UInt64> {
      entry.number = number
      try database.apply([.adding(entry)])
    }
    let file = folder / OutboxFile.name
    let before = OutboxSamples.read(file).count
    #expect(database.hasLongLog)
    try database.moveLog()
    #expect(!database.hasLongLog)
    #expect(OutboxSamples.read(file).count >= before + 16 << 20)
  }

  @Test func aFolderInThePlaceOfTheFileIsNoReadOnlyDisk() throws {
    #expect(mkdir(file, 0o700) == 0)
    defer { rmdir(file) }
    let problem = #expect(throws: StorageProblem.self) { try open() }
    #expect(problem == StorageProblem(.folder, "cannot use \(file): it is a folder, and no file"))
  }

  @Test func everythingOfAnEntrySurvives() throws {
    let entries = [OutboxSamples.full(1), OutboxSamples.plain(2), OutboxSamples.full(9)]
    try open().database.apply(entries.map { .adding($0) })
    let contents = try open()
    #expect(contents.entries == entries)
    #expect(contents.repair == nil)
  }

  @Test func finishedEntryKeepsItsEndAndForgetsItsMessage() throws {
    var entry = OutboxSamples.full(1)
    try open().database.apply([.adding(entry)])
    entry.state = .acked
    entry.ended = 5
    entry.result = Array("1,2".utf8)
    entry.message = PreparedMessage(event: entry.message.event, body: [])
    try open().database.apply([.updating(entry)])
    #expect(try open().entries == [entry])
  }

  /// A disk on which nothing more can be reserved while `isFull`.
  private final class Disk {
    var isFull = false
    private(set) var asked = 0

    func reserve(_ file: Int32, _ end: off_t) -> Int32 {
      asked += 1
      errno = ENOSPC
      return isFull ? -1 : 0
    }
  }

  private func opened(on disk: Disk) throws -> OutboxDatabase {
    try OutboxDatabase(path: file) { disk.reserve($0, $1) }
  }

  private static func ended(_ number: UInt64, answer: Int) -> OutboxEntry {
    var entry = OutboxSamples.plain(number)
    (entry.state, entry.ended, entry.result) = (.acked, 5, [UInt8](repeating: 0x31, count: answer))
    entry.message = PreparedMessage(event: entry.message.event, body: [])
    return entry
  }

  @Test func whatAFullDiskHasNoRoomForHoldsUpNoOutcomeAndComesThereLater() throws {
    let disk = Disk()
    do {
      let database = try opened(on: disk)
      disk.isFull = true
      try database.apply([.addEnded(.init(Self.ended(1, answer: 3))), .updating(Self.ended(2, answer: 3)), .remove(3)])
      #expect(database.load().entries.map(\.number) == [2])
      let postponed = database.postponed
      disk.isFull = false
      try database.apply(postponed)
      #expect(database.postponed.isEmpty)
    }
    #expect(try open().entries == [Self.ended(1, answer: 3), Self.ended(2, answer: 3)])
  }

  @Test func whatAFullDiskHasNoRoomForGoesOnWaitingWhenItChanges() throws {
    let disk = Disk()
    let database = try opened(on: disk)
    disk.isFull = true
    try database.apply([.addEnded(.init(Self.ended(1, answer: 3))), .updating(Self.ended(1, answer: 0))])
    #expect(database.load().entries.isEmpty)
    disk.isFull = false
    try database.apply(database.postponed)
    #expect(database.load().entries == [Self.ended(1, answer: 0)])
  }

  @Test func aFullDiskIsAskedOnceForAllThatWaitsForRoom() throws {
    let disk = Disk()
    let database = try opened(on: disk)
    disk.isFull = true
    try database.apply([.addEnded(.init(Self.ended(1, answer: 3)))])
    let once = disk.asked
    try database.apply((1...100).map { .addEnded(.init(Self.ended($0, answer: 3))) })
    #expect(once > 0 && disk.asked == 2 * once)
  }

  @Test func whatIsRemovedBeforeAFullDiskHasRoomForItDoesNotComeBack() throws {
    let disk = Disk()
    let database = try opened(on: disk)
    disk.isFull = true
    try database.apply([.addEnded(.init(Self.ended(1, answer: 3))), .remove(1)])
    #expect(database.postponed.isEmpty)
  }

  @Test func anOutcomeIsKeptWithoutItsLongAnswerWhereTheDiskIsFull() throws {
    let disk = Disk()
    let database = try opened(on: disk)
    try database.apply((1...2).map { .adding(OutboxSamples.plain($0)) })
    try database.moveLog()
    try database.apply([.updating(Self.ended(1, answer: 16 << 10))])
    disk.isFull = true
    try database.apply([.updating(Self.ended(2, answer: 4 << 20))])
    let kept = database.load().entries
    #expect(kept.map(\.state) == [.acked, .acked])
    #expect(kept.map { $0.result?.count } == [16 << 10, nil])
  }

  @Test func removedEntryIsGone() throws {
    try open().database.apply([.adding(OutboxSamples.plain(1)), .adding(OutboxSamples.plain(2)), .remove(1)])
    #expect(try open().entries.map(\.number) == [2])
  }

  @Test(arguments: 1...4) func changesOfOneTransactionAreMadeInTheirOrderHoweverManyRowsGoTogether(seed: Int) throws {
    var random = SeededRandom(state: UInt64(seed))
    var changes: [OutboxChange] = []
    var model: [UInt64: OutboxEntry] = [:]
    for step in 0..<300 {
      let number = UInt64.random(in: 1...40, using: &random)
      let entry = OutboxSamples.plain(number, bytes: step)
      switch Int.random(in: 0..<12, using: &random) {
      case 0:
        changes.append(.remove(number))
        model[number] = nil
      case 1:
        let old = UInt64.random(in: 1...40, using: &random)
        changes.append(.replace(old, .init(entry)))
        model[old] = nil
        model[number] = entry
      case 2...6:
        changes.append(.updating(entry))
        model[number] = entry
      default:
        changes.append(.adding(entry))
        model[number] = entry
      }
    }
    try open().database.apply(changes)
    #expect(try open().entries == model.values.sorted { $0.number < $1.number })
  }

  @Test func filesAreForTheirOwnerAlone() throws {
    umask(0o077)
    let contents = try open()
    try contents.database.apply([.adding(OutboxSamples.plain(1))])
    for name in folder.names {
      var facts = stat()
      #expect(stat(folder / name, &facts) == 0)
      #expect(facts.st_mode & 0o077 == 0, "\(name)")
    }
  }

  @Test(arguments: ["not a database at all", String(repeating: "SQLite format 3\u{0}", count: 300)])
  func garbageIsSetAside(_ garbage: String) throws {
    OutboxSamples.write(Array(garbage.utf8), to: file)
    let contents = try open()
    #expect(contents.entries == [])
    #expect(contents.repair?.path == file + ".damaged-77")
    #expect(OutboxSamples.read(file + ".damaged-77") == Array(garbage.utf8))
    try contents.database.apply([.adding(OutboxSamples.plain(1))])
  }

  @Test func anotherProgramsDatabaseIsSetAside() throws {
    do {
      let other = try SQLiteDatabase(path: file)
      try other.run("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('precious')")
    }
    let before = OutboxSamples.read(file)
    #expect(try open().repair?.damage == "it is another program's database")
    #expect(OutboxSamples.read(file + ".damaged-77") == before)
  }

  @Test func laterVersionIsRefusedAndLeftAlone() throws {
    try open().database.apply([.adding(OutboxSamples.plain(1))])
    do {
      let later = try SQLiteDatabase(path: file)
      try later.run("PRAGMA user_version=7; ALTER TABLE sends ADD COLUMN surprise")
    }
    let before = OutboxSamples.read(file)
    #expect {
      _ = try open()
    } throws: {
      ($0 as? StorageProblem)?.kind == .future
    }
    #expect(OutboxSamples.read(file) == before)
    #expect(OutboxSamples.read(file + "-wal") == [])
    #expect(folder.names.allSatisfy { [OutboxFile.name, OutboxFile.name + "-wal"].contains($0) })
  }

  @Test(arguments: [
    "entry = zeroblob(length(entry))", "entry = substr(entry, 1, length(entry) - 1)", "entry = x''", "entry = NULL",
    "entry = substr(entry, 1, length(entry) - 8) || zeroblob(8)", "number = 20",
  ])
  func rowThatIsNotWhatWasWrittenIsLeftOut(_ accident: String) throws {
    try open().database.apply((1...3).map { .adding(OutboxSamples.plain($0)) })
    do {
      let database = try SQLiteDatabase(path: file)
      try database.run("UPDATE sends SET \(accident) WHERE number = 2")
    }
    do {
      let contents = try open()
      #expect(contents.entries.map(\.number) == [1, 3])
      #expect(contents.repair == .init(path: file + ".damaged-77", damage: "a row is not what was written", saved: 2))
    }
    #expect(try open().entries.map(\.number) == [1, 3])
  }

  @Test func crashBetweenSettingAsideAndReplacingIsFinishedAtTheNextStart() throws {
    try open().database.apply([.adding(OutboxSamples.plain(4))])
    rename(file, file + ".new")
    OutboxSamples.write([1, 2, 3], to: file + "-wal")
    #expect(try open().entries.map(\.number) == [4])
    #expect(OutboxSamples.read(file + ".damaged-77-wal") == [1, 2, 3])
  }

  @Test func brokenPageInTheMiddleCostsOnlyWhatWasOnIt() throws {
    try open().database.apply((1...200).map { .adding(OutboxSamples.plain($0)) })
    var bytes = OutboxSamples.read(file)
    let page = bytes.count / 4_096 / 2
    for place in page * 4_096..<page * 4_096 + 100 { bytes[place] = 0xff }
    OutboxSamples.write(bytes, to: file)
    let saved = try open().entries
    #expect(saved.count > 170 && saved.count < 200)
    #expect(saved.first?.number == 1 && saved.last?.number == 200)
    #expect(saved.map(\.number) == saved.map(\.number).sorted())
    #expect(saved.allSatisfy { $0 == OutboxSamples.plain($0.number) })
  }
}

/// The same numbers for the same seed (SplitMix64).
private struct SeededRandom: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }
}
