import Testing

@testable import GatewayCore

/// How long a server wants to be left alone.
@Suite struct HTTPRefusalTests {
  /// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
  private static let example: Int64 = 784_111_777_000

  private func duration(_ text: String, status: Int? = 503, now: Int64 = example) -> Duration? {
    RetryAfter.duration(status, [HTTPHeader(name: "retry-after", value: text)], now: now)
  }

  @Test func secondsAreTakenUpToAnHour() {
    #expect(duration("0") == .zero)
    #expect(duration("120", status: 429) == .seconds(120))
    #expect(duration("3601") == .seconds(3_600))
    #expect(duration("99999999999999999999999") == .seconds(3_600))
  }

  @Test func dateIsTakenAsTheTimeUntilThen() {
    #expect(duration("Sun, 06 Nov 1994 08:50:37 GMT") == .seconds(60))
    #expect(duration("Sun, 06 Nov 1994 08:49:00 GMT") == .zero)
    #expect(duration("Fri, 31 Dec 9999 23:59:59 GMT") == .seconds(3_600))
  }

  @Test func whatMakesNoSenseIsIgnored() {
    for text in ["", "soon", "-5", "1.5", "5 s"] { #expect(duration(text) == nil) }
    for status in [200, 301, 404, 500, nil] { #expect(duration("5", status: status) == nil) }
    #expect(RetryAfter.duration(503, [], now: 0) == nil)
  }
}
