/// One piece of what a Redis server answers, in the order in which it is written; texts as ranges of the bytes. RESP2, as
/// "Redis serialization protocol specification" describes it.
enum RESPNode: Equatable, Sendable {
  /// `+`: a word of the server, such as `OK`.
  case simple(Range<Int>)
  /// `-`: a code and a sentence.
  case error(Range<Int>)
  /// `:`.
  case integer(Int64)
  /// `$`: any bytes.
  case bulk(Range<Int>)
  /// `$-1` or `*-1`.
  case null
  /// `*`: how many values follow.
  case array(Int)
}

/// Reads one node after the other, without building anything.
enum RESPScanner {
  /// Longest line, in bytes: a server's errors are as long as a sentence.
  static let lineLimit = 64 << 10

  /// Reads the node at `at` and leaves `at` behind it; nil, with `at` where it was, where it has not come to its end.
  /// `bytes` begin with the value of which it is a part, and which may have `limit` bytes. `searched` is how much of a
  /// line is known to have no end, for a node that is asked for again.
  @inline(__always)
  static func next(
    _ bytes: RawSpan, _ at: inout Int, searched: inout Int, limit: Int
  ) throws(RESPProblem) -> RESPNode? {
    guard at < bytes.byteCount else { return nil }
    var next = at &+ 1
    let node: RESPNode
    switch JSONScanner.byte(bytes, at) {
    case UInt8(ascii: "$"):
      guard let count = try number(bytes, &next) else { return nil }
      guard count >= 0 else {
        node = try null(count)
        break
      }
      guard count <= Int64(limit &- next &- 2) else { throw .tooLong(limit: limit) }
      let end = next &+ Int(count)
      guard end &+ 2 <= bytes.byteCount else { return nil }
      guard JSONScanner.byte(bytes, end) == carriageReturn, JSONScanner.byte(bytes, end &+ 1) == newline else {
        throw .noLineEnd
      }
      node = .bulk(next..<end)
      next = end &+ 2
    case UInt8(ascii: "*"):
      guard let count = try number(bytes, &next) else { return nil }
      guard count <= Int64(Int32.max) else { throw .tooMany(limit: Int(Int32.max)) }
      node = count < 0 ? try null(count) : .array(Int(count))
    case UInt8(ascii: ":"):
      guard let value = try number(bytes, &next) else { return nil }
      node = .integer(value)
    case UInt8(ascii: "+"):
      guard let range = try line(bytes, &next, searched: &searched) else { return nil }
      node = .simple(range)
    case UInt8(ascii: "-"):
      guard let range = try line(bytes, &next, searched: &searched) else { return nil }
      node = .error(range)
    case let other: throw .unknownType(other)
    }
    at = next
    searched = 0
    return node
  }

  private static let newline = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  private static func null(_ count: Int64) throws(RESPProblem) -> RESPNode {
    guard count == -1 else { throw .malformedNumber }
    return .null
  }

  /// An integer of 64 bits with its line end; nil where that has not come.
  @inline(__always)
  private static func number(_ bytes: RawSpan, _ at: inout Int) throws(RESPProblem) -> Int64? {
    var place = at
    let sign = JSONScanner.byte(bytes, place)
    let isNegative = sign == UInt8(ascii: "-")
    if isNegative || sign == UInt8(ascii: "+") { place &+= 1 }
    let first = place
    // Below zero, where there is one number more.
    var value: Int64 = 0
    while place < bytes.byteCount {
      let byte = JSONScanner.byte(bytes, place)
      let digit = byte &- UInt8(ascii: "0")
      guard digit < 10 else {
        guard byte == carriageReturn, place > first else { throw .malformedNumber }
        guard place &+ 1 < bytes.byteCount else { return nil }
        guard JSONScanner.byte(bytes, place &+ 1) == newline else { throw .noLineEnd }
        guard isNegative || value != .min else { throw .malformedNumber }
        at = place &+ 2
        return isNegative ? value : -value
      }
      let (tenfold, isBeyond) = value.multipliedReportingOverflow(by: 10)
      let (sum, isFarther) = tenfold.subtractingReportingOverflow(Int64(digit))
      // With leading zeros a server could make a number as long as it likes.
      guard !isBeyond, !isFarther, place &- first < 19 else { throw .malformedNumber }
      value = sum
      place &+= 1
    }
    return nil
  }

  /// A text up to its line end; nil where that has not come.
  private static func line(
    _ bytes: RawSpan, _ at: inout Int, searched: inout Int
  ) throws(RESPProblem) -> Range<Int>? {
    let start = at
    var place = start &+ searched
    while place < bytes.byteCount {
      if JSONScanner.byte(bytes, place) == newline {
        guard place > start, JSONScanner.byte(bytes, place &- 1) == carriageReturn else { throw .noLineEnd }
        at = place &+ 1
        return start..<place &- 1
      }
      place &+= 1
      guard place &- start <= lineLimit else { throw .tooLong(limit: lineLimit) }
    }
    searched = place &- start
    return nil
  }
}

/// Why what a server answers cannot be read on.
enum RESPProblem: Error, Equatable, Sendable {
  /// What begins with this byte is no value of RESP2.
  case unknownType(UInt8)
  case malformedNumber
  /// A text that does not end where it has to.
  case noLineEnd
  /// A text, or a value with all that is in it, in bytes.
  case tooLong(limit: Int)
  /// Values in one.
  case tooMany(limit: Int)
  /// Arrays in arrays.
  case tooDeep(limit: Int)
}

extension RESPProblem: CustomStringConvertible {
  /// What is wrong, as a sentence of which the server is the subject.
  var description: String {
    switch self {
    case .unknownType(let byte):
      "sent \(Self.shown(byte)) where a value of RESP has to begin, so it may be no Redis server"
    case .malformedNumber: "sent a number that is none, so it may be no Redis server"
    case .noLineEnd: "sent a text that does not end where it has to, so it may be no Redis server"
    case .tooLong(let limit): "sent more than \(limit) bytes for one value"
    case .tooMany(let limit): "sent an array of more than \(limit) values"
    case .tooDeep(let limit): "sent arrays in arrays on more than \(limit) levels"
    }
  }

  private static func shown(_ byte: UInt8) -> String {
    (0x21...0x7e).contains(byte) ? "“\(Character(UnicodeScalar(byte)))”" : "the byte \(byte)"
  }
}
