/// What JSON has no form for and encoders write all the same, those of Python and Ruby unless they are told otherwise:
/// `NaN`, `Infinity` and `-Infinity`.
enum NonNumbers {
  /// Longest text in which they are replaced, in bytes. A longer message with them is told as one that is too long.
  static let limit = 1 << 20
  /// Bytes of the longest of the words.
  static let wordLimit = 9

  /// The text with `null` in their place, as MessagePack's are told. Nil where there is none behind `start`, and for a
  /// longer text. For a text that is no JSON as it stands: the result may be none either.
  static func replaced(in text: RawSpan, from start: Int = 0) -> [UInt8]? {
    guard text.byteCount <= limit else { return nil }
    var result: [UInt8] = []
    // Of the words only `NaN` is shorter than what takes its place.
    result.append(room: text.byteCount + text.byteCount / 3) { writer in
      var (written, at) = (0, start)
      while let length = next(text, &at) {
        writer.put(text.extracting(written..<at))
        writer.put("null")
        at += length
        written = at
      }
      if written > 0 { writer.put(text.extracting(written..<text.byteCount)) }
    }
    return result.isEmpty ? nil : result
  }

  /// Steps to the next of the words that is in no string, and says how long it is; nil at the end.
  private static func next(_ text: RawSpan, _ at: inout Int) -> Int? {
    while at < text.byteCount {
      switch JSONScanner.byte(text, at) {
      case UInt8(ascii: "\""): skipString(text, &at)
      case UInt8(ascii: "N"), UInt8(ascii: "I"), UInt8(ascii: "-"):
        if let length = length(text, at) { return length }
        at &+= 1
      default: at &+= 1
      }
    }
    return nil
  }

  /// Steps behind the string that begins there, or to the end of the text.
  private static func skipString(_ text: RawSpan, _ at: inout Int) {
    at &+= 1
    while at < text.byteCount {
      switch JSONScanner.byte(text, at) {
      case UInt8(ascii: "\""):
        at &+= 1
        return
      case UInt8(ascii: "\\"): at &+= 2
      default: at &+= 1
      }
    }
  }

  /// How many bytes the word has that stands there; nil where none of them does.
  static func length(_ text: RawSpan, _ at: Int) -> Int? {
    switch JSONScanner.byte(text, at) {
    case UInt8(ascii: "N") where JSONScanner.bytesEqual(text, at, "NaN"): 3
    case UInt8(ascii: "I") where JSONScanner.bytesEqual(text, at, "Infinity"): 8
    case UInt8(ascii: "-") where JSONScanner.bytesEqual(text, at, "-Infinity"): 9
    default: nil
    }
  }
}
