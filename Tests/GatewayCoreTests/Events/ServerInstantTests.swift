import Testing

@testable import GatewayCore

/// The server's time among the arguments of a message.
@Suite struct ServerInstantTests {
  private func find(_ arguments: String, _ change: (inout ServerTimeSettings) -> Void = { _ in }) -> ClosedRange<Int64>?
  {
    var settings = ServerTimeSettings()
    change(&settings)
    let bytes = [UInt8](arguments.utf8)
    return ServerInstant.find(in: bytes.span.bytes, settings)
  }

  /// The interval in microseconds since the start of 2026-11-21T16:00:00Z.
  private func micros(_ range: ClosedRange<Int64>?) -> [Int64]? {
    range.map { [$0.lowerBound / 1_000 - 1_795_276_800_000_000, $0.upperBound / 1_000 - 1_795_276_800_000_000] }
  }

  @Test func aNumberIsReadInItsUnit() {
    #expect(micros(find("1795276800250")) == [249_500, 251_000])
    #expect(micros(find("1795276800", { $0.unit = .seconds })) == [-500_000, 1_000_000])
    #expect(micros(find("1795276800.25", { $0.unit = .seconds })) == [249_500, 251_000])
    #expect(micros(find("1795276800000025", { $0.unit = .microseconds })) == [24, 26])
    #expect(micros(find("1.79527680025e12")) == [249_500, 251_000])
    #expect(micros(find(#""1795276800250""#)) == [249_500, 251_000])
  }

  @Test(arguments: [
    "2026-11-21T16:00:00.250Z", "2026-11-21 16:00:00.250", "2026-11-21T18:00:00.250+02:00",
    "2026-11-21T10:30:00.250-0530",
    "2026-11-21T16:00:00.250z",
  ])
  func aTextInISO8601NeedsNoUnit(_ text: String) {
    #expect(micros(find("\"\(text)\"", { $0.unit = .seconds })) == [249_500, 251_000])
  }

  @Test func theLastDigitOfATextSaysHowExactItIs() {
    #expect(micros(find(#""2026-11-21T16:00:00Z""#)) == [-500_000, 1_000_000])
    #expect(micros(find(#""2026-11-21T16:00:00.2Z""#)) == [150_000, 300_000])
    #expect(micros(find(#""2026-11-21T16:00:00.250000123456Z""#)) == [250_000, 250_000])
  }

  @Test func theFirstArgumentThatIsATimeCounts() {
    #expect(micros(find("null,1795276800250")) == [249_500, 251_000])
    #expect(micros(find(#""pong",{},[],true,1795276800250,1"#)) == [249_500, 251_000])
  }

  @Test func aMemberIsLookedUpAlongItsPath() {
    #expect(micros(find(#"{"a":1,"now":1795276800250}"#, { $0.member = "now" })) == [249_500, 251_000])
    #expect(micros(find(#"null,{"d":{"now":1795276800250}}"#, { $0.member = "d.now" })) == [249_500, 251_000])
    #expect(find("1795276800250", { $0.member = "now" }) == nil)
    #expect(find(#"{"d":1795276800250}"#, { $0.member = "d.now" }) == nil)
  }

  @Test(arguments: [
    "", "null", "true", "{}", "[]", #""soon""#, "-1", "1e30", "99999999999999999999", #""""#, #""0x10""#, #""inf""#,
    #""nan""#, #""1969-12-31T23:59:59Z""#, #""2200-01-01T00:00:00Z""#, #""2199-12-31T23:59:59-0001""#,
    #""2026-13-01T00:00:00Z""#,
    #""2026-02-29T00:00:00Z""#, #""2026-11-21T24:00:00Z""#, #""2026-11-21T16:00:00.Z""#, #""2026-11-21T16:00:00+2""#,
    #""2026-11-21T16:00:00+24:00""#, #""2026-11-21T16:00:00Zulu""#, #""2026/11/21 16:00:00Z""#, "1,", "]",
    "7258118400000",
  ])
  func whatIsNoTimeIsPassedOver(_ arguments: String) {
    #expect(find(arguments) == nil)
  }

  @Test func longArgumentsAreNotLookedInto() {
    let padding = String(repeating: "x", count: ServerInstant.sizeLimit)
    #expect(find("1795276800250,\"\(padding)\"") == nil)
  }
}
