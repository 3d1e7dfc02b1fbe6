import GatewayCore

/// An entry of the outbox as a row: its number, and one value that has its members and, in the last eight bytes, the checksum
/// that finds what SQLite cannot, a page whose structure is whole and whose content is not. Decision 0132.
enum OutboxRow {
  /// Without constraints: a statement for several rows that one of them could end has to be undone alone, and for that SQLite
  /// copies each page that it changes.
  static let table = "CREATE TABLE sends (number INTEGER PRIMARY KEY, entry BLOB)"
  static let selection = "SELECT number, entry FROM sends ORDER BY number"

  /// Writes so many rows, each over one of the same number.
  static func insertion(_ rows: Int) -> String {
    "INSERT OR REPLACE INTO sends VALUES " + repeatElement("(?, ?)", count: rows).joined(separator: ", ")
  }

  static let removal = "DELETE FROM sends WHERE number = ?"

  /// Appends the value of an entry.
  static func encode(_ snapshot: OutboxChange.Snapshot, into writer: inout MsgpackRawWriter) {
    let start = writer.end
    snapshot.encode(into: &writer)
    let checksum = writer.withBytes { Self.checksum(snapshot.number, UnsafeRawBufferPointer(rebasing: $0[start...])) }
    writer.append(checksum)
  }

  /// Binds one of the rows of an `insertion`: an entry's number, and what it was encoded as, which stays where it is until the
  /// statement has run.
  static func bind(
    _ number: UInt64, _ encoded: UnsafeRawBufferPointer, to statement: SQLiteDatabase.Statement, row: Int = 0
  ) throws(SQLiteDatabase.Failure) {
    let place = Int32(truncatingIfNeeded: 2 &* row)
    statement.bind(place &+ 1, Int64(bitPattern: number))
    try statement.bind(place &+ 2, borrowedBlob: encoded)
  }

  /// The entry of the present row; nil if it is not what was written. `last` is the target of the row before, which
  /// most rows share.
  static func read(_ row: SQLiteDatabase.Statement, last: inout OutboxTarget?) -> OutboxEntry? {
    let number = UInt64(bitPattern: row.integer(0))
    let members = row.withBytes(1) { bytes in bytes.flatMap { Self.members(number, $0) } }
    return members.flatMap { entry(number, $0, last: &last) }
  }

  /// The entry that has these members; nil if they are none.
  static func entry(_ number: UInt64, _ members: [UInt8], last: inout OutboxTarget?) -> OutboxEntry? {
    guard var entry = OutboxEntry(number: number, encoded: members) else { return nil }
    if let last, last == entry.target { entry.target = last } else { last = entry.target }
    return entry
  }

  /// What stands before the checksum of a value; nil if that is another one.
  private static func members(_ number: UInt64, _ value: UnsafeRawBufferPointer) -> [UInt8]? {
    let end = value.count - MemoryLayout<UInt64>.size
    guard end >= 0 else { return nil }
    let members = UnsafeRawBufferPointer(rebasing: value[..<end])
    let kept = UInt64(littleEndian: value.loadUnaligned(fromByteOffset: end, as: UInt64.self))
    return checksum(number, members) == kept ? [UInt8](members) : nil
  }

  static func checksum(_ number: UInt64, _ members: UnsafeRawBufferPointer) -> UInt64 {
    var checksum = Checksum()
    checksum.add(Int64(bitPattern: number))
    checksum.add(members)
    return UInt64(bitPattern: checksum.value)
  }
}
