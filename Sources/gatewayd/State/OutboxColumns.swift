import GatewayCore

/// The table of the layouts 1 to 4, in which each member of an entry was a column. It is only read.
enum OutboxColumns {
  private static let names = [
    "number", "id", "owner", "upstream", "url", "namespace", "event", "body", "attachments", "delivery", "retries",
    "ack_timeout", "coalesce", "key", "fingerprint", "created", "expires", "attempts", "state", "reason", "ended",
    "result", "compress", "gids", "options", "checksum",
  ]

  /// The columns that older layouts lack, and the first layout that has each. Rows of before have nothing there, nor in
  /// their checksums.
  private static let additions: [(column: String, layout: Int64)] = [("gids", 3), ("options", 4)]

  /// Reads all rows of a file of that layout.
  static func selection(_ layout: Int64) -> String {
    let lacking = additions.filter { $0.layout > layout }.map(\.column)
    let columns = names.map { lacking.contains($0) ? "NULL" : $0 }.joined(separator: ",")
    return "SELECT \(columns) FROM outbox ORDER BY number"
  }

  /// The places of the columns that hold integers, as bits.
  private static let integers: UInt32 = [0, 2, 10, 11, 14, 15, 16, 17, 20, 22].reduce(0) { $0 | 1 << $1 }

  /// The place of the first column that older layouts lack; the others follow it.
  private static let firstAdded: Int32 = 23

  private static func isWhole(_ row: SQLiteDatabase.Statement) -> Bool {
    var checksum = Checksum()
    let count = Int32(names.count) - 1
    for column in 0..<count {
      if integers & 1 << UInt32(column) != 0 {
        checksum.add(row.optionalInteger(column))
      } else {
        row.withBytes(column) { if $0 != nil || column < firstAdded { checksum.add($0) } }
      }
    }
    return checksum.value == row.integer(count)
  }

  /// The entry of the present row; nil if it is not what was written. `last` is the target of the row before, which
  /// most rows share.
  static func read(_ row: SQLiteDatabase.Statement, last: inout OutboxTarget?) -> OutboxEntry? {
    guard isWhole(row), var target = target(row), let id = row.text(1),
      let delivery = row.text(9).flatMap(DeliveryLevel.init), let state = row.text(18).flatMap(OutboxState.init),
      let owner = UInt32(exactly: row.integer(2)), let event = row.text(6),
      let attachments = separated(row.blob(8) ?? []), let groups = numbers(row.blob(23) ?? [])
    else { return nil }
    if let last, last == target { target = last } else { last = target }
    var entry = OutboxEntry(
      number: UInt64(bitPattern: row.integer(0)), id: id, owner: owner, target: target,
      message: PreparedMessage(event: event, body: row.blob(7) ?? [], attachments: attachments), delivery: delivery,
      fingerprint: UInt64(bitPattern: row.integer(14)), created: row.integer(15), expires: row.optionalInteger(16))
    entry.groups = groups
    entry.retries = row.optionalInteger(10).map { Int($0) }
    entry.ackTimeout = row.optionalInteger(11)
    entry.coalesce = row.text(12)
    entry.key = row.text(13)
    entry.attempts = Int(row.integer(17))
    entry.state = state
    entry.reason = row.text(19)
    entry.ended = row.optionalInteger(20)
    entry.result = row.blob(21)
    entry.message.compress = row.integer(22) != 0
    return entry
  }

  private static func target(_ row: SQLiteDatabase.Statement) -> OutboxTarget? {
    guard let namespace = row.text(5) else { return nil }
    return OutboxTarget(upstream: row.text(3), url: row.text(4), namespace: namespace, options: row.blob(24))
  }

  /// Nil if it is no whole number of numbers.
  private static func numbers(_ bytes: [UInt8]) -> [UInt32]? {
    guard bytes.count % 4 == 0 else { return nil }
    return stride(from: 0, to: bytes.count, by: 4).map { place in
      bytes[place..<place + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
  }

  /// Nil if the lengths do not fit.
  private static func separated(_ bytes: [UInt8]) -> [[UInt8]]? {
    var parts: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      guard rest.count >= 4 else { return nil }
      let count = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(4)
      guard count <= rest.count else { return nil }
      parts.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return parts
  }
}
