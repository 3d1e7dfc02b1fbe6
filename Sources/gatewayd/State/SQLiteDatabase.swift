import CSQLite
import GatewayCore

/// One SQLite database, for one thread at a time. Closed when the object goes. Decisions 0046 and 0075.
final class SQLiteDatabase {
  /// A call to SQLite that failed.
  struct Failure: Error, Equatable {
    /// The extended result code, sqlite3.h.
    var code: Int32
    /// SQLite's own words; they never hold values.
    var message: String

    /// The disk has no room.
    var isFull: Bool { code & 0xff == SQLITE_FULL }

    /// The file cannot be opened, read or written: the disk may be why, or whose the file is.
    fileprivate var isOfFiles: Bool {
      [SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN, SQLITE_IOERR].contains(code & 0xff)
    }

    static func full(_ message: String) -> Failure { Failure(code: SQLITE_FULL, message: message) }

    /// The file is no database, its pages contradict each other, or it has other tables than ours.
    var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR].contains(code & 0xff) }

    /// The file is not ours.
    static func damage(_ message: String) -> Failure { Failure(code: SQLITE_NOTADB, message: message) }

    /// A later version wrote it.
    static func future(_ version: Int64) -> Failure {
      Failure(code: SQLITE_SCHEMA, message: "a later version of gatewayd wrote it (layout \(version)); use that one")
    }
  }

  private let handle: OpaquePointer
  /// Once, before the first database. Where SQLite refuses it goes on counting, which only takes time.
  private static let countNoMemory: Void = { _ = gw_count_no_memory() }()

  /// Opens or makes a file that only its owner may read.
  init(path: String) throws(Failure) {
    Self.countNoMemory
    var handle: OpaquePointer?
    let result = sqlite3_open_v2(
      path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    guard result == SQLITE_OK, let handle else {
      let failure = handle.map { Self.failure(of: $0, result) } ?? Failure(code: result, message: "out of memory")
      sqlite3_close_v2(handle)
      throw failure
    }
    self.handle = handle
  }

  deinit { sqlite3_close_v2(handle) }

  /// Runs statements that answer nothing.
  func run(_ text: String) throws(Failure) {
    let result = sqlite3_exec(handle, text, nil, nil, nil)
    guard result == SQLITE_OK else { throw Self.failure(of: handle, result) }
  }

  /// The one number that a statement answers.
  func number(_ text: String) throws(Failure) -> Int64 {
    let statement = try prepare(text)
    return try statement.step() ? statement.integer(0) : 0
  }

  func prepare(_ text: String) throws(Failure) -> Statement {
    var statement: OpaquePointer?
    let result = sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard result == SQLITE_OK, let statement else { throw Self.failure(of: handle, result) }
    return Statement(database: self, statement)
  }

  /// Whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Pages in the write-ahead log, as of the last commit.
  private(set) var logPages = 0

  /// From now on the log's pages move to the file when `moveLog` says so, and not within a commit.
  func takeOverLog() {
    _ = sqlite3_wal_hook(
      handle,
      { me, _, _, pages in
        me.map { Unmanaged<SQLiteDatabase>.fromOpaque($0).takeUnretainedValue().logPages = Int(pages) }
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Moves the log's pages to the file; the next transaction begins the log anew. Where that fails they stay in the
  /// log.
  func moveLog() throws(Failure) {
    let result = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    guard result == SQLITE_OK else { throw Self.failure(of: handle, result) }
    logPages = 0
  }

  /// Whether the write-ahead log stays as it is when the database is closed.
  func keepLogOnClose(_ keep: Bool) { _ = gw_keep_log_on_close(handle, keep ? 1 : 0) }

  private static func failure(of handle: OpaquePointer, _ result: Int32) -> Failure {
    Failure(code: result, message: String(cString: sqlite3_errmsg(handle)))
  }

  /// One prepared statement. Places are counted from 1 when they are bound, and from 0 when they are read.
  final class Statement {
    private let database: SQLiteDatabase
    private let statement: OpaquePointer

    fileprivate init(database: SQLiteDatabase, _ statement: OpaquePointer) {
      self.database = database
      self.statement = statement
    }

    deinit { sqlite3_finalize(statement) }

    /// Nil binds NULL.
    func bind(_ place: Int32, _ value: Int64?) {
      if let value { bind(place, value) } else { sqlite3_bind_null(statement, place) }
    }

    func bind(_ place: Int32, _ value: Int64) { sqlite3_bind_int64(statement, place, value) }

    /// The UTF-8 of a text; nil binds NULL.
    func bind(_ place: Int32, text: UnsafeRawBufferPointer?) {
      guard let text else { return bind(place, nil) }
      _ = gw_bind_text(
        statement, place, text.assumingMemoryBound(to: CChar.self).baseAddress, Int32(clamping: text.count))
    }

    /// Nil binds NULL.
    func bind(_ place: Int32, blob: UnsafeRawBufferPointer?) {
      guard let blob else { return bind(place, nil) }
      _ = gw_bind_blob(statement, place, blob.baseAddress, Int32(clamping: blob.count))
    }

    /// SQLite need not copy it, for which it would allocate memory: it stays where it is until `run` has returned. Throws for
    /// what is longer than a value of SQLite may be, a billion bytes: without it the value would be NULL.
    func bind(_ place: Int32, borrowedBlob blob: UnsafeRawBufferPointer) throws(Failure) {
      let result = gw_bind_borrowed_blob(statement, place, blob.baseAddress, Int32(clamping: blob.count))
      guard result == SQLITE_OK else { throw SQLiteDatabase.failure(of: database.handle, result) }
    }

    /// Runs a statement that answers nothing, and forgets what was bound.
    func run() throws(Failure) {
      defer { sqlite3_clear_bindings(statement) }
      _ = try step()
    }

    /// Goes on to the next row; false behind the last one, where the statement can be bound anew.
    func step() throws(Failure) -> Bool {
      let result = sqlite3_step(statement)
      if result == SQLITE_ROW { return true }
      guard result == SQLITE_DONE else {
        let failure = SQLiteDatabase.failure(of: database.handle, result)
        sqlite3_reset(statement)
        throw failure
      }
      sqlite3_reset(statement)
      return false
    }

    /// Begins from the start; call after reading fewer rows than there are.
    func reset() { sqlite3_reset(statement) }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    /// Nil for NULL; ill-formed UTF-8 is repaired.
    func text(_ column: Int32) -> String? {
      withBytes(column) { bytes in bytes.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// Nil for NULL.
    func blob(_ column: Int32) -> [UInt8]? { withBytes(column) { bytes in bytes.map { [UInt8]($0) } } }

    /// The bytes of a value as they stand in the page; nil for NULL. Valid only during the call.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
      guard !isNull(column) else { return body(nil) }
      let bytes = sqlite3_column_blob(statement, column)
      return body(
        UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(sqlite3_column_bytes(statement, column))))
    }
  }
}

extension StorageProblem {
  /// What an administrator has to know about a failure of SQLite.
  init(_ failure: SQLiteDatabase.Failure, _ path: String) {
    if failure.isOfFiles, let problem = StorageProblem.access(toDatabase: path), problem.kind == .folder {
      self = problem
      return
    }
    let kind: Kind =
      switch failure.code & 0xff {
      case SQLITE_FULL: .full
      case SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN: .readOnly
      case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
      case SQLITE_BUSY, SQLITE_LOCKED: .locked
      case SQLITE_SCHEMA: .future
      default: .failed
      }
    self.init(kind, "\(path): \(failure.message)")
  }
}
