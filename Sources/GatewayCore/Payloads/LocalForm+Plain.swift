/// For upstreams whose JSON knows no binary data.
extension LocalForm {
  /// A server's text in the local form; nil when it is that already, as most is.
  static func plain(fromServer text: RawSpan, _ range: Range<Int>) -> [UInt8]? {
    guard needsRewriting(text, range) else { return nil }
    var output: [UInt8] = []
    output.reserveCapacity(range.count + 16)
    // Without attachments nothing can be malformed.
    _ = try? write(fromServer: text, range, attachments: [], into: &output)
    return output
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
