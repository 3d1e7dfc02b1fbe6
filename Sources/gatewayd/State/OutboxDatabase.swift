import CLinux
import GatewayCore
import Glibc

/// The table of the outbox. For one thread at a time: opened by the thread that starts the daemon, then used by the
/// writer's. Every call that changes something is one transaction, which is on the disk when it returns (write-ahead
/// log with `synchronous=FULL`).
final class OutboxDatabase {
  /// `gwob`, so that no other program's database is taken for ours.
  private static let application: Int64 = 0x6777_6f62
  /// The layout of the tables. A higher number is a later version's, which this one leaves alone. 1 has no checksum in
  /// `OutboxClock`'s table, if it has that at all; up to 4 each member of an entry is a column; in 5 its checksum is one. All
  /// become 6 when they are opened.
  private static let version: Int64 = 6
  /// The last layout with a column for each member.
  private static let lastOfColumns: Int64 = 4

  let path: String
  private let database: SQLiteDatabase
  private let begin: SQLiteDatabase.Statement
  private let commit: SQLiteDatabase.Statement
  private let insertions: OutboxInsertions
  private let delete: SQLiteDatabase.Statement
  private let shift: SQLiteDatabase.Statement
  private let room: OutboxRoom
  /// What the last transaction left out, because the disk has no room for it.
  private var postponedEntries: [UInt64: OutboxChange.Snapshot] = [:]
  /// Entries that follow each other, to be written together. Each ends somewhere in `encoded`.
  private var gathered: [(number: UInt64, end: Int)] = []
  private var encoded = MsgpackRawWriter()
  private static let keptMemory = 64 << 10
  /// By how much the wall clock was set since the file was made, in milliseconds: what all rows lack, so that no row
  /// has to be written for it.
  private(set) var offset: Int64

  /// Why a file is not used.
  enum Refusal: Error, Equatable {
    /// It has to be set aside; the sentence says why.
    case damaged(String)
    /// It stays where it is.
    case unusable(StorageProblem)

    init(_ failure: SQLiteDatabase.Failure, _ path: String) {
      self = failure.isDamage ? .damaged(failure.message) : .unusable(StorageProblem(failure, path))
    }
  }

  /// Opens a file, or makes an empty one.
  init(path: String, _ reserve: @escaping OutboxRoom.Reserve = gw_reserve) throws(Refusal) {
    self.path = path
    let database: SQLiteDatabase
    do throws(SQLiteDatabase.Failure) { database = try SQLiteDatabase(path: path) } catch {
      throw Refusal(error, path)
    }
    self.database = database
    // Until it is known to be ours nothing about it is changed, not even its log.
    database.keepLogOnClose(true)
    do throws(SQLiteDatabase.Failure) {
      // No shared memory beside the file: the folder is locked anyway.
      try database.run("PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON")
      let isNew = try database.number("SELECT count(*) FROM sqlite_schema") == 0
      let version = try database.number("PRAGMA user_version")
      let application = try database.number("PRAGMA application_id")
      if !isNew || version != 0 || application != 0 {
        guard application == Self.application else {
          throw SQLiteDatabase.Failure.damage("it is another program's database")
        }
        guard version <= Self.version else { throw SQLiteDatabase.Failure.future(version) }
        try database.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
        if version < Self.version { try Self.takeOver(database, version) }
      } else {
        try Self.make(database)
      }
      offset = try OutboxClock.read(database)
      try database.run("PRAGMA journal_size_limit=33554432; PRAGMA temp_store=MEMORY")
      database.takeOverLog()
      begin = try database.prepare("BEGIN IMMEDIATE")
      commit = try database.prepare("COMMIT")
      insertions = try OutboxInsertions(database)
      delete = try database.prepare(OutboxRow.removal)
      shift = try database.prepare(OutboxClock.writing)
      room = try OutboxRoom(database, path: path, reserve)
    } catch {
      throw Refusal(error, path)
    }
    database.keepLogOnClose(false)
  }

  private static func make(_ database: SQLiteDatabase) throws(SQLiteDatabase.Failure) {
    try database.run(
      """
      PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; BEGIN IMMEDIATE; PRAGMA application_id=\(application);
      PRAGMA user_version=\(version); \(OutboxRow.table); \(OutboxClock.making(0)); COMMIT
      """)
  }

  /// How the entries of a file are read.
  private typealias Reading = (
    selection: String, row: (SQLiteDatabase.Statement, inout OutboxTarget?) -> OutboxEntry?
  )

  /// `table` is where layout 5 has them.
  private static func reading(of layout: Int64, from table: String = "sends") -> Reading {
    switch layout {
    case ...lastOfColumns: (OutboxColumns.selection(layout), OutboxColumns.read)
    case ..<version: (OutboxChecksumColumn.selection(from: table), OutboxChecksumColumn.read)
    default: (OutboxRow.selection, OutboxRow.read)
    }
  }

  /// Gives a file of an earlier layout the present one, in one step; a row that cannot be read is damage.
  private static func takeOver(_ database: SQLiteDatabase, _ old: Int64) throws(SQLiteDatabase.Failure) {
    let clock = old < 2 ? "DROP TABLE IF EXISTS clock; \(OutboxClock.making(try OutboxClock.readBare(database)));" : ""
    // The table of layout 5 has the name of the present one.
    let renaming = old > lastOfColumns ? "ALTER TABLE sends RENAME TO outbox;" : ""
    try database.run("BEGIN IMMEDIATE; \(clock) \(renaming) \(OutboxRow.table)")
    try moveRows(of: database, reading(of: old, from: "outbox"))
    try database.run("DROP TABLE outbox; PRAGMA user_version=\(version); COMMIT")
  }

  private static func moveRows(of database: SQLiteDatabase, _ reading: Reading) throws(SQLiteDatabase.Failure) {
    let rows = try database.prepare(reading.selection)
    let insert = try database.prepare(OutboxRow.insertion(1))
    var target: OutboxTarget?
    while try rows.step() {
      guard let entry = reading.row(rows, &target) else { throw .damage(spoiledRow) }
      var encoded = MsgpackRawWriter()
      OutboxRow.encode(OutboxChange.Snapshot(entry), into: &encoded)
      try encoded.withBytes { (bytes) throws(SQLiteDatabase.Failure) in
        try OutboxRow.bind(entry.number, bytes, to: insert)
        try insert.run()
      }
    }
  }

  private static let spoiledRow = "a row is not what was written"

  /// The entries of every row that can be read, by number, and what prevented the others from being read; nil if
  /// nothing did.
  func load() -> (entries: [OutboxEntry], damage: String?) {
    Self.load(database, layout: Self.version, offset)
  }

  /// What can be read of a file that cannot be used.
  static func salvage(_ path: String) -> [OutboxEntry] {
    guard let database = try? SQLiteDatabase(path: path) else { return [] }
    database.keepLogOnClose(true)
    // SQLite reads a file that is shorter than it says only for a repair.
    try? database.run("PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF; PRAGMA writable_schema=ON")
    guard (try? database.number("PRAGMA application_id")) == application else { return [] }
    let version = (try? database.number("PRAGMA user_version")) ?? Self.version
    let offset = version < 2 ? try? OutboxClock.readBare(database) : try? OutboxClock.read(database)
    // A file that cannot say by how much the clock was set leaves the instants as they stand in the rows.
    return load(database, layout: version, offset ?? 0).entries
  }

  /// Behind a page that is broken the table is read from its other end.
  private static func load(
    _ database: SQLiteDatabase, layout: Int64, _ offset: Int64
  ) -> (entries: [OutboxEntry], damage: String?) {
    let (selection, readRow) = reading(of: layout)
    var entries: [OutboxEntry] = []
    var isWhole = true
    let damage = read(database, selection, readRow, into: &entries, isWhole: &isWhole)
    if !isWhole {
      var rest: [OutboxEntry] = []
      _ = read(
        database, selection + " DESC", readRow, until: entries.last?.number, into: &rest, isWhole: &isWhole)
      entries += rest.reversed()
    }
    for index in entries.indices { entries[index].move(by: offset) }
    return (entries, damage)
  }

  /// Appends the rows up to the first one that cannot be read, and says why not; rows whose checksum is wrong are left
  /// out and count as damage too.
  private static func read(
    _ database: SQLiteDatabase, _ selection: String,
    _ readRow: (SQLiteDatabase.Statement, inout OutboxTarget?) -> OutboxEntry?, until last: UInt64? = nil,
    into entries: inout [OutboxEntry], isWhole: inout Bool
  ) -> String? {
    var damage: String?
    do throws(SQLiteDatabase.Failure) {
      let rows = try database.prepare(selection)
      var target: OutboxTarget?
      while try rows.step() {
        guard let entry = readRow(rows, &target) else {
          damage = damage ?? spoiledRow
          continue
        }
        if let last, entry.number <= last { break }
        entries.append(entry)
      }
    } catch {
      isWhole = false
      return error.message
    }
    return damage
  }

  /// What the last transaction left out, because the disk has no room for it; all else of it is there.
  var postponed: [OutboxChange] { postponedEntries.values.map { .addEnded($0) } }

  /// Makes all changes last, or none of them. The instants in them lack the `offset` that is given, as those of all
  /// rows do from then on.
  func apply(_ changes: some Sequence<OutboxChange>, offset: Int64? = nil) throws(SQLiteDatabase.Failure) {
    try inOneStep(offset) { () throws(SQLiteDatabase.Failure) in for change in changes { try apply(change) } }
  }

  /// The same of a batch, of which nothing is copied for it.
  func apply(_ batch: OutboxWriter.Batch, offset: Int64) throws(SQLiteDatabase.Failure) {
    try inOneStep(offset) { () throws(SQLiteDatabase.Failure) in
      for index in batch.items.indices { try apply(batch.items[index].change) }
    }
  }

  @inline(__always)
  private func inOneStep(
    _ offset: Int64?, _ change: () throws(SQLiteDatabase.Failure) -> Void
  ) throws(SQLiteDatabase.Failure) {
    if !postponedEntries.isEmpty { postponedEntries = [:] }
    room.begin()
    _ = try begin.step()
    do throws(SQLiteDatabase.Failure) {
      try change()
      try writeGathered()
      if let offset, offset != self.offset {
        try OutboxClock.write(offset, with: shift)
      }
      _ = try commit.step()
      self.offset = offset ?? self.offset
    } catch {
      forgetGathered()
      // Some failures have rolled back already.
      if database.isInTransaction { try? database.run("ROLLBACK") }
      throw error
    }
  }

  private func apply(_ change: OutboxChange) throws(SQLiteDatabase.Failure) {
    switch change {
    case .add(let snapshot): try room.take(gather(snapshot))
    case .addEnded(let snapshot):
      let fits = try room.has(snapshot.entry.cost)
      postponedEntries[snapshot.number] = fits ? nil : snapshot
      if fits { try gather(snapshot) }
    case .update(let snapshot): try update(snapshot)
    case .replace(let number, let snapshot):
      try remove(number)
      try room.take(gather(snapshot))
    case .remove(let number): try remove(number)
    // `OutboxWriter` has added it up.
    case .shift: break
    }
  }

  private func update(_ snapshot: OutboxChange.Snapshot) throws(SQLiteDatabase.Failure) {
    // It still has no row.
    if postponedEntries[snapshot.number] != nil { return try apply(.addEnded(snapshot)) }
    guard let result = snapshot.entry.result, result.count > Self.shortResult, try !room.has(result.count) else {
      try gather(snapshot)
      return
    }
    var bare = snapshot.entry
    bare.result = nil
    try gather(OutboxChange.Snapshot(bare))
  }

  /// An answer for which a row has room where its arguments were.
  private static let shortResult = 128

  /// Returns how many bytes its row has.
  @discardableResult
  private func gather(_ snapshot: OutboxChange.Snapshot) throws(SQLiteDatabase.Failure) -> Int {
    let start = encoded.end
    OutboxRow.encode(snapshot, into: &encoded)
    let size = encoded.end - start
    gathered.append((snapshot.number, encoded.end))
    if gathered.count == OutboxInsertions.mostRows || encoded.end > Self.keptMemory { try writeGathered() }
    return size
  }

  private func writeGathered() throws(SQLiteDatabase.Failure) {
    guard !gathered.isEmpty else { return }
    try insertGathered()
    forgetGathered()
  }

  private func forgetGathered() {
    gathered.removeAll(keepingCapacity: true)
    // Twice as much as ends a group, because it has grown by doubling.
    encoded.clear(keeping: 2 * Self.keptMemory)
  }

  private func insertGathered() throws(SQLiteDatabase.Failure) {
    try encoded.withBytes { (bytes) throws(SQLiteDatabase.Failure) in
      var (next, start) = (0, 0)
      while next < gathered.count {
        let (rows, statement) = try insertions.largest(for: gathered.count - next)
        for row in 0..<rows {
          let (number, end) = gathered[next + row]
          try OutboxRow.bind(number, UnsafeRawBufferPointer(rebasing: bytes[start..<end]), to: statement, row: row)
          start = end
        }
        try statement.run()
        next += rows
      }
    }
  }

  private func remove(_ number: UInt64) throws(SQLiteDatabase.Failure) {
    if !postponedEntries.isEmpty { postponedEntries[number] = nil }
    try writeGathered()
    delete.bind(1, Int64(bitPattern: number))
    _ = try delete.step()
  }

  /// Pages of the write-ahead log at which they move to the file and the log begins anew. Each takes a page of 4 KiB
  /// and a header of 24 bytes.
  private static let logPages = 4_000
  private static let logPageSize = 4_120
  /// A log so short need not move on a disk however small.
  private static let fewPages = 16
  /// Bytes that the log has on the disk, whatever else comes there.
  private var reservedLog = 0

  /// The write-ahead log is so long that it has to move to the file, or has taken half of what the disk had for it.
  var hasLongLog: Bool {
    database.logPages >= Self.logPages || (database.logPages >= Self.fewPages && isLogShortOfDisk)
  }

  private var isLogShortOfDisk: Bool {
    let size = database.logPages * Self.logPageSize
    var facts = statvfs()
    guard size > reservedLog, statvfs(path, &facts) == 0 else { return false }
    let (free, isMore) = Int(clamping: facts.f_bavail).multipliedReportingOverflow(by: Int(clamping: facts.f_frsize))
    return !isMore && free < size
  }

  /// Moves the write-ahead log to the file, which takes some milliseconds: to be called when no caller waits for what
  /// was just written.
  func moveLog() throws(SQLiteDatabase.Failure) {
    defer { room.logMoved() }
    try database.moveLog()
  }

  /// Gives the write-ahead log the room that it is going to take, as far as the disk has it: a sync is quicker when the
  /// file does not grow. What is in it stays; behind that stand zeros, which SQLite takes for the end.
  func reserveLog() {
    let log = open(path + "-wal", O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard log >= 0 else { return }
    defer { close(log) }
    var facts = stat()
    let size = 32 + Self.logPages * Self.logPageSize
    guard fstat(log, &facts) == 0 else { return }
    let rest = off_t(size) - facts.st_size
    if rest <= 0 || posix_fallocate(log, facts.st_size, rest) == 0 { reservedLog = size }
  }

  /// Leaves the write-ahead log beside the file when the database is closed, for an administrator to look at.
  func keepAsItIs() { database.keepLogOnClose(true) }
}
