@testable import GatewayCore
import Testing

@testable import gatewayd

@Suite struct CurlURLReaderTests {
  private func read(_ text: String) -> Result<UpstreamURL, URLProblem> {
    Result { () throws(URLProblem) in try CurlURLReader().read(text) }
  }

  private func problem(_ text: String) -> String? {
    if case .failure(let problem) = read(text) { problem.message } else { nil }
  }

  @Test func everyPartIsTakenApart() {
    let expected = UpstreamURL(
      scheme: "https", userInfo: "me@home:p:w/d", host: "example.org", port: 8443, path: "/admin%2Fx/../y",
      query: "a=%20b&c", fragment: "frag")
    #expect(read("https://me%40home:p%3Aw%2Fd@Example.ORG:8443/admin%2Fx/../y?a=%20b&c#frag") == .success(expected))
  }

  @Test func nothingIsInvented() {
    #expect(read("https://h") == .success(UpstreamURL(scheme: "https", host: "h")))
    #expect(read("https://h/") == .success(UpstreamURL(scheme: "https", host: "h", path: "/")))
    #expect(read("ws://h?q=1") == .success(UpstreamURL(scheme: "ws", host: "h", query: "q=1")))
    #expect(read("ws://h?q=/") == .success(UpstreamURL(scheme: "ws", host: "h", query: "q=/")))
    #expect(read("http://h:80#/x") == .success(UpstreamURL(scheme: "http", host: "h", port: 80, fragment: "/x")))
    #expect(read("HTTPS://h") == .success(UpstreamURL(scheme: "https", host: "h")))
  }

  @Test func otherKindsOfUpstreamHaveTheirOwnSchemes() {
    #expect(read("wamp+tcp://h:9000/realm").map(\.scheme) == .success("wamp+tcp"))
  }

  @Test func addressesLoseTheirBrackets() {
    #expect(
      read("wss://[2001:DB8::1]:9/x") == .success(UpstreamURL(scheme: "wss", host: "2001:db8::1", port: 9, path: "/x")))
    #expect(read("ws://127.0.0.1:9").map(\.host) == .success("127.0.0.1"))
    #expect(problem("ws://[::1%25eth0]:9")?.contains("zone") == true)
    #expect(problem("ws://[::1/")?.contains("IPv6") == true)
  }

  @Test func internationalNamesGetTheirASCIIForm() {
    #expect(read("https://bücher.example/").map(\.host) == .success("xn--bcher-kva.example"))
    #expect(problem("https://a\u{2024}\u{fffd}b/")?.contains("host name") == true)
  }

  @Test func userWithoutPasswordHasAnEmptyOne() {
    #expect(read("http://me@h").map(\.userInfo) == .success("me:"))
    #expect(problem("http://a%3Ab:c@h")?.contains("colon") == true)
    #expect(problem("http://a%0Ab@h")?.contains("user") == true)
  }

  @Test func portsAreFromOneToTheLargest() {
    #expect(read("http://h:1").map(\.port) == .success(1))
    #expect(read("http://h:65535").map(\.port) == .success(65_535))
    for text in ["http://h:0", "http://h:65536", "http://h:x", "http://h:-1", "http://h:99999999999999999999"] {
      #expect(problem(text) == "the URL's port is not a number from 1 to 65535", "\(text)")
    }
  }

  @Test func whatIsMissingIsSaidTogetherWithWhatToWrite() {
    #expect(problem("") == "the URL is empty; write for example https://example.org")
    #expect(problem("example.org:80/x") == "the URL has no scheme; write for example https://example.org:80")
    #expect(problem("localhost:3000") == "the URL has no scheme; write for example https://localhost:3000")
    // Never what stands before an @.
    #expect(problem("bob:1234@h") == "the URL has no scheme; write for example https://h")
    #expect(problem("https:/t0ken@h:80/x") == "the URL has no scheme; write for example https://h:80")
    #expect(problem("https:a:b@t0ken@h?x@y") == "the URL has no scheme; write for example https://h")
    #expect(problem("tcp:/h:9000") == "the URL has no scheme; write for example tcp://h:9000")
    #expect(problem("h:x") == "the URL has no scheme; write for example https://h")
    #expect(problem("https:/h") == "the URL has no scheme; write for example https://h")
    #expect(problem("HTTP:/h:80/x") == "the URL has no scheme; write for example http://h:80")
    #expect(problem("/x") == "the URL has no scheme; write for example https://example.org")
    #expect(problem("https://") == "the URL names no host; write for example https://example.org")
    #expect(problem("https:///x") == "the URL names no host; write for example https://example.org")
    #expect(problem("https://:80/x") == "the URL names no host; write for example https://example.org")
    #expect(problem("h_tp://h") == "the URL's scheme is malformed; write for example https://example.org")
    #expect(problem("https://a b/") == "the URL contains a space; write %20 instead")
    #expect(problem("wamp+wss://h/a b#r") == "the URL contains a space; write %20 instead")
    #expect(problem("https://h/a?q=b c") == "the URL contains a space; write %20 instead")
    // `%20` would be another namespace.
    #expect(
      problem("HTTPS://h/a b")
        == "the URL contains a space, and its path is the namespace; leave the path out, and name the namespace where it is used: by --namespace, or by the param `namespace`"
    )
    #expect(problem("https://a\n/") == "the URL contains a control character; remove it")
    #expect(problem("https://a\0b/") == "the URL contains a control character; remove it")
  }

  @Test func lengthIsLimited() {
    let longest = "https://h/" + String(repeating: "a", count: CurlURLReader.lengthLimit - 10)
    #expect(read(longest).map(\.path.utf8.count) == .success(CurlURLReader.lengthLimit - 9))
    #expect(problem(longest + "a") == "the URL is longer than 8000 bytes")
  }

  @Test func anyBytesGiveAValueOrASentence() {
    let random = SystemRandom()
    let alphabet = Array("htps:/@?#[]%.0aé€\u{7f}\\{}|^~ ".unicodeScalars)
    for _ in 0..<5_000 {
      var text = String.UnicodeScalarView()
      if random.bits() & 1 == 0 { text.append(contentsOf: "http://".unicodeScalars) }
      for _ in 0..<(random.bits() % 24) { text.append(alphabet[Int(random.bits() % UInt64(alphabet.count))]) }
      switch read(String(text)) {
      case .success(let url): #expect(!url.host.isEmpty)
      case .failure(let problem): #expect(!problem.message.isEmpty)
      }
    }
  }
}
