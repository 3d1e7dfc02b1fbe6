@testable import GatewayCore
import Testing

@testable import gatewayd

/// Which proxy is used for which server.
@Suite struct ProxyEnvironmentTests {
  private func proxy(
    _ variables: [String: String], host: String = "chat.example", secure: Bool = true,
    _ change: (inout ProxySettings) -> Void = { _ in }
  ) throws -> String? {
    var request = WebSocketDialing.request(443, host: host)
    request.secure = secure
    change(&request.proxy)
    return try ProxyEnvironment { variables[$0] }.proxy(for: request).map { "\($0.kind.rawValue) \($0.place)" }
  }

  @Test func variableOfTheSchemeComesBeforeTheOneForAll() throws {
    let variables = ["https_proxy": "http://a:1", "http_proxy": "http://b:2", "all_proxy": "socks5://c:3"]
    #expect(try proxy(variables) == "http a:1")
    #expect(try proxy(variables, secure: false) == "http b:2")
    #expect(try proxy(["ALL_PROXY": "socks5h://c:3"], secure: false) == "socks5h c:3")
    #expect(try proxy(["HTTPS_PROXY": "a"]) == "http a:1080")
    #expect(try proxy([:]) == nil)
  }

  @Test func upperCaseVariableForPlainHTTPIsNotBelieved() throws {
    #expect(try proxy(["HTTP_PROXY": "http://a:1"], secure: false) == nil)
  }

  @Test func exceptionsOfTheEnvironmentCountForItsProxies() throws {
    #expect(try proxy(["https_proxy": "http://a:1", "no_proxy": "other, .example"]) == nil)
    #expect(try proxy(["https_proxy": "http://a:1", "NO_PROXY": "*"]) == nil)
    #expect(try proxy(["https_proxy": "http://a:1", "no_proxy": "ample"]) == "http a:1")
  }

  @Test func settingsComeBeforeTheEnvironment() throws {
    let variables = ["https_proxy": "http://a:1", "no_proxy": "*"]
    #expect(try proxy(variables) { $0.choice = .none } == nil)
    #expect(try proxy(variables) { $0.exceptions = [] } == "http a:1")
    let server = ProxyServer(kind: .socks5, host: "::1", port: 9)
    #expect(try proxy(variables) { $0.choice = .server(server) } == "socks5 [::1]:9")
    #expect(
      try proxy(variables) {
        $0.choice = .server(server)
        $0.exceptions = ["chat.example"]
      } == nil)
  }

  @Test func unusableVariableIsNamedWithoutItsValue() throws {
    do {
      _ = try proxy(["https_proxy": "ftp://user:secret@a:1"])
      Issue.record("accepted")
    } catch let problem as URLProblem {
      #expect(problem.message.contains("https_proxy") && !problem.message.contains("secret"))
    }
  }

  static let exceptions: [(entry: String, host: String, isMatch: Bool)] = [
    ("example", "example", true), ("example", "chat.example", true), ("example", "myexample", false),
    (".example", "chat.example", true), ("*.example", "chat.example", true), ("EXAMPLE", "Chat.Example", true),
    ("10.0.0.0/8", "10.200.3.4", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.1.2.3", "10.1.2.3", true),
    ("10.128.0.0/9", "10.127.0.1", false), ("10.0.0.0/33", "10.0.0.0", false), ("10.0.0.0/8", "ten.example", false),
    ("fd00::/8", "fd12::1", true), ("[::1]", "0:0:0:0:0:0:0:1", true), ("fd00::/8", "10.0.0.1", false),
    ("", "example", false), ("0.0.0.0/0", "1.2.3.4", true),
  ]

  @Test(arguments: exceptions) func exceptionMeansTheHost(exception: (entry: String, host: String, isMatch: Bool)) {
    #expect(ProxyExceptions([exception.entry]).contain(exception.host) == exception.isMatch)
  }
}
