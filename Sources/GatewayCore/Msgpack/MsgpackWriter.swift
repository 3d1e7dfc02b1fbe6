/// Writes validated JSON text in the local form as MessagePack: `{"$bin":"<base64>"}` becomes binary, a key `$$bin`
/// loses its first `$`.
///
/// A number without fraction and exponent becomes an integer, any other the nearest 64-bit float. What would not arrive
/// as it is written is refused: an integer beyond 64 bits, a number beyond the floats, half a surrogate pair.
struct MsgpackWriter: ~Copyable {
  private var output = MsgpackOutput()
  private var binaries = 0
  private let binaryLimit: Int
  /// How many items each array and object of the text has, in the order in which they begin.
  private var counts: ArraySlice<Int> = []
  /// Objects with a meaning in the local form, by where they begin.
  private var marked: [Int: MarkedObject] = [:]

  private init(binaryLimit: Int) { self.binaryLimit = binaryLimit }

  /// One value; white space around it is allowed. `binaryLimit`: most binary values.
  static func write(_ text: RawSpan, binaryLimit: Int) throws(MessageProblem) -> [UInt8] {
    var writer = MsgpackWriter(binaryLimit: binaryLimit)
    writer.counts = counts(text)[...]
    if LocalForm.needsRewriting(text, 0..<text.byteCount) {
      MarkedObject.forEach(in: text, 0..<text.byteCount) { object in
        if object.dollars != nil { writer.marked[object.range.lowerBound] = object }
      }
    }
    writer.output.bytes.reserveCapacity(text.byteCount)
    var at = 0
    JSONScanner.skipWhitespace(text, &at)
    try writer.append(text, &at)
    return writer.output.bytes
  }

  /// Counts without looking at values: a comma belongs to the innermost open container.
  private static func counts(_ text: RawSpan) -> [Int] {
    var counts: [Int] = []
    var open: [Int] = []
    var at = 0
    while at < text.byteCount {
      switch JSONScanner.byte(text, at) {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        open.append(counts.count)
        var next = at + 1
        JSONScanner.skipWhitespace(text, &next)
        let following = JSONScanner.byte(text, next)
        counts.append(following == UInt8(ascii: "}") || following == UInt8(ascii: "]") ? 0 : 1)
      case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
      case UInt8(ascii: ","): if let container = open.last { counts[container] += 1 }
      case UInt8(ascii: "\""):
        at = MarkedObject.endOfString(text, at, text.byteCount)
        continue
      default: break
      }
      at += 1
    }
    return counts
  }

  private static let malformed = MessageProblem.invalid("the arguments are not well-formed JSON")

  /// `at` stands on the value's first byte and is left behind its last.
  private mutating func append(_ text: RawSpan, _ at: inout Int) throws(MessageProblem) {
    switch JSONScanner.byte(text, at) {
    case UInt8(ascii: "{"): try append(object: text, &at)
    case UInt8(ascii: "["): try append(array: text, &at)
    case UInt8(ascii: "\""): try append(string: text, try Self.string(text, &at))
    default:
      let start = at
      do throws(JSONError) { try JSONScanner.stepOverScalar(text, &at) } catch { throw Self.malformed }
      switch JSONScanner.byte(text, start) {
      case UInt8(ascii: "n"): output.null()
      case UInt8(ascii: "t"): output.bool(true)
      case UInt8(ascii: "f"): output.bool(false)
      default: try append(number: text, start..<at)
      }
    }
  }

  // MARK: - Containers

  private mutating func append(array text: RawSpan, _ at: inout Int) throws(MessageProblem) {
    let count = counts.popFirst() ?? 0
    output.array(count)
    guard JSONScanner.openContainer(text, &at, end: UInt8(ascii: "]")) else { return }
    repeat { try append(text, &at) } while try Self.step(text, &at, end: UInt8(ascii: "]"))
  }

  private mutating func append(object text: RawSpan, _ at: inout Int) throws(MessageProblem) {
    let count = counts.popFirst() ?? 0
    let mark = marked[at]
    if let mark, mark.dollars == 1 {
      try append(binary: text, mark)
      at = mark.range.upperBound
      return
    }
    output.map(count)
    guard JSONScanner.openContainer(text, &at, end: UInt8(ascii: "}")) else { return }
    repeat {
      let key: Range<Int>
      do throws(JSONError) { key = try JSONScanner.scanKey(text, &at) } catch { throw Self.malformed }
      try append(string: text, key, droppingFirst: mark == nil ? 0 : 1)
      try append(text, &at)
    } while try Self.step(text, &at, end: UInt8(ascii: "}"))
  }

  private static func step(_ text: RawSpan, _ at: inout Int, end: UInt8) throws(MessageProblem) -> Bool {
    do throws(JSONError) { return try JSONScanner.stepToNext(text, &at, end: end) } catch { throw malformed }
  }

  // MARK: - Leaves

  private static func string(_ text: RawSpan, _ at: inout Int) throws(MessageProblem) -> Range<Int> {
    do throws(JSONError) { return try JSONScanner.scanString(text, &at) } catch { throw malformed }
  }

  private mutating func append(
    string text: RawSpan, _ range: Range<Int>, droppingFirst dropped: Int = 0
  ) throws(MessageProblem) {
    let inside = JSONScanner.inside(text, range)
    guard dropped > 0 || JSONScanner.hasEscape(text, inside) else { return output.string(text.extracting(inside)) }
    let decoded = JSONScanner.decodeBytes(text, range)
    guard decoded.wellFormed else {
      throw .invalid("a string holds half a surrogate pair, which cannot be sent with the msgpack parser")
    }
    output.string(decoded.bytes.span.bytes.extracting(min(dropped, decoded.bytes.count)..<decoded.bytes.count))
  }

  private mutating func append(binary text: RawSpan, _ object: MarkedObject) throws(MessageProblem) {
    binaries += 1
    guard binaries <= binaryLimit else { throw LocalForm.tooManyBinaries(limit: binaryLimit) }
    let bytes = try LocalForm.attachment(text, object)
    output.binary(bytes.span.bytes)
  }

  private mutating func append(number text: RawSpan, _ range: Range<Int>) throws(MessageProblem) {
    if let integer = JSONScanner.integer(text, range), integer != 0 || range.count == 1 {
      return output.integer(integer)
    }
    let digits = text.extracting(range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    if digits != "-0", digits.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || $0 &- UInt8(ascii: "0") < 10 }) {
      guard let unsigned = UInt64(digits) else {
        throw .invalid("an integer beyond 64 bits cannot be sent with the msgpack parser; send it as a string")
      }
      return output.unsigned(unsigned)
    }
    guard let float = Double(digits), float.isFinite else {
      throw .invalid("a number beyond 1.8e308 cannot be sent with the msgpack parser; send it as a string")
    }
    output.float(float)
  }
}
