/// Numbers (RFC 8259 section 6) and the three literal names (section 3).
extension JSONScanner {
  /// A number or a literal name.
  @inline(__always)
  static func stepOverScalar(_ text: RawSpan, _ at: inout Int) throws(JSONError) {
    switch byte(text, at) {
    case UInt8(ascii: "t"): try stepOverName(text, &at, "true")
    case UInt8(ascii: "f"): try stepOverName(text, &at, "false")
    case UInt8(ascii: "n"): try stepOverName(text, &at, "null")
    default: try stepOverNumber(text, &at)
    }
  }

  private static func stepOverName(_ text: RawSpan, _ at: inout Int, _ name: StaticString) throws(JSONError) {
    guard bytesEqual(text, at, name) else { throw .syntax(at: at) }
    at &+= name.utf8CodeUnitCount
  }

  private static func stepOverNumber(_ text: RawSpan, _ at: inout Int) throws(JSONError) {
    if byte(text, at) == UInt8(ascii: "-") { at &+= 1 }
    if byte(text, at) == UInt8(ascii: "0") {
      at &+= 1
    } else {
      try stepOverDigits(text, &at)
    }
    if byte(text, at) == UInt8(ascii: ".") {
      at &+= 1
      try stepOverDigits(text, &at)
    }
    if byte(text, at) | 0x20 == UInt8(ascii: "e") {
      at &+= 1
      let sign = byte(text, at)
      if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { at &+= 1 }
      try stepOverDigits(text, &at)
    }
  }

  /// At least one digit.
  @inline(__always)
  private static func stepOverDigits(_ text: RawSpan, _ at: inout Int) throws(JSONError) {
    let start = at
    while byte(text, at) &- UInt8(ascii: "0") < 10 { at &+= 1 }
    guard at > start else { throw .syntax(at: at) }
  }

  /// Whether the bytes at a position are these.
  @inline(__always)
  static func bytesEqual(_ text: RawSpan, _ at: Int, _ expected: StaticString) -> Bool {
    guard expected.utf8CodeUnitCount <= text.byteCount &- at else { return false }
    return expected.withUTF8Buffer { expected in
      for offset in 0..<expected.count where byte(text, at &+ offset) != expected[offset] { return false }
      return true
    }
  }

  /// The value of a scanned number that is written as a plain integer, without fraction and exponent; nil for every
  /// other value and beyond 64 bits.
  public static func integer(_ text: RawSpan, _ range: Range<Int>) -> Int64? {
    var at = range.lowerBound
    let negative = byte(text, at) == UInt8(ascii: "-")
    if negative { at &+= 1 }
    guard at < range.upperBound else { return nil }
    var value: Int64 = 0
    while at < range.upperBound {
      let digit = byte(text, at) &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      let (tenfold, overflowed) = value.multipliedReportingOverflow(by: 10)
      let (sum, carried) =
        negative
        ? tenfold.subtractingReportingOverflow(Int64(digit)) : tenfold.addingReportingOverflow(Int64(digit))
      guard !overflowed, !carried else { return nil }
      value = sum
      at &+= 1
    }
    return value
  }
}
