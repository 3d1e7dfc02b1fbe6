import Testing

@testable import GatewayCore

/// Sizes and durations, as they are written and as they are read.
struct QuantityTests {
  private func size(_ value: ConfigurationNode.Value) -> Int? {
    try? SettingType<Int>.size(0...Int.max).read(ConfigurationNode(at: TextPosition(line: 1, column: 1), value))
  }

  private func duration(_ text: String) -> Duration? {
    let node = ConfigurationNode(at: TextPosition(line: 1, column: 1), .string(text))
    return try? SettingType<Duration>.duration(milliseconds: 0...Int.max).read(node)
  }

  @Test func sizesCountBytes() {
    #expect(size(.string("0B")) == 0)
    #expect(size(.string("500B")) == 500)
    #expect(size(.string("64KiB")) == 65_536)
    #expect(size(.string("1MiB")) == 1_048_576)
    #expect(size(.string("3GiB")) == 3_221_225_472)
    #expect(size(.integer(77)) == 77)
  }

  @Test func durationsCountMilliseconds() {
    #expect(duration("500ms") == .milliseconds(500))
    #expect(duration("10s") == .seconds(10))
    #expect(duration("5m") == .seconds(300))
    #expect(duration("2h") == .seconds(7_200))
    #expect(duration("007s") == .seconds(7))
  }

  @Test(arguments: ["", "s", "5", "5 s", " 5s", "5S", "1.5s", "-5s", "+5s", "5ss", "5s5", "٥s", "1h30m", "5KiB"])
  func otherFormIsNoDuration(_ text: String) { #expect(duration(text) == nil) }

  @Test func hugeAmountsAreClampedInsteadOfOverflowing() {
    #expect(size(.string("99999999999999999999999B")) == .max)
    #expect(size(.string("9223372036854775807GiB")) == .max)
    #expect(duration("9223372036854775807h") == .milliseconds(Int.max))
  }

  @Test func amountsAreWrittenInTheLargestUnitThatFits() throws {
    let size = try #require(SettingType<Int>.size(0...1).write.value)
    let duration = try #require(SettingType<Duration>.duration(milliseconds: 0...1).write.value)
    #expect(
      [0, 1, 1_023, 1_024, 1_536, 1 << 20, 64 << 20, 5 << 30].map(size) == [
        #""0B""#, #""1B""#, #""1023B""#, #""1KiB""#, #""1536B""#, #""1MiB""#, #""64MiB""#, #""5GiB""#,
      ])
    #expect(
      [0, 1, 999, 1_000, 1_001, 60_000, 90_000, 3_600_000].map { duration(.milliseconds($0)) } == [
        #""0ms""#, #""1ms""#, #""999ms""#, #""1s""#, #""1001ms""#, #""1m""#, #""90s""#, #""1h""#,
      ])
  }

  @Test func textIsWrittenAsATomlString() {
    #expect("a\"b\\c\n\t\u{1}\u{7f}é".tomlString == #""a\"b\\c\n\t\u0001\u007fé""#)
  }
}
