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

  @Test(arguments: [
    ("p\u{e4}ssw\u{f6}rt", #"["p\u00e4ssw\u00F6rt","\u0070\u00E4\u0073sw\#u{f6}rt","p\#u{e4}ssw\#u{f6}rt"]"#),
    ("ab/cd", #"["ab\/cd","ab/cd","ab\u002fcd"]"#),
    ("a\"b\\c\nd", #"["a\"b\\c\nd","a\u0022b\u005Cc\u000Ad","\u0061\"b\\c\nd"]"#),
    ("k\u{1f600}ey", #"["k\ud83d\uDE00ey","k\#u{1f600}ey","\u006b\ud83d\ude00\u0065y"]"#),
  ])
  func secretsAreFoundHoweverAServerEscapesThem(_ secret: String, _ text: String) {
    #expect(shown(text, [secret], limit: 1_024) == #"["***","***","***"]"#)
    #expect(shown(text, ["other", secret, "ord"], limit: 1_024) == #"["***","***","***"]"#)
  }

  @Test func whatOnlyLooksLikeAnEscapedSecretIsShown() {
    for text in [#"["\\u0061bcd"]"#, #"["\u00e1bcd"]"#, #"["\ud800abc\u"]"#, #"abc\"#] {
      #expect(shown(text, ["abcd"], limit: 1_024) == text)
    }
    #expect(shown(#"C:\abcd \x \abcd\"#, ["abcd"], limit: 1_024) == #"C:*** \x ***\"#)
  }

  @Test func anEscapedSecretOnTheEdgeOfWhatIsShownIsNotShownInPart() {
    let secret = "s3cret-t0ken"
    let escaped = secret.unicodeScalars.map { #"\u00"# + String($0.value, radix: 16) }.joined()
    for before in 0..<40 {
      for limit in 0..<40 {
        let text = String(repeating: "x", count: before) + escaped + String(repeating: "y", count: 200)
        let part = shown(text, [secret], limit: limit)
        #expect(!part.contains(#"\"#) && !part.contains("u"), "\(before) \(limit)")
        #expect(part.utf8.count <= limit + 3 && part.hasSuffix("…"))
      }
    }
  }

  @Test func secretsThatOverlapAreHiddenBoth() {
    #expect(shown("x abcdefgh y", ["abcdef", "efgh"], limit: 100) == "x *** y")
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
