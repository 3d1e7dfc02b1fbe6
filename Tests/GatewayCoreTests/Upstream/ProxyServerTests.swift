@testable import GatewayCore
import Testing

/// The text of a proxy's URL.
@Suite struct ProxyServerTests {
  @Test func everyPartIsRead() throws {
    #expect(
      try ProxyServer(parsing: "http://us%3Aer:p%40w@Proxy.Example:3128/")
        == ProxyServer(kind: .http, host: "proxy.example", port: 3_128, user: "us:er", password: "p@w"))
    #expect(try ProxyServer(parsing: "socks5h://[::1]") == ProxyServer(kind: .socks5h, host: "::1", port: 1_080))
    #expect(
      try ProxyServer(parsing: "SOCKS5://user@h") == ProxyServer(kind: .socks5, host: "h", port: 1_080, user: "user"))
  }

  @Test func placeShowsNoLogin() throws {
    #expect(try ProxyServer(parsing: "http://user:word@[::1]:8080").place == "[::1]:8080")
  }

  @Test(arguments: [
    "proxy.example:3128", "https://proxy.example", "socks4://h", "http://", "http://:80", "http://h:0",
    "http://h:65536",
    "http://h:x", "http://h/path", "http://h?q", "http://[::1", "http://[::1]x", "http://a b", "http://h:",
  ]) func malformedTextIsRefusedWithoutBeingRepeated(text: String) {
    #expect(throws: URLProblem.self) { try ProxyServer(parsing: text) }
    do { _ = try ProxyServer(parsing: text.replacing("//", with: "//user:hunter2@")) } catch {
      #expect(!error.message.contains("hunter2"))
    }
  }
}
