@testable import GatewayCore
import Testing

@testable import gatewayd

/// By how much the clock was set, as it stands in the file, and files that know less about it.
@Suite struct OutboxLayoutTests {
  private let folder: TemporaryDirectory
  private var file: String { folder / OutboxFile.name }

  init() throws { folder = try TemporaryDirectory() }

  private func open() throws(StorageProblem) -> OutboxFile.Contents {
    try OutboxFile(in: folder.path, now: 77).open()
  }

  private func make(offset: Int64) throws {
    try open().database.apply([.adding(OutboxSamples.plain(1)), .adding(OutboxSamples.plain(2))], offset: offset)
  }

  private func change(_ statement: String) throws { try SQLiteDatabase(path: file).run(statement) }

  @Test func theOffsetIsWhatWasWritten() throws {
    try make(offset: -9_000)
    let contents = try open()
    #expect(contents.database.offset == -9_000)
    #expect(contents.entries == [1, 2].map { OutboxSamples.plain($0).moved(by: -9_000) })
    #expect(contents.repair == nil)
  }

  @Test(arguments: [
    ("UPDATE clock SET offset = offset + 1", "is not what was written"),
    ("UPDATE clock SET checksum = 0", "is not what was written"),
    ("INSERT INTO clock SELECT 1, offset, checksum FROM clock", "is not what was written"),
    ("DELETE FROM clock", "is gone"),
  ])
  func anOffsetThatIsNotWhatWasWrittenIsDamage(_ accident: String, _ damage: String) throws {
    try make(offset: 5_000)
    try change(accident)
    let contents = try open()
    #expect(contents.entries == [OutboxSamples.plain(1), OutboxSamples.plain(2)])
    #expect(
      contents.repair
        == .init(path: file + ".damaged-77", damage: "by how much the clock was set \(damage)", saved: 2))
  }

  private func makeColumns(offset: Int64) throws {
    try OutboxOfColumns.make(file, [OutboxSamples.plain(1), OutboxSamples.plain(2)], offset: offset)
  }

  /// What a daemon of that time left.
  private func makeLayout1(_ clock: String) throws {
    try makeColumns(offset: 0)
    try change(
      "ALTER TABLE outbox DROP COLUMN options; ALTER TABLE outbox DROP COLUMN gids; DROP TABLE clock; \(clock); PRAGMA user_version=1"
    )
  }

  @Test(
    arguments: [
      ("SELECT 1", 0),
      ("CREATE TABLE clock (number INTEGER PRIMARY KEY, offset INTEGER NOT NULL)", 0),
      (
        "CREATE TABLE clock (number INTEGER PRIMARY KEY, offset INTEGER NOT NULL); INSERT INTO clock VALUES (0, 7000)",
        7_000
      ),
    ] as [(String, Int64)])
  func aFileOfLayout1IsTakenOver(_ clock: String, _ offset: Int64) throws {
    try makeLayout1(clock)
    for _ in 0..<2 {
      let contents = try open()
      #expect(contents.database.offset == offset)
      #expect(contents.entries == [1, 2].map { OutboxSamples.plain($0).moved(by: offset) })
      #expect(contents.repair == nil)
    }
    #expect(try SQLiteDatabase(path: file).number("PRAGMA user_version") == 6)
  }

  @Test func aFileOfLayout2IsTakenOverWithItsOffset() throws {
    try makeColumns(offset: 7_000)
    try change("ALTER TABLE outbox DROP COLUMN options; ALTER TABLE outbox DROP COLUMN gids; PRAGMA user_version=2")
    for _ in 0..<2 {
      let contents = try open()
      #expect(contents.entries == [1, 2].map { OutboxSamples.plain($0).moved(by: 7_000) })
      #expect(contents.repair == nil)
    }
  }

  @Test(arguments: [3, 4])
  func aFileWithAColumnForEachMemberIsTakenOver(_ layout: Int) throws {
    try makeColumns(offset: 7_000)
    if layout == 3 { try change("ALTER TABLE outbox DROP COLUMN options; PRAGMA user_version=3") }
    for _ in 0..<2 {
      let contents = try open()
      #expect(contents.entries == [1, 2].map { OutboxSamples.plain($0).moved(by: 7_000) })
      #expect(contents.repair == nil)
    }
  }

  /// What an entry was in layout 5: the same members, and their checksum in a column.
  private func makeChecksumColumn(offset: Int64) throws {
    try make(offset: offset)
    let database = try SQLiteDatabase(path: file)
    try database.run(
      """
      BEGIN; ALTER TABLE sends RENAME TO made; PRAGMA user_version=5;
      CREATE TABLE sends (number INTEGER PRIMARY KEY, entry BLOB NOT NULL, checksum INTEGER NOT NULL)
      """)
    let rows = try database.prepare("SELECT number, entry FROM made")
    while try rows.step() {
      let checksum = try #require(rows.blob(1)).suffix(8).reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
      try database.run(
        """
        INSERT INTO sends SELECT number, substr(entry, 1, length(entry) - 8), \(Int64(bitPattern: checksum)) FROM made
        WHERE number = \(rows.integer(0))
        """)
    }
    try database.run("DROP TABLE made; COMMIT")
  }

  @Test func aFileWithAColumnForTheChecksumIsTakenOver() throws {
    try makeChecksumColumn(offset: 7_000)
    for _ in 0..<2 {
      let contents = try open()
      #expect(contents.entries == [1, 2].map { OutboxSamples.plain($0).moved(by: 7_000) })
      #expect(contents.repair == nil)
    }
    #expect(try SQLiteDatabase(path: file).number("PRAGMA user_version") == 6)
  }

  @Test(arguments: ["checksum = checksum + 1", "entry = zeroblob(length(entry))"])
  func aFileWithAColumnForTheChecksumAndASpoiledRowIsSetAsideAndTheOtherRowsComeOver(_ accident: String) throws {
    try makeChecksumColumn(offset: 7_000)
    try change("UPDATE sends SET \(accident) WHERE number = 1")
    let contents = try open()
    #expect(contents.entries == [OutboxSamples.plain(2).moved(by: 7_000)])
    #expect(contents.repair == .init(path: file + ".damaged-77", damage: "a row is not what was written", saved: 1))
  }

  @Test func whatVersion110LeftComesBackMemberByMember() throws {
    try OutboxOfColumns.makeFileOf110(file)
    let contents = try open()
    #expect(contents.repair == nil)
    let entries = contents.entries
    #expect(entries.map(\.id) == (1...4).map { "156e2cff-e26e-\($0)" })
    #expect(entries.map(\.groups) == [[0], [0], [0], [0]])
    #expect(entries.map(\.state) == [.queued, .queued, .cancelled, .queued])
    #expect(entries.map(\.created) == [1_795_692_678_102, 1_795_692_678_109, 1_795_692_678_150, 1_795_692_694_084])
    #expect(entries[0].message == PreparedMessage(event: "news", body: Array(#"["news",{"a":1.0,"b":"é"},7]"#.utf8)))
    #expect(entries[0].target == OutboxTarget(name: .upstream("chat"), namespace: "/"))
    let keyed = entries[1]
    #expect((keyed.retries, keyed.ackTimeout, keyed.coalesce, keyed.key) == (3, 2_000, "c1", "k1"))
    #expect(keyed.fingerprint == UInt64(bitPattern: -8_093_472_534_061_594_100))
    #expect(!keyed.message.compress && keyed.expires == 1_795_696_278_108 && keyed.target.namespace == "/room")
    #expect(entries[2].ended == 1_795_692_678_662)
    let options = try TargetOptions.read(Array(#"{"path":"/chat/","tls":{"verify":false}}"#.utf8))
    #expect(entries[3].message.attachments == [[0, 255, 7]])
    #expect(entries[3].target == OutboxTarget(name: .url("https://127.0.0.1:9/n"), namespace: "/n", options: options))
  }

  @Test func aFileWithColumnsAndASpoiledRowIsSetAsideAndTheOtherRowsComeOver() throws {
    try makeColumns(offset: 0)
    try change("UPDATE outbox SET body = zeroblob(200) WHERE number = 1")
    do {
      let contents = try open()
      #expect(contents.entries == [OutboxSamples.plain(2)])
      #expect(contents.repair == .init(path: file + ".damaged-77", damage: "a row is not what was written", saved: 1))
    }
    // One at a time has the file.
    #expect(try open().entries == [OutboxSamples.plain(2)])
  }

  @Test func optionsOfATargetComeBack() throws {
    var entry = OutboxSamples.plain(1)
    let options = try #require(try TargetOptions.read(Array(#"{"path":"/chat/","tls":{"verify":false}}"#.utf8)))
    entry.target = OutboxTarget(name: .url("https://chat.example"), namespace: "/", options: options)
    try open().database.apply([.adding(entry)], offset: 0)
    #expect(try open().entries == [entry])
  }

  @Test func aDamagedFileOfLayout1KeepsItsOffset() throws {
    try makeLayout1(
      "CREATE TABLE clock (number INTEGER PRIMARY KEY, offset INTEGER NOT NULL); INSERT INTO clock VALUES (0, 7000)")
    try change("UPDATE outbox SET body = zeroblob(200) WHERE number = 1")
    let contents = try open()
    #expect(contents.entries == [OutboxSamples.plain(2).moved(by: 7_000)])
    #expect(contents.repair?.saved == 1)
  }
}
