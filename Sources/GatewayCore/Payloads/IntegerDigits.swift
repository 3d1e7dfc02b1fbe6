/// Integers that are too long for some readers of JSON. Python refuses those of more than 4,300 digits (`int` and
/// `sys.set_int_max_str_digits`, since 3.11), and with them the whole message: some of its servers end the connection
/// for that. Fractions and numbers with an exponent are floats to it, and may be as long as they like. Decision 0104.
enum IntegerDigits {
  /// Most digits that Python reads, unless its program says otherwise.
  static let limit = 4300

  /// Refuses what a local program wants to send to servers that may be of that kind.
  static func check(_ text: RawSpan, _ range: Range<Int>) throws(MessageProblem) {
    guard exceedLimit(in: text, range) else { return }
    throw .invalid(
      "an integer has more than \(limit) digits, for which servers end the connection that others share: send it as a string"
    )
  }

  /// Whether there is an integer of more digits within validated text.
  static func exceedLimit(in text: RawSpan, _ range: Range<Int>) -> Bool {
    guard range.count > limit, mayExceedLimit(text, range) else { return false }
    var at = range.lowerBound
    while at < range.upperBound {
      let byte = JSONScanner.byte(text, at)
      if byte == UInt8(ascii: "\"") {
        at = MarkedObject.endOfString(text, at, range.upperBound)
      } else if isDigit(byte) {
        let start = at
        var isInteger = true
        while at < range.upperBound, isPartOfNumber(JSONScanner.byte(text, at)) {
          isInteger = isInteger && isDigit(JSONScanner.byte(text, at))
          at += 1
        }
        if isInteger, at - start > limit { return true }
      } else {
        at += 1
      }
    }
    return false
  }

  /// So many digits in a row, be it in a string, cover one of the places that are looked at.
  private static func mayExceedLimit(_ text: RawSpan, _ range: Range<Int>) -> Bool {
    for place in stride(from: range.lowerBound, to: range.upperBound, by: limit)
    where isDigit(JSONScanner.byte(text, place)) {
      var (start, end) = (place, place)
      while start > range.lowerBound, isDigit(JSONScanner.byte(text, start - 1)) { start -= 1 }
      while end - start <= limit, end < range.upperBound, isDigit(JSONScanner.byte(text, end)) { end += 1 }
      if end - start > limit { return true }
    }
    return false
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  /// Behind its sign and its first digit.
  private static func isPartOfNumber(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "+"), UInt8(ascii: "-"),
      UInt8(ascii: "e"), UInt8(ascii: "E"):
      true
    default: false
    }
  }
}
