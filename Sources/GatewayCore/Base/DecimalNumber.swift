extension UInt64 {
  /// Nil for what is not one or more decimal digits, or more than 64 bits.
  init?(decimal digits: RawSpan) {
    guard !digits.isEmpty else { return nil }
    var (number, isNumber) = (0 as UInt64, true)
    digits.withUnsafeBytes {
      for byte in $0 {
        let digit = byte &- UInt8(ascii: "0")
        let (tenfold, isBeyond) = number.multipliedReportingOverflow(by: 10)
        let (sum, isFarther) = tenfold.addingReportingOverflow(UInt64(digit))
        isNumber = isNumber && digit < 10 && !isBeyond && !isFarther
        number = sum
      }
    }
    guard isNumber else { return nil }
    self = number
  }
}
