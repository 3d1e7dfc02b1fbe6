import GatewayCore

/// An entry of the outbox as a row: the columns, their order, and the checksum that finds what SQLite cannot, a page
/// whose structure is whole and whose content is not.
enum OutboxRow {
  static let columns = [
    "number", "id", "owner", "upstream", "url", "namespace", "event", "body", "attachments", "delivery", "retries",
    "ack_timeout", "coalesce", "key", "fingerprint", "created", "expires", "attempts", "state", "reason", "ended",
    "result", "compress", "gids", "options", "checksum",
  ]

  /// SQLite's types of the columns.
  static let table = """
    CREATE TABLE outbox (number INTEGER PRIMARY KEY, id TEXT NOT NULL, owner INTEGER NOT NULL, upstream TEXT, url TEXT,
    namespace TEXT NOT NULL, event TEXT NOT NULL, body BLOB, attachments BLOB, delivery TEXT NOT NULL, retries INTEGER,
    ack_timeout INTEGER, coalesce TEXT, key TEXT, fingerprint INTEGER NOT NULL, created INTEGER NOT NULL,
    expires INTEGER, attempts INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, ended INTEGER, result BLOB,
    compress INTEGER NOT NULL, checksum INTEGER NOT NULL, gids BLOB,
    options BLOB)
    """

  /// The columns that older layouts lack, and the first layout that has each. Rows of before have nothing there, nor in
  /// their checksums.
  static let additions: [(column: String, layout: Int64)] = [("gids", 3), ("options", 4)]

  /// Gives the table of a file of an earlier layout the columns that it lacks.
  static func addition(to layout: Int64) -> String {
    additions.filter { $0.layout > layout }.map { "ALTER TABLE outbox ADD COLUMN \($0.column) BLOB;" }
      .joined(separator: " ")
  }

  /// Binds all columns, from the first place on.
  static func bind(_ snapshot: OutboxChange.Snapshot, to statement: SQLiteDatabase.Statement) {
    var checksum = Checksum()
    func integer(_ place: Int32, _ value: Int64?) {
      checksum.add(value)
      statement.bind(place, value)
    }
    func text(_ place: Int32, _ value: String?) {
      guard var value else {
        checksum.add(nil as UnsafeRawBufferPointer?)
        return statement.bind(place, text: nil)
      }
      value.withUTF8 {
        let bytes = UnsafeRawBufferPointer($0)
        checksum.add(bytes)
        statement.bind(place, text: bytes)
      }
    }
    func blob(_ place: Int32, _ value: [UInt8]?) {
      guard let value else {
        checksum.add(nil as UnsafeRawBufferPointer?)
        return statement.bind(place, blob: nil)
      }
      value.withUnsafeBytes {
        checksum.add($0)
        statement.bind(place, blob: $0)
      }
    }
    let (upstream, url): (String?, String?) =
      switch snapshot.entry.target.name {
      case .upstream(let name): (name, nil)
      case .url(let url): (nil, url)
      }
    integer(1, Int64(bitPattern: snapshot.entry.number))
    text(2, snapshot.entry.id)
    integer(3, Int64(snapshot.entry.owner))
    text(4, upstream)
    text(5, url)
    text(6, snapshot.entry.target.namespace)
    text(7, snapshot.entry.message.event)
    let body = snapshot.entry.message.body
    blob(8, body.isEmpty ? nil : body)
    blob(9, snapshot.entry.message.attachments.isEmpty ? nil : joined(snapshot.entry.message.attachments))
    text(10, snapshot.entry.delivery.rawValue)
    integer(11, snapshot.entry.retries.map(Int64.init))
    integer(12, snapshot.entry.ackTimeout)
    text(13, snapshot.entry.coalesce)
    text(14, snapshot.entry.key)
    integer(15, Int64(bitPattern: snapshot.entry.fingerprint))
    integer(16, snapshot.entry.created)
    integer(17, snapshot.entry.expires)
    integer(18, Int64(snapshot.entry.attempts))
    text(19, snapshot.entry.state.rawValue)
    text(20, snapshot.entry.reason)
    integer(21, snapshot.entry.ended)
    blob(22, snapshot.entry.result)
    integer(23, snapshot.entry.message.compress ? 1 : 0)
    if snapshot.entry.groups.isEmpty { statement.bind(24, blob: nil) } else { blob(24, joined(snapshot.entry.groups)) }
    if let options = snapshot.entry.target.options { blob(25, options.text) } else { statement.bind(25, blob: nil) }
    statement.bind(26, checksum.value)
  }

  /// The places of the columns that hold integers, as bits.
  private static let integers: UInt32 = [0, 2, 10, 11, 14, 15, 16, 17, 20, 22].reduce(0) { $0 | 1 << $1 }

  /// The place of the first column that older layouts lack; the others follow it.
  private static let firstAdded: Int32 = 23

  private static func isWhole(_ row: SQLiteDatabase.Statement) -> Bool {
    var checksum = Checksum()
    let count = Int32(columns.count) - 1
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
    switch (row.text(3), row.text(4)) {
    case (let name?, nil): return OutboxTarget(name: .upstream(name), namespace: namespace)
    case (nil, let url?):
      guard let text = row.blob(24) else { return OutboxTarget(name: .url(url), namespace: namespace) }
      guard let options = try? TargetOptions.read(text) else { return nil }
      return OutboxTarget(name: .url(url), namespace: namespace, options: options)
    case (nil, nil), (_?, _?): return nil
    }
  }

  /// Each part behind its length in four bytes, the lowest first.
  private static func joined(_ parts: [[UInt8]]) -> [UInt8] {
    parts.reduce(into: []) { bytes, part in
      append(UInt32(clamping: part.count), to: &bytes)
      bytes += part
    }
  }

  /// Each number in four bytes, the lowest first.
  private static func joined(_ numbers: [UInt32]) -> [UInt8] {
    numbers.reduce(into: []) { bytes, number in append(number, to: &bytes) }
  }

  private static func append(_ number: UInt32, to bytes: inout [UInt8]) {
    for shift in stride(from: UInt32(0), to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
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

/// FNV-1a over the values of a row, eight bytes at a time. It finds accidents, not intent.
struct Checksum {
  private var state: UInt64 = 0xcbf2_9ce4_8422_2325

  var value: Int64 { Int64(bitPattern: state) }

  mutating func add(_ value: Int64?) {
    mix(value == nil ? 0 : 1)
    mix(UInt64(bitPattern: value ?? 0))
  }

  /// A text as its UTF-8.
  mutating func add(_ bytes: UnsafeRawBufferPointer?) {
    mix(bytes == nil ? 0 : 1)
    if let bytes { add(bytes) }
  }

  private mutating func add(_ buffer: UnsafeRawBufferPointer) {
    mix(UInt64(buffer.count))
    var place = 0
    while place &+ 8 <= buffer.count {
      mix(buffer.loadUnaligned(fromByteOffset: place, as: UInt64.self))
      place &+= 8
    }
    var rest: UInt64 = 0
    for byte in buffer[place...] { rest = rest << 8 | UInt64(byte) }
    mix(rest)
  }

  private mutating func mix(_ word: UInt64) {
    state = (state ^ word) &* 0x0000_0100_0000_01b3
    state ^= state >> 32
  }
}
