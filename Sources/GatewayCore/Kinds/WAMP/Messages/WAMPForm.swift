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
    var binaries: [[UInt8]] = []
    MarkedObject.forEach(in: text, range) { object in
      if object.dollars != nil { object.forEachKey { edits.insertDollar(at: $0 + 1) } }
    }
    forEachBinary(in: text, range) { string in
      let encoded = Array(JSONScanner.decodeBytes(text, string).bytes.dropFirst())
      guard Base64.decode(encoded.span.bytes) != nil else { return }
      edits.replace(string, number: binaries.count)
      binaries.append(encoded)
    }
    let start = output.count
    edits.apply(to: text, range, into: &output) { number, output in
      output.append(#"{"$bin":""#)
      output += binaries[number]
      output.append(#""}"#)
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
    var binaries: [[UInt8]] = []
    try MarkedObject.forEach(in: text, range) { object throws(MessageProblem) in
      switch object.dollars {
      case nil: break
      case 1:
        edits.replace(object.range, number: binaries.count)
        binaries.append(try LocalForm.attachment(text, object))
      default:
        object.forEachKey { edits.remove(LocalForm.firstDollar(text, $0)) }
      }
    }
    var imitatesBinary = false
    forEachBinary(in: text, range) { _ in imitatesBinary = true }
    guard !imitatesBinary else {
      throw .invalid(#"in WAMP a string that begins with U+0000 means binary data; write it as {"$bin":"<base64>"}"#)
    }
    edits.apply(to: text, range, into: &output) { number, output in
      output.append(#""\u0000"#)
      let data = binaries[number]
      Base64.encode(data.span.bytes, into: &output)
      output.append(UInt8(ascii: "\""))
    }
  }

  /// Hands a router's text to `body` in the local form, copied only where it has to be changed.
  static func withLocal(_ text: RawSpan, _ range: Range<Int>, _ body: (RawSpan) -> Void) {
    guard LocalForm.needsLook(text, range, { byte, at in byte == 10 || byte == 13 || beginsBinary(text, at) }) else {
      return body(text.extracting(range))
    }
    var local: [UInt8] = []
    write(fromRouter: text, range, into: &local)
    body(local.span.bytes)
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

  /// Calls `body` for each string, with its quotes, that begins with U+0000 and is no key, in validated text.
  private static func forEachBinary(in text: RawSpan, _ range: Range<Int>, _ body: (Range<Int>) -> Void) {
    var at = range.lowerBound
    while at < range.upperBound {
      guard JSONScanner.byte(text, at) == UInt8(ascii: "\"") else {
        at += 1
        continue
      }
      let string = at..<MarkedObject.endOfString(text, at, range.upperBound)
      at = string.upperBound
      JSONScanner.skipWhitespace(text, &at)
      if beginsBinary(text, string.lowerBound + 1), JSONScanner.byte(text, at) != UInt8(ascii: ":") { body(string) }
    }
  }
}
