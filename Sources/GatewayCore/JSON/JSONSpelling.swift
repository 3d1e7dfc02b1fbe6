extension JSONScanner {
  /// The one spelling of a well-formed text: without white space between its parts, and with only those characters of
  /// strings escaped that have to be. Numbers, the order of members and strings that are no text (half of a surrogate
  /// pair) stay as they are.
  static func respelled(_ text: RawSpan) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(text.byteCount)
    var at = 0
    while at < text.byteCount {
      let next = byte(text, at)
      switch next {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): at &+= 1
      case UInt8(ascii: "\""):
        guard let range = try? scanString(text, &at) else { return text.withUnsafeBytes { [UInt8]($0) } }
        append(text, range, to: &result)
      default:
        result.append(next)
        at &+= 1
      }
    }
    return result
  }

  private static func append(_ text: RawSpan, _ range: Range<Int>, to result: inout [UInt8]) {
    let (bytes, wellFormed) = decodeBytes(text, range)
    guard wellFormed else { return result.append(text.extracting(range)) }
    result.append(UInt8(ascii: "\""))
    bytes.withUnsafeBufferPointer { result.append(escaping: $0) }
    result.append(UInt8(ascii: "\""))
  }
}
