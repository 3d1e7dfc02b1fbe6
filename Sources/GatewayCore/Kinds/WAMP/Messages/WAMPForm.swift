/// The two ways of writing binary data in JSON: the local protocol's `{"$bin":"<base64>"}` and WAMP's string of U+0000
/// and base64 (WAMP section "Binary conversion of JSON Strings"). Nothing else in a payload is touched, except that
/// line ends between tokens become spaces on the way to local clients.
enum WAMPForm {
  /// Appends a router's text in the local form. A string that begins with U+0000 and is no base64 stays what it is.
  static func write(fromRouter text: RawSpan, _ range: Range<Int>, into output: inout [UInt8]) {
    guard LocalForm.needsLook(text, range, { byte, at in byte == 10 || byte == 13 || beginsBinary(text, at) }) else {
      return output.append(text.extracting(range))
    }
    var edits = PayloadEdits(in: range)
    var unescaped = Unescaped()
    MarkedObject.forEach(in: text, range) { object in
      if object.dollars != nil { object.forEachKey { edits.insertDollar(at: $0 + 1) } }
    }
    forEachBinary(in: text, range) { string, encoded in
      if Base64.isEncoded(text.extracting(encoded)) {
        edits.replace(string.lowerBound..<encoded.lowerBound, by: .binaryBegins)
        edits.replace(encoded.upperBound..<string.upperBound, by: .binaryEnds)
      } else if let number = unescaped.append(text, encoded) {
        edits.replace(string, number: number)
      }
    }
    let start = output.count
    edits.apply(to: text, range, into: &output) { number, output in
      unescaped.write(number, between: .binaryBegins, .binaryEnds, to: &output)
    }
    LocalForm.joinLines(of: text, range, in: &output, from: start)
  }

  /// Appends a local client's text as routers read it. Routers end the session of a client that sends them a string
  /// that begins with U+0000 and is no base64.
  static func write(
    fromClient text: RawSpan, _ range: Range<Int>, into output: inout [UInt8]
  ) throws(MessageProblem) {
    guard LocalForm.needsLook(text, range, { _, at in beginsBinary(text, at) }) else {
      return output.append(text.extracting(range))
    }
    var edits = PayloadEdits(in: range)
    var unescaped = Unescaped()
    try MarkedObject.forEach(in: text, range) { object throws(MessageProblem) in
      switch object.dollars {
      case nil: break
      case 1:
        let encoded = JSONScanner.inside(text, try LocalForm.binaryString(text, object))
        if Base64.isEncoded(text.extracting(encoded)) {
          edits.replace(object.range.lowerBound..<encoded.lowerBound, by: .zeroBegins)
          edits.replace(encoded.upperBound..<object.range.upperBound, by: .zeroEnds)
        } else if let number = unescaped.append(text, encoded) {
          edits.replace(object.range, number: number)
        } else {
          throw LocalForm.noBase64
        }
      default:
        object.forEachKey { edits.remove(LocalForm.firstDollar(text, $0)) }
      }
    }
    var imitatesBinary = false
    forEachBinary(in: text, range) { _, _ in imitatesBinary = true }
    guard !imitatesBinary else {
      throw .invalid(#"in WAMP a string that begins with U+0000 means binary data; write it as {"$bin":"<base64>"}"#)
    }
    edits.apply(to: text, range, into: &output) { number, output in
      unescaped.write(number, between: .zeroBegins, .zeroEnds, to: &output)
    }
  }

  /// Hands a router's text of at most `depth` levels to `body` in the local form, copied only where it has to be
  /// changed, and returns what that returns. False where it has more levels there: binary data is a string in the one
  /// form and an object in the other.
  static func withLocal(_ text: RawSpan, _ range: Range<Int>, depth: Int, _ body: (RawSpan) -> Bool) -> Bool {
    guard LocalForm.needsLook(text, range, { byte, at in byte == 10 || byte == 13 || beginsBinary(text, at) }) else {
      return body(text.extracting(range))
    }
    var local: [UInt8] = []
    write(fromRouter: text, range, into: &local)
    return levels(of: local.span.bytes) <= depth && body(local.span.bytes)
  }

  /// How many levels validated text has: one value, or several with commas between them.
  private static func levels(of text: RawSpan) -> Int {
    var (level, most, at) = (0, 0, 0)
    while at < text.byteCount {
      switch JSONScanner.byte(text, at) {
      case UInt8(ascii: "\""):
        at = MarkedObject.endOfString(text, at, text.byteCount)
        continue
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        level += 1
        most = max(most, level)
      case UInt8(ascii: "]"), UInt8(ascii: "}"): level -= 1
      default: break
      }
      at += 1
    }
    return most
  }

  /// What stands between the brackets of a validated array or object, without the white space at its ends; nil for
  /// anything else.
  static func inside(_ text: RawSpan, _ range: Range<Int>) -> Range<Int>? {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x0a || $0 == 0x0d || $0 == 0x09 }
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, isSpace(JSONScanner.byte(text, start)) { start += 1 }
    while end > start, isSpace(JSONScanner.byte(text, end - 1)) { end -= 1 }
    guard end - start >= 2 else { return nil }
    let opening = JSONScanner.byte(text, start)
    guard opening == UInt8(ascii: "[") || opening == UInt8(ascii: "{") else { return nil }
    (start, end) = (start + 1, end - 1)
    while start < end, isSpace(JSONScanner.byte(text, start)) { start += 1 }
    while end > start, isSpace(JSONScanner.byte(text, end - 1)) { end -= 1 }
    return start..<end
  }

  /// Whether a string that begins right before `at` begins with U+0000, which JSON writes in one way only.
  private static func beginsBinary(_ text: RawSpan, _ at: Int) -> Bool {
    at > 0 && JSONScanner.byte(text, at - 1) == UInt8(ascii: "\"") && JSONScanner.bytesEqual(text, at, #"\u0000"#)
  }

  /// Calls `body` for each string, with its quotes, that begins with U+0000 and is no key, in validated text, and for
  /// what stands in it behind that.
  private static func forEachBinary(
    in text: RawSpan, _ range: Range<Int>, _ body: (_ string: Range<Int>, _ encoded: Range<Int>) -> Void
  ) {
    // U+0000 has one spelling, which begins with a backslash.
    guard JSONScanner.hasEscape(text, range) else { return }
    var at = range.lowerBound
    while at < range.upperBound {
      guard JSONScanner.byte(text, at) == UInt8(ascii: "\"") else {
        at += 1
        continue
      }
      let string = at..<MarkedObject.endOfString(text, at, range.upperBound)
      at = string.upperBound
      guard string.count >= beginning + 1, beginsBinary(text, string.lowerBound + 1) else { continue }
      JSONScanner.skipWhitespace(text, &at)
      guard JSONScanner.byte(text, at) != UInt8(ascii: ":") else { continue }
      body(string, string.lowerBound + beginning..<string.upperBound - 1)
    }
  }

  /// A quote and U+0000, in bytes.
  private static let beginning = 7

  /// Base64 that is escaped in a text, as hardly any is, in one piece of memory.
  private struct Unescaped {
    private var letters: [UInt8] = []
    private var ranges: [Range<Int>] = []

    /// Takes what stands there in a string, and gives it a number. Nil where it means no base64.
    mutating func append(_ text: RawSpan, _ encoded: Range<Int>) -> Int? {
      guard JSONScanner.hasEscape(text, encoded) else { return nil }
      let start = letters.count
      guard read(text, encoded), Base64.isEncoded(letters.span.bytes.extracting(start..<letters.count)) else {
        letters.removeLast(letters.count - start)
        return nil
      }
      ranges.append(start..<letters.count)
      return ranges.count - 1
    }

    /// Up to the first character that is none of ASCII; whether there is none.
    private mutating func read(_ text: RawSpan, _ encoded: Range<Int>) -> Bool {
      var at = encoded.lowerBound
      while at < encoded.upperBound {
        guard let letter = JSONScanner.character(text, &at, end: encoded.upperBound) else { return false }
        letters.append(letter)
      }
      return true
    }

    func write(
      _ number: Int, between begin: PayloadEdits.Insertion, _ end: PayloadEdits.Insertion, to output: inout [UInt8]
    ) {
      output.append(begin.text)
      output.append(letters.span.bytes.extracting(ranges[number]))
      output.append(end.text)
    }
  }
}
