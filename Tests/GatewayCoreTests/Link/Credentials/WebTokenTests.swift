import Testing

@testable import GatewayCore

/// A token whose claims are this JSON. The signature is not looked at.
func webToken(_ claims: String, header: String = #"{"alg":"HS256"}"#) -> String {
  func part(_ text: String) -> String {
    var encoded: [UInt8] = []
    Base64.encode(Array(text.utf8).span.bytes, into: &encoded)
    return String(decoding: encoded, as: UTF8.self).map { $0 == "+" ? "-" : $0 == "/" ? "_" : "\($0)" }.joined()
      .split(separator: "=").joined()
  }
  return "\(part(header)).\(part(claims)).c2lnbmF0dXJl"
}

@Suite struct WebTokenTests {
  @Test(arguments: [
    (#"{"exp":1700000000}"#, 1_700_000_000.0, nil as Double?),
    (#"{"exp":1.7e9,"iat":1600000000.5}"#, 1_700_000_000, 1_600_000_000.5),
    (#"{"sub":"ÿ?~>","exp":0,"iat":"x"}"#, 0, nil),
  ])
  func claimsAreRead(_ claims: String, _ expires: Double, _ issued: Double?) {
    #expect(WebToken(webToken(claims)) == WebToken(expires: expires, issued: issued))
    #expect(WebToken("Bearer " + webToken(claims)) == WebToken(expires: expires, issued: issued))
  }

  @Test(arguments: [
    "", ".", "..", "a.b.c", "a.b", "abc", webToken("{}"), webToken(#"{"exp":"1"}"#), webToken(#"{"exp":-1}"#),
    webToken(#"{"exp":1e300}"#), webToken("[1]"), webToken("no json"), webToken(#"{"exp":1}"#, header: "no json"),
    webToken(#"{"exp":1}"#) + ".x", webToken(#"{"exp":1}"#) + "!", " " + webToken(#"{"exp":1}"#),
  ])
  func whatIsNoTokenWithAnEndIsNone(_ text: String) { #expect(WebToken(text) == nil) }

  @Test func theTokenThatExpiresFirstCounts() {
    let payload = #"{"a":"\#(webToken(#"{"exp":30}"#))","b":5,"c":"\#(webToken(#"{"exp":20}"#))","d":"x"}"#
    #expect(WebToken.earliest(in: Array(payload.utf8)) == WebToken(expires: 20, issued: nil))
    #expect(WebToken.earliest(in: Array(#"{"token":"abc"}"#.utf8)) == nil)
    #expect(WebToken.earliest(in: [0xff]) == nil)
  }

  @Test func anAcceptedTokenIsBelievedMoreThanTheClock() {
    let token = WebToken(expires: 2_000, issued: 1_400)
    #expect(token.timeLeft(at: 1_500_000) == .seconds(500))
    #expect(token.timeLeft(acceptedAt: 1_500_000) == .seconds(500))
    // Our clock is slow: it cannot live longer than it lives in all.
    #expect(token.timeLeft(acceptedAt: 1_000_000) == .seconds(600))
    // Our clock is fast.
    #expect(token.timeLeft(acceptedAt: 9_000_000) == .seconds(600))
    #expect(WebToken(expires: 2_000, issued: nil).timeLeft(acceptedAt: 9_000_000) == nil)
  }
}

@Suite struct RefreshScheduleTests {
  private let schedule = RefreshSchedule(settings: RefreshSettings())

  @Test(arguments: [
    (Duration.seconds(3_600), 0.0, Duration.seconds(3_240)),
    (.seconds(3_600), 0.5, .seconds(3_204)),
    (.seconds(100), 0, .seconds(70)),
    (.seconds(100_000), 0, .seconds(99_400)),
    (.seconds(40), 0, .seconds(20)),
    (.seconds(1), 0, .seconds(1)),
    (.zero, 0, .seconds(600)),
    (.seconds(-5), 0, .seconds(600)),
  ])
  func firstReadingIsAheadOfTheEnd(_ left: Duration, _ fraction: Double, _ delay: Duration) {
    #expect(schedule.first(left: left, fraction: fraction) == delay)
  }

  @Test func withoutATimeThatCanBeBelievedTheReadingIsLate() {
    #expect(schedule.first(left: nil, fraction: 0) == .seconds(600))
  }

  @Test(arguments: [
    (Duration.seconds(360), Duration.seconds(180)), (.seconds(10), .seconds(30)), (.seconds(90_000), .seconds(600)),
    (.zero, .seconds(600)), (.seconds(-100), .seconds(600)),
  ])
  func nothingNewIsAskedForAgainLater(_ left: Duration, _ delay: Duration) {
    #expect(schedule.next(left: left) == delay)
  }
}
