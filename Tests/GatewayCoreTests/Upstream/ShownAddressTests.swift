import Testing

@testable import GatewayCore

/// What of an address people may see.
@Suite struct ShownAddressTests {
  @Test(
    arguments: [
      ("TOKEN", "***"), ("token=x", "token=***"), ("token=", "***"), ("a=1&TOKEN&b=2", "a=***&***&b=***"),
      ("dG9rZW4=", "***"), ("dG9rZW4==", "***"), ("=x", "***"), ("a=b=c", "a=***"), ("TO%3DKEN", "***"), ("&&", ""),
      ("", ""),
    ] as [(String, String)])
  func ofAQueryOnlyTheNamesOfParametersWithAValueAreShown(_ query: String, _ shown: String) {
    #expect(ShownAddress.query(query) == shown)
    let url = UpstreamURL(scheme: "raw+wss", userInfo: "u:p", host: "h", path: "/feed", query: query)
    #expect(url.redacted == "raw+wss://h/feed?" + shown)
  }

  @Test func theQueryOfANamespaceIsNotShownWhateverItBeginsWith() {
    let shown = ["/a", "/a?", "/a?token=x", "/a?\u{301}token=x"].map(ShownAddress.namespace)
    #expect(shown == ["/a", "/a?***", "/a?***", "/a?***"])
  }

  @Test func aTraceShowsTheParametersOfTheProtocolAlone() {
    #expect(
      Redaction.shown(target: "/socket.io/?EIO=4&transport=websocket&sid=x&TOKEN")
        == "/socket.io/?EIO=4&transport=websocket&sid=***&***")
  }

  @Test func aSecretParameterWithoutAValueIsNotShownInPayloadsEither() {
    var redaction = Redaction()
    let url = UpstreamURL(scheme: "raw+wss", host: "h", path: "/feed", query: "TOKEN-1&dG9rZW4=")
    redaction.add(DialTarget(url, path: "/feed", UpstreamSettings()).request())
    #expect(
      String(decoding: redaction.apply(to: Array("a TOKEN-1 b dG9rZW4= c".utf8)), as: UTF8.self) == "a *** b *** c")
  }

  @Test func aFragmentIsShownOnlyWhereItIsARealm() {
    #expect(UpstreamURL(scheme: "raw+wss", host: "h", fragment: "TOKEN").redacted == "raw+wss://h")
    #expect(UpstreamURL(scheme: "wamp+wss", host: "h", fragment: "realm1").redacted == "wamp+wss://h#realm1")
  }

  @Test(
    arguments: [
      ("chat", "chat"), ("https://h", "https://h"), ("HTTP://[::1]:80/a@b?k=v", "HTTP://[::1]:80/a@b?k=***"),
      ("raw+wss://u:p@h:8/feed?TOKEN#x", "raw+wss://h:8/feed?***"), ("wss://u@p@h/#x?y", "wss://h/"),
      ("wamp+wss://u@h#realm1", "wamp+wss://h#realm1"), ("http://h/a?b?c=d", "http://h/a?b?c=***"),
      // A sign that joins what stands before it.
      ("http://u:p@\u{301}h?\u{301}k=v", "http://\u{301}h?\u{301}k=***"),
    ] as [(String, String)])
  func ofAURLAsItWasTypedTheSecretsAreNotShown(_ word: String, _ shown: String) {
    #expect(ShownAddress.word(word) == shown)
  }

  @Test(
    arguments: [
      "http://u:pass/word@h", "http://u:pass?word@h", "http://u:pass#word@h", "u:p@h?next=http://x", " http://u:p@h",
      "http://u:p://q@h",
    ])
  func ofAMistypedURLWithAPasswordNothingIsShown(_ word: String) {
    #expect(ShownAddress.word(word) == "***")
  }

  @Test(
    arguments: [
      ("localhost", true), ("chat.localhost", true), ("notlocalhost", false), ("127.0.0.1", true), ("127.9.8.7", true),
      ("::1", true), ("localhost.example", false),
      ("127.example", false), ("127.0.0.1.example", false), ("128.0.0.1", false), ("127.0.0.256", false),
    ] as [(String, Bool)])
  func thisMachineIsMeantByItsLoopbackAlone(_ host: String, _ expected: Bool) {
    #expect(UpstreamURL.isThisMachine(host) == expected)
  }
}
