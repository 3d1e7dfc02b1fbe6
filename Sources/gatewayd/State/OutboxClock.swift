import GatewayCore

/// The table beside the outbox with by how much the wall clock was set since the file was made, in milliseconds. It has
/// exactly one row, from the first moment on, with a checksum as every row of the outbox has one. Decision 0070.
enum OutboxClock {
  /// Makes the table, in a transaction of the caller's.
  static func making(_ offset: Int64) -> String {
    """
    CREATE TABLE clock (number INTEGER PRIMARY KEY, offset INTEGER NOT NULL, checksum INTEGER NOT NULL);
    INSERT INTO clock VALUES (0, \(offset), \(checksum(offset)))
    """
  }

  /// The statement that `write` runs.
  static let writing = "INSERT OR REPLACE INTO clock VALUES (0, ?, ?)"

  static func write(_ offset: Int64, with statement: SQLiteDatabase.Statement) throws(SQLiteDatabase.Failure) {
    statement.bind(1, offset)
    statement.bind(2, checksum(offset))
    _ = try statement.step()
  }

  /// Throws where it is not what was written: damage, like that of any other row.
  static func read(_ database: SQLiteDatabase) throws(SQLiteDatabase.Failure) -> Int64 {
    let rows = try database.prepare("SELECT offset, checksum FROM clock")
    guard try rows.step() else { throw .damage("by how much the clock was set is gone") }
    let offset = rows.integer(0)
    let isWhole = rows.integer(1) == checksum(offset)
    let isAlone = try !rows.step()
    guard isWhole, isAlone else { throw .damage("by how much the clock was set is not what was written") }
    return offset
  }

  /// As files of layout 1 have it: without a checksum, in at most one row, or without the table.
  static func readBare(_ database: SQLiteDatabase) throws(SQLiteDatabase.Failure) -> Int64 {
    guard try database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'clock'") > 0 else { return 0 }
    return try database.number("SELECT coalesce(sum(offset), 0) FROM clock")
  }

  private static func checksum(_ offset: Int64) -> Int64 {
    var checksum = Checksum()
    checksum.add(offset)
    return checksum.value
  }
}
