import GatewayCore

/// An entry of the outbox as a row: its number, its members as one value, and the checksum that finds what SQLite cannot, a
/// page whose structure is whole and whose content is not. Decision 0132.
enum OutboxRow {
  /// Without constraints: a statement for several rows that one of them could end has to be undone alone, and for that SQLite
  /// copies each page that it changes.
  static let table = "CREATE TABLE sends (number INTEGER PRIMARY KEY, entry BLOB, checksum INTEGER)"
  static let selection = "SELECT number, entry, checksum FROM sends ORDER BY number"

  /// Writes so many rows, each over one of the same number.
  static func insertion(_ rows: Int) -> String {
    "INSERT OR REPLACE INTO sends VALUES " + repeatElement("(?, ?, ?)", count: rows).joined(separator: ", ")
  }

  static let removal = "DELETE FROM sends WHERE number = ?"

  /// Binds one of the rows of an `insertion`: an entry's number, and what it was encoded as, which stays where it is until the
  /// statement has run.
  static func bind(
    _ number: UInt64, _ encoded: UnsafeRawBufferPointer, to statement: SQLiteDatabase.Statement, row: Int = 0
  ) {
    let number = Int64(bitPattern: number)
    let place = Int32(truncatingIfNeeded: 3 &* row)
    statement.bind(place &+ 1, number)
    statement.bind(place &+ 2, borrowedBlob: encoded)
    statement.bind(place &+ 3, checksum(number, encoded))
  }

  /// The entry of the present row; nil if it is not what was written. `last` is the target of the row before, which
  /// most rows share.
  static func read(_ row: SQLiteDatabase.Statement, last: inout OutboxTarget?) -> OutboxEntry? {
    let number = row.integer(0)
    let isWhole = row.withBytes(1) { bytes in bytes.map { checksum(number, $0) == row.integer(2) } ?? false }
    guard isWhole, let bytes = row.blob(1),
      var entry = OutboxEntry(number: UInt64(bitPattern: number), encoded: bytes)
    else { return nil }
    if let last, last == entry.target { entry.target = last } else { last = entry.target }
    return entry
  }

  private static func checksum(_ number: Int64, _ entry: UnsafeRawBufferPointer) -> Int64 {
    var checksum = Checksum()
    checksum.add(number)
    checksum.add(entry)
    return checksum.value
  }
}
