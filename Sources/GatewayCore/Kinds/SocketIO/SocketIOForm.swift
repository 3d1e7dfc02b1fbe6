/// The local form of a server's payloads: its placeholders become the binary data that they stand for.
enum SocketIOForm {
  /// Writes a server's text in the local form. `attachments` are those of the whole packet. Each may stand in several
  /// places; together with its copies it must not become larger than `byteLimit`. Returns how long the text is, or
  /// would be: one that is longer than `lineLimit` is not written.
  @discardableResult
  static func write(
    fromServer text: RawSpan, _ range: Range<Int>, attachments: [[UInt8]], byteLimit: Int = .max, lineLimit: Int = .max,
    into output: inout [UInt8]
  ) throws(SocketIOFlaw) -> Int {
    var edits = PayloadEdits(in: range)
    var size = range.count
    var lineCount = range.count
    try MarkedObject.forEach(in: text, range) { object throws(SocketIOFlaw) in
      if !attachments.isEmpty, let value = object.placeholder, JSONScanner.bytesEqual(text, value, "true") {
        guard let start = object.number, let number = placeholderNumber(text, start),
          attachments.indices.contains(number)
        else { throw .malformedPlaceholder }
        size += attachments[number].count
        guard size <= byteLimit else { throw .tooManyCopies(limit: byteLimit) }
        edits.replace(object.range, number: number)
        lineCount += binaryMembers + Base64.encodedCount(attachments[number].count) - object.range.count
      } else if object.dollars != nil {
        lineCount += object.keyCount
        object.forEachKey { edits.insertDollar(at: $0 + 1) }
      }
    }
    guard lineCount <= lineLimit else { return lineCount }
    let start = output.count
    output.reserveCapacity(start + lineCount + 16)
    edits.apply(to: text, range, into: &output) { number, output in
      output.append(contentsOf: #"{"$bin":""#.utf8)
      let attachment = attachments[number]
      Base64.encode(attachment.span.bytes, into: &output)
      output.append(contentsOf: #""}"#.utf8)
    }
    LocalForm.joinLines(of: text, range, in: &output, from: start)
    return lineCount
  }

  /// What stands around the base64 of binary data, in bytes.
  private static let binaryMembers = 11

  /// A plain decimal number, as every server writes it.
  private static func placeholderNumber(_ text: RawSpan, _ start: Int) -> Int? {
    var end = start
    while JSONScanner.byte(text, end) &- UInt8(ascii: "0") < 10 { end += 1 }
    switch JSONScanner.byte(text, end) {
    case UInt8(ascii: ","), UInt8(ascii: "}"), 0x20, 0x0a, 0x0d, 0x09: break
    default: return nil
    }
    return JSONScanner.integer(text, start..<end).flatMap(Int.init(exactly:))
  }
}
