import Testing

@testable import GatewayCore

/// The part of a text that is shown.
@Suite struct RedactionTests {
  private func shown(_ text: String, _ secrets: [String], limit: Int) -> String {
    var redaction = Redaction()
    for secret in secrets { redaction.add(secret) }
    let bytes = [UInt8](text.utf8)
    return redaction.shown(bytes.span.bytes, limit: limit)
  }

  @Test func secretOnTheEdgeOfWhatIsShownIsNotShownInPart() {
    let secret = "s3cret-t0ken"
    for before in 0..<40 {
      for limit in 0..<40 {
        let text = String(repeating: "x", count: before) + secret + String(repeating: "y", count: 40)
        let part = shown(text, [secret, "other-secret-that-is-longer"], limit: limit)
        #expect(!part.contains("s"), "\(before) \(limit)")
        #expect(part.utf8.count <= limit + 3 && part.hasSuffix("…"))
      }
    }
  }

  @Test func secretsThatShrinkTheTextUncoverNoneThatWasCut() {
    let text = String(repeating: "abcdefgh", count: 20)
    for limit in 1..<150 {
      let part = shown(text, ["abcdefgh"], limit: limit).dropLast()
      #expect(part.allSatisfy { $0 == "*" }, "\(limit)")
    }
  }

  @Test func textWithinTheLimitIsShownWhole() {
    #expect(shown("ab s3cret", ["s3cret"], limit: 9) == "ab ***")
    #expect(shown("ab", [], limit: 2) == "ab")
    #expect(shown("abc", [], limit: 2) == "ab…")
    #expect(shown("", ["s3cret"], limit: 2) == "")
  }

  @Test func withMoreSecretsThanAreSearchedForNothingIsShown() {
    let secrets = (100..<100 + Redaction.limit + 1).map { "secret-\($0)" }
    #expect(shown("ab \(secrets.last ?? "")", secrets, limit: 1_024) == "***")
    #expect(shown("ab", secrets, limit: 1_024) == "***")
    #expect(shown("ab secret-227 cd", secrets.dropLast() + secrets.dropLast(), limit: 1_024) == "ab *** cd")
  }

  @Test func whatIsNotShownIsNotSearched() {
    let secrets = (100..<220).map { "secret-\($0)" }
    let short = [UInt8](repeating: UInt8(ascii: "s"), count: 4_096)
    let long = [UInt8](repeating: UInt8(ascii: "s"), count: 4 << 20)
    var redaction = Redaction()
    for secret in secrets { redaction.add(secret) }
    let clock = ContinuousClock()
    func cost(_ text: [UInt8]) -> Duration {
      (0..<3).map { _ in clock.measure { _ = redaction.shown(text.span.bytes, limit: 1_024) } }.min() ?? .zero
    }
    let least = cost(short)
    #expect(cost(long) < least * 20)
  }
}
