import GatewayCore

/// The table of layout 5, in which the checksum of an `OutboxRow` was a column of its own. It is only read.
enum OutboxChecksumColumn {
  static func selection(from table: String) -> String { "SELECT number, entry, checksum FROM \(table) ORDER BY number" }

  /// The entry of the present row; nil if it is not what was written. `last` is the target of the row before, which
  /// most rows share.
  static func read(_ row: SQLiteDatabase.Statement, last: inout OutboxTarget?) -> OutboxEntry? {
    let number = UInt64(bitPattern: row.integer(0))
    let checksum = UInt64(bitPattern: row.integer(2))
    let isWhole = row.withBytes(1) { bytes in bytes.map { OutboxRow.checksum(number, $0) == checksum } ?? false }
    guard isWhole, let members = row.blob(1) else { return nil }
    return OutboxRow.entry(number, members, last: &last)
  }
}
