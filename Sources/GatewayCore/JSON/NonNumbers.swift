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
    var result = text.extracting(0..<start).withUnsafeBytes { [UInt8]($0) }
    result.reserveCapacity(text.byteCount + 64)
    var isFound = false
    var isInString = false
    var at = start
    while at < text.byteCount {
      let byte = JSONScanner.byte(text, at)
      if isInString {
        result.append(byte)
        at += 1
        if byte == UInt8(ascii: "\\"), at < text.byteCount {
          result.append(JSONScanner.byte(text, at))
          at += 1
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
      } else if let length = length(text, at) {
        result += Array("null".utf8)
        at += length
        isFound = true
      } else {
        isInString = byte == UInt8(ascii: "\"")
        result.append(byte)
        at += 1
      }
    }
    return isFound ? result : nil
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
