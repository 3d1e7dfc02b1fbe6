/// The two ways of writing binary data in JSON: the local protocol's `{"$bin":"<base64>"}` and Socket.IO's placeholders
/// with separate attachments. Nothing else in a payload is touched, except that line ends between tokens become spaces
/// on the way to local clients, whose protocol is line by line.
enum LocalForm {
  /// Whether text from a server holds a line end, or something that looks like the beginning of a `$…bin` key. Cheap:
  /// most payloads pass with this one look and are handed on as they are.
  static func needsRewriting(_ text: RawSpan, _ range: Range<Int>) -> Bool {
    needsLook(text, range) { byte, _ in byte == 10 || byte == 13 }
  }

  /// Writes a local client's text in the wire form and returns its attachments in the order of their placeholders.
  static func write(
    fromClient text: RawSpan, _ range: Range<Int>, attachmentLimit: Int, into output: inout [UInt8]
  ) throws(MessageProblem) -> [[UInt8]] {
    guard needsLook(text, range, { _, _ in false }) else {
      output.append(text.extracting(range))
      return []
    }
    var edits = PayloadEdits(in: range)
    var attachments: [[UInt8]] = []
    var imitatesPlaceholder = false
    try MarkedObject.forEach(in: text, range) { object throws(MessageProblem) in
      if object.placeholder != nil { imitatesPlaceholder = true }
      switch object.dollars {
      case nil: break
      case 1:
        guard attachments.count < attachmentLimit else {
          throw tooManyBinaries(limit: attachmentLimit)
        }
        edits.replace(object.range, number: attachments.count)
        attachments.append(try attachment(text, object))
      default:
        object.forEachKey { edits.remove(firstDollar(text, $0)) }
      }
    }
    guard attachments.isEmpty || !imitatesPlaceholder else {
      throw .invalid("a message with binary values must not use the key _placeholder, which servers would replace")
    }
    edits.apply(to: text, range, into: &output) { number, output in
      output.append(contentsOf: #"{"_placeholder":true,"num":"#.utf8)
      output.append(decimal: number)
      output.append(UInt8(ascii: "}"))
    }
    return attachments
  }

  // MARK: - Looking

  /// Whether `isWanted` holds for a control character or a backslash and its place, or a string begins with `$`s and
  /// then `b` or an escape.
  @inline(__always)
  static func needsLook(_ text: RawSpan, _ range: Range<Int>, _ isWanted: (UInt8, Int) -> Bool) -> Bool {
    var at = range.lowerBound
    while skipPlain(text, &at, range.upperBound) {
      let byte = JSONScanner.byte(text, at)
      if isWanted(byte, at) || beginsMark(text, at, range.lowerBound) { return true }
      at &+= byte == UInt8(ascii: "\\") ? 2 : 1
    }
    return false
  }

  /// Whether a `$…bin` key may begin in a part of a client's text, of which no more than this may have come. Says yes
  /// to all to which a look at the whole would, and to a little more.
  static func mayBeginMark(_ text: RawSpan, _ range: Range<Int>) -> Bool { mayNeedLook(text, range) { _ in false } }

  /// The same for a server's text: whether a part of it may have to be written anew.
  static func mayNeedRewriting(_ text: RawSpan, _ range: Range<Int>) -> Bool {
    mayNeedLook(text, range) { $0 == 10 || $0 == 13 }
  }

  @inline(__always)
  private static func mayNeedLook(_ text: RawSpan, _ range: Range<Int>, _ isWanted: (UInt8) -> Bool) -> Bool {
    var at = range.lowerBound
    while skipPlain(text, &at, range.upperBound) {
      if isWanted(JSONScanner.byte(text, at)) { return true }
      let isEscape = JSONScanner.byte(text, at) == UInt8(ascii: "\\")
      if at > 0, JSONScanner.byte(text, at - 1) == UInt8(ascii: "\"") {
        let isCut = text.byteCount - at < 6
        if isEscape
          ? isCut || JSONScanner.bytesEqual(text, at, #"\u0024"#) : JSONScanner.byte(text, at) == UInt8(ascii: "$")
        {
          return true
        }
      }
      at &+= isEscape ? 2 : 1
    }
    return false
  }

  /// Steps to the next `$`, backslash or control character, 64, 16 and then eight bytes at a time; false at the end.
  @inline(__always)
  private static func skipPlain(_ text: RawSpan, _ at: inout Int, _ end: Int) -> Bool {
    let start = at
    while at &+ 64 <= end {
      let first = attention(text, at) .| attention(text, at &+ 16)
      let second = attention(text, at &+ 32) .| attention(text, at &+ 48)
      guard ByteMarks.areMissing(in: first .| second) else { break }
      at &+= 64
    }
    while at &+ 16 <= end {
      let marks = attention(text, at)
      at &+= ByteMarks.first(in: marks)
      if !ByteMarks.areMissing(in: marks) { return true }
    }
    // The rest may be looked at together with what was plain before it.
    if end &- start >= 16, ByteMarks.areMissing(in: attention(text, end &- 16)) {
      at = end
      return false
    }
    return skipPlainWords(text, &at, end)
  }

  @inline(__always)
  private static func skipPlainWords(_ text: RawSpan, _ at: inout Int, _ end: Int) -> Bool {
    while at &+ 8 <= end {
      let marked = attention(text.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self).littleEndian)
      guard marked == 0 else {
        at &+= marked.trailingZeroBitCount &>> 3
        return true
      }
      at &+= 8
    }
    while at < end {
      switch JSONScanner.byte(text, at) {
      case UInt8(ascii: "$"), UInt8(ascii: "\\"), ..<0x20: return true
      default: at &+= 1
      }
    }
    return false
  }

  /// The highest bit of each byte that is looked for. Others may have it too, but only above one that rightly has it.
  @inline(__always)
  private static func attention(_ word: UInt64) -> UInt64 {
    ByteMarks.find(.dollar, in: word) & ~word & ByteMarks.highest
  }

  /// Which of 16 bytes are one of these. Bytes outside ASCII are plain here.
  @inline(__always)
  private static func attention(_ text: RawSpan, _ at: Int) -> ByteMarks.Marks {
    typealias Block = SIMD16<UInt8>
    let block = text.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: Block.self)
    return (block .< Block(repeating: 0x20)) .| (block .== Block(repeating: 0x24))
      .| (block .== Block(repeating: 0x5c))
  }

  /// Whether a string that begins right before `at` may be a `$…bin` key.
  private static func beginsMark(_ text: RawSpan, _ at: Int, _ start: Int) -> Bool {
    guard at > start, JSONScanner.byte(text, at - 1) == UInt8(ascii: "\"") else { return false }
    var next = at
    if JSONScanner.byte(text, at) == UInt8(ascii: "\\") {
      guard JSONScanner.bytesEqual(text, at, #"\u0024"#) else { return false }
      next += 6
    }
    while JSONScanner.byte(text, next) == UInt8(ascii: "$") { next += 1 }
    let letter = JSONScanner.byte(text, next)
    return letter == UInt8(ascii: "b") || letter == UInt8(ascii: "\\")
  }

  // MARK: - Details

  static func tooManyBinaries(limit: Int) -> MessageProblem {
    .invalid("a message may hold at most \(limit) binary values")
  }

  /// What stands in the base64 of a `$bin` object.
  static func attachment(_ text: RawSpan, _ object: MarkedObject) throws(MessageProblem) -> [UInt8] {
    let range = try binaryString(text, object)
    // Nearly always it stands there without escapes, and need not be copied.
    let inside = JSONScanner.inside(text, range)
    if let bytes = Base64.decode(text.extracting(inside)) { return bytes }
    let encoded = JSONScanner.decodeBytes(text, range).bytes
    guard encoded.count < inside.count, let bytes = Base64.decode(encoded.span.bytes) else { throw noBase64 }
    return bytes
  }

  /// Where the string of a `$bin` object stands, with its quotes.
  static func binaryString(_ text: RawSpan, _ object: MarkedObject) throws(MessageProblem) -> Range<Int> {
    var at = object.value
    guard object.keyCount == 1, let range = try? JSONScanner.scanString(text, &at) else {
      throw .invalid(#"the value of "$bin" must be a string of base64"#)
    }
    return range
  }

  static let noBase64 = MessageProblem.invalid(#"the value of "$bin" is not canonical base64 with padding"#)

  /// The first character of a key that begins with `$`.
  static func firstDollar(_ text: RawSpan, _ key: Int) -> Range<Int> {
    key + 1..<key + (JSONScanner.byte(text, key + 1) == UInt8(ascii: "\\") ? 7 : 2)
  }
}

/// For upstreams whose JSON knows no binary data.
extension LocalForm {
  /// A server's text in the local form; nil when it is that already, as most is.
  static func plain(fromServer text: RawSpan, _ range: Range<Int>) -> [UInt8]? {
    guard needsRewriting(text, range) else { return nil }
    var edits = PayloadEdits(in: range)
    MarkedObject.forEach(in: text, range) { object in
      if object.dollars != nil { object.forEachKey { edits.insertDollar(at: $0 + 1) } }
    }
    var output: [UInt8] = []
    output.reserveCapacity(range.count + 16)
    edits.apply(to: text, range, into: &output) { _, _ in }
    joinLines(of: text, range, in: &output, from: 0)
    return output
  }

  /// Makes one line of what was written of a server's text: its line ends stand between tokens.
  static func joinLines(of text: RawSpan, _ range: Range<Int>, in output: inout [UInt8], from start: Int) {
    // Without a way out in the middle, so that the processor takes many bytes at a time.
    let hasLineEnd = text.withUnsafeBytes { bytes in
      var found = false
      for byte in UnsafeRawBufferPointer(rebasing: bytes[range]) { found = (byte == 10) || (byte == 13) || found }
      return found
    }
    guard hasLineEnd else { return }
    for index in start..<output.count where output[index] == 10 || output[index] == 13 { output[index] = 32 }
  }

  /// Hands on the text itself where it is its own local form.
  static func withPlain(fromServer text: RawSpan, _ range: Range<Int>, _ body: (RawSpan) -> Void) {
    guard let rewritten = plain(fromServer: text, range) else { return body(text.extracting(range)) }
    body(rewritten.span.bytes)
  }

  /// Writes a local client's text as such servers take it.
  static func writePlain(
    fromClient text: RawSpan, _ range: Range<Int>, into output: inout [UInt8]
  ) throws(MessageProblem) {
    var hasBinary = false
    try MarkedObject.forEach(in: text, range) { object throws(MessageProblem) in
      if object.dollars == 1 { hasBinary = true }
    }
    if hasBinary {
      throw .invalid("this upstream has no binary data inside JSON: leave `$bin` out, or send it as text")
    }
    _ = try write(fromClient: text, range, attachmentLimit: 0, into: &output)
  }

  /// The bytes that a value means which is nothing but `{"$bin":"…"}`; nil for every other value.
  static func binary(_ text: RawSpan, _ range: Range<Int>) throws(MessageProblem) -> [UInt8]? {
    var bytes: [UInt8]?
    try MarkedObject.forEach(in: text, range) { object throws(MessageProblem) in
      if object.dollars == 1, object.range == range { bytes = try attachment(text, object) }
    }
    return bytes
  }
}
