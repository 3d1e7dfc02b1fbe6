import Testing

@testable import GatewayCore

@Suite struct DecimalNumberTests {
  private func number(_ text: String) -> UInt64? {
    let bytes = Array(text.utf8)
    return UInt64(decimal: bytes.span.bytes)
  }

  @Test(arguments: [("0", 0), ("007", 7), ("90", 90), ("18446744073709551615", .max)] as [(String, UInt64)])
  func decimalDigitsAreANumber(text: String, value: UInt64) { #expect(number(text) == value) }

  @Test(arguments: ["", "+1", "-1", "1 ", "1.0", "a", "1\u{0}", "18446744073709551616", "99999999999999999999999999"])
  func everythingElseIsNone(text: String) { #expect(number(text) == nil) }
}
