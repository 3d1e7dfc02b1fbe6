/// How a server writes the offsets of connection state recovery. That depends on its adapter and is said nowhere, so it
/// is learnt from the first one.
enum OffsetShape: Equatable, Sendable {
  /// None was seen yet.
  case unknown
  /// Of the adapter in memory: a time in base 64, maybe with a counter, such as `Q7yBO7n.1`. The milliseconds of the
  /// last one.
  case time(UInt64)
  /// An id of a Redis stream, such as `1732195000000-0`.
  case stream
  /// A MongoDB object id, 24 hexadecimal digits.
  case object
  /// A decimal number.
  case number
  /// Any other single word.
  case word

  /// Longest offset, in bytes.
  static let lengthLimit = 128
  /// How far a time may be from the one before it, in milliseconds: 30 days. Most words of seven letters are farther.
  private static let timeDistance: UInt64 = 30 * 24 * 3_600_000

  /// Whether a string at the end of an event may be its offset.
  func admits(_ text: String) -> Bool {
    let other = Self.shape(of: text)
    switch (self, other) {
    case (.unknown, _), (.word, _), (.stream, .stream), (.object, .object), (.number, .number): return true
    case (.time(let last), .time(let time)): return max(last, time) - min(last, time) <= Self.timeDistance
    case (.time, _), (.stream, _), (.object, _), (.number, _): return false
    }
  }

  /// What is known after an offset that was admitted.
  func learning(_ offset: String) -> OffsetShape {
    switch self {
    case .unknown, .time: Self.shape(of: offset)
    case .stream, .object, .number, .word: self
    }
  }

  private static func shape(of text: String) -> OffsetShape {
    let bytes = Array(text.utf8)
    let halves = bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    if bytes.allSatisfy(isDigit) { return .number }
    if halves.count == 2, halves.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isDigit) }) { return .stream }
    if bytes.count == 24, bytes.allSatisfy(isHexadecimal) { return .object }
    return time(bytes).map(OffsetShape.time) ?? .word
  }

  /// Seven digits in base 64, maybe with others behind a dot; they reach from 1972 to 2109.
  private static func time(_ bytes: [UInt8]) -> UInt64? {
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isBase64) }), let time = parts.first,
      time.count == 7
    else { return nil }
    return time.reduce(0) { $0 &* 64 &+ digit($1) }
  }

  /// The value of a digit: figures, capitals, small letters, `-` and `_`.
  private static func digit(_ byte: UInt8) -> UInt64 {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt64(byte - UInt8(ascii: "A") + 10)
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt64(byte - UInt8(ascii: "a") + 36)
    case UInt8(ascii: "-"): 62
    default: 63
    }
  }

  /// The last of several arguments, when it is one word in quotes.
  static func lastToken(_ arguments: RawSpan) -> SocketIORecovery.Found? {
    let quote = UInt8(ascii: "\"")
    var start = arguments.byteCount - 2
    guard start >= 0, JSONScanner.byte(arguments, arguments.byteCount - 1) == quote else { return nil }
    while start >= 0, isWordCharacter(JSONScanner.byte(arguments, start)) { start -= 1 }
    let length = arguments.byteCount - 2 - start
    guard start >= 0, JSONScanner.byte(arguments, start) == quote, (1...lengthLimit).contains(length) else {
      return nil
    }
    // An escaped quote has a backslash before it, the beginning of an argument only a comma and spaces.
    var end = start
    while end > 0, JSONScanner.byte(arguments, end - 1) <= 32 { end -= 1 }
    if end > 0 {
      guard JSONScanner.byte(arguments, end - 1) == UInt8(ascii: ",") else { return nil }
      end -= 1
      while end > 0, JSONScanner.byte(arguments, end - 1) <= 32 { end -= 1 }
    }
    let word = arguments.extracting(start + 1..<start + 1 + length)
    return .init(offset: word.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, end: end)
  }

  private static func isWordCharacter(_ byte: UInt8) -> Bool {
    isBase64(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "+")
      || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "=")
  }

  private static func isBase64(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: "_")
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }
}
