/// Writes MessagePack values as JSON text in the local form, in which binary is `{"$bin":"<base64>"}`.
///
/// Integers keep all their digits. Floats become the shortest text that reads back the same; NaN and the infinities
/// become `null`, as JavaScript writes them. Integer keys become strings. Timestamps and dates become strings in ISO
/// 8601. Other keys, other extensions and text that is not UTF-8 cannot be shown. Decision 0017.
struct MsgpackText: ~Copyable {
  /// What was written so far.
  private(set) var output: [UInt8] = []
  private var binaries = 0
  private let binaryLimit: Int
  private let byteLimit: Int

  /// `binaryLimit`: most binary values; `byteLimit`: most bytes of text, passed by one value at most.
  init(reserving capacity: Int, binaryLimit: Int, byteLimit: Int) {
    output.reserveCapacity(capacity)
    self.binaryLimit = binaryLimit
    self.byteLimit = byteLimit
  }

  var count: Int { output.count }

  /// Gives up the text.
  consuming func finish() -> [UInt8] { output }

  mutating func append(_ byte: UInt8) { output.append(byte) }

  /// Bytes that are to be UTF-8, without quotes.
  mutating func append(bare range: Range<Int>, of bytes: RawSpan) throws(MsgpackProblem) {
    guard bytes.extracting(range).isUTF8 else { throw .undecodable }
    output.append(bytes.extracting(range))
  }

  /// Appends the value at `at` and leaves `at` behind it. `depth` is the number of levels that it may have.
  mutating func append(_ bytes: RawSpan, _ at: inout Int, depth: Int) throws(MsgpackProblem) {
    guard output.count <= byteLimit else { throw .tooLarge }
    // Long arrays are mostly of small numbers.
    if at < bytes.byteCount, case let digit = JSONScanner.byte(bytes, at), digit < 10 {
      output.append(UInt8(ascii: "0") &+ digit)
      at &+= 1
      return
    }
    switch try MsgpackScanner.next(bytes, &at) {
    case .null: output.append("null")
    case .bool(let value): output.append(value ? "true" : "false" as StaticString)
    case .integer(let value): output.append(decimal: value)
    case .unsigned(let value): output.append(decimal: value)
    case .float(let value):
      if value.isFinite { output.append(contentsOf: value.description.utf8) } else { output.append("null") }
    case .string(let range): try append(string: bytes.extracting(range))
    case .binary(let range): try append(binary: bytes.extracting(range), depth: depth)
    case .array(let count):
      guard depth > 0 else { throw .undecodable }
      try append(elements: count, bytes, &at, depth: depth - 1)
    case .map(let count):
      guard depth > 0 else { throw .undecodable }
      try append(members: count, bytes, &at, depth: depth - 1)
    case .extended(let type, let range, let isFixed):
      try append(extended: type, bytes.extracting(range), isFixed: isFixed, depth: depth)
    }
  }

  // MARK: - Containers

  private mutating func append(
    elements count: Int, _ bytes: RawSpan, _ at: inout Int, depth: Int
  ) throws(MsgpackProblem) {
    output.append(UInt8(ascii: "["))
    for index in 0..<count {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      try append(bytes, &at, depth: depth)
    }
    output.append(UInt8(ascii: "]"))
  }

  /// The one key of a map gets a `$` more where it has a meaning in the local form. A map of nothing but such a key,
  /// repeated, would be mistaken by a client that keeps one of equal keys, and cannot be shown; looking ahead for it
  /// would cost a walk over everything in it at each level.
  private mutating func append(
    members count: Int, _ bytes: RawSpan, _ at: inout Int, depth: Int
  ) throws(MsgpackProblem) {
    var repeated: Int?
    output.append(UInt8(ascii: "{"))
    for index in 0..<count {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      let key = try MsgpackScanner.next(bytes, &at)
      let mark = Self.mark(key, bytes)
      repeated = index == 0 || repeated == mark ? mark : nil
      try append(key: key, bytes, isMarked: count == 1 && mark != nil)
      output.append(UInt8(ascii: ":"))
      try append(bytes, &at, depth: depth)
    }
    guard count < 2 || repeated == nil else { throw .undecodable }
    output.append(UInt8(ascii: "}"))
  }

  private mutating func append(
    key: MsgpackScanner.Item, _ bytes: RawSpan, isMarked: Bool
  ) throws(MsgpackProblem) {
    switch key {
    case .string(let range):
      try append(string: bytes.extracting(range), prefix: isMarked ? UInt8(ascii: "$") : nil)
    case .integer(let value):
      output.append(UInt8(ascii: "\""))
      output.append(decimal: value)
      output.append(UInt8(ascii: "\""))
    case .unsigned(let value):
      output.append(UInt8(ascii: "\""))
      output.append(decimal: value)
      output.append(UInt8(ascii: "\""))
    case .null, .bool, .float, .binary, .array, .map, .extended: throw .undecodable
    }
  }

  /// The length of a key that has a meaning in the local form; nil for all others.
  private static func mark(_ key: MsgpackScanner.Item, _ bytes: RawSpan) -> Int? {
    guard case .string(let range) = key, isMark(bytes.extracting(range)) else { return nil }
    return range.count
  }

  /// `^\$+bin$`.
  private static func isMark(_ key: RawSpan) -> Bool {
    let dollars = key.byteCount - 3
    guard dollars > 0, JSONScanner.bytesEqual(key, dollars, "bin") else { return false }
    return (0..<dollars).allSatisfy { JSONScanner.byte(key, $0) == UInt8(ascii: "$") }
  }

  // MARK: - Leaves

  private mutating func append(string: RawSpan, prefix: UInt8? = nil) throws(MsgpackProblem) {
    let left = byteLimit - output.count
    guard string.byteCount <= left else { throw .tooLarge }
    guard string.isUTF8 else { throw .undecodable }
    guard output.append(string: string, prefix: prefix, within: left) else { throw .tooLarge }
  }

  private mutating func append(binary: RawSpan, depth: Int) throws(MsgpackProblem) {
    guard depth > 0 else { throw .undecodable }
    binaries += 1
    guard binaries <= binaryLimit else { throw .tooManyBinaries(limit: binaryLimit) }
    guard output.count + Base64.encodedCount(binary.byteCount) <= byteLimit else { throw .tooLarge }
    output.append(#"{"$bin":""#)
    Base64.encode(binary, into: &output)
    output.append(#""}"#)
  }

  /// Type -1 is the specification's own timestamp. Type 0 is what the reference client's encoder writes for values
  /// that JavaScript alone has: one byte for `undefined`, a fixed length of eight for a date, any other form for an
  /// `ArrayBuffer`.
  private mutating func append(
    extended type: Int8, _ data: RawSpan, isFixed: Bool, depth: Int
  ) throws(MsgpackProblem) {
    switch (type, data.byteCount, isFixed) {
    case (0, 1, true): output.append("null")
    case (0, 8, true): try append(instant: ISOInstant(milliseconds: Int64(bitPattern: Self.number(data, 0..<8))))
    case (0, _, false): try append(binary: data, depth: depth)
    case (-1, 4, true): try append(instant: ISOInstant(seconds: Int64(Self.number(data, 0..<4))))
    case (-1, 8, true):
      let number = Self.number(data, 0..<8)
      try append(instant: ISOInstant(seconds: Int64(number & 0x3_ffff_ffff), nanoseconds: Int(number >> 34)))
    case (-1, 12, false):
      let seconds = Int64(bitPattern: Self.number(data, 4..<12))
      try append(instant: ISOInstant(seconds: seconds, nanoseconds: Int(Self.number(data, 0..<4))))
    default: throw .undecodable
    }
  }

  private mutating func append(instant: ISOInstant?) throws(MsgpackProblem) {
    guard let instant else { throw .undecodable }
    output.append(room: ISOInstant.room + 2) { writer in
      writer.put("\"")
      instant.write(to: &writer)
      writer.put("\"")
    }
  }

  private static func number(_ data: RawSpan, _ range: Range<Int>) -> UInt64 {
    range.reduce(0) { $0 << 8 | UInt64(JSONScanner.byte(data, $1)) }
  }
}
