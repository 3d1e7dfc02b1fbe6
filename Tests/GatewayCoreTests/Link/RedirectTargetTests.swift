import Testing

@testable import GatewayCore

/// The `Location` of a redirect.
@Suite struct RedirectTargetTests {
  private static let base = DialTarget.Endpoint(secure: true, host: "a", port: 8_443, path: "/x/socket.io/")

  private static func endpoint(_ secure: Bool, _ host: String, _ port: UInt16, _ path: String) -> DialTarget.Endpoint {
    DialTarget.Endpoint(secure: secure, host: host, port: port, path: path)
  }

  static let targets: [(text: String, target: DialTarget.Endpoint)] = [
    ("https://B.example/y/?q=1#f", endpoint(true, "b.example", 443, "/y/")),
    ("http://b:81", endpoint(false, "b", 81, "/")), ("wss://b/z", endpoint(true, "b", 443, "/z")),
    ("ws://user:word@b/z", endpoint(false, "b", 80, "/z")), ("//b/z", endpoint(true, "b", 443, "/z")),
    ("https://[::1]:9/z", endpoint(true, "::1", 9, "/z")), ("/z/", endpoint(true, "a", 8_443, "/z/")),
    ("z/", endpoint(true, "a", 8_443, "/x/socket.io/z/")), ("?q=1", base),
    ("https://b:/z", endpoint(true, "b", 443, "/z")),
  ]

  @Test(arguments: targets) func placeIsTakenFromTheText(target: (text: String, target: DialTarget.Endpoint)) {
    #expect(RedirectTarget.endpoint(target.text, from: Self.base) == target.target)
  }

  @Test(arguments: [
    "", "ftp://b/", "javascript:alert(1)", "https://", "https:///x", "https://b:0/", "https://b:65536/", "https://b:x/",
    "https://[::1/", "https://b c/", "https://b\u{e9}/", "http://b\"/", "/" + String(repeating: "x", count: 2_000),
  ]) func textThatNamesNoPlaceIsRefused(text: String) {
    #expect(RedirectTarget.endpoint(text, from: Self.base) == nil)
  }
}
