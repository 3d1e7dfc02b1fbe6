@testable import GatewayCore
import Testing

@Suite struct ConnectionKeyTests {
  static func adhoc(
    _ url: UpstreamURL, namespace: String = "/", auth: AuthSource = .none, owner: UInt32? = 1_000,
    change: (inout UpstreamSettings) -> Void = { _ in }
  ) -> ConnectionKey {
    var settings = UpstreamSettings()
    settings.auth = auth
    change(&settings)
    return ConnectionKey(
      UpstreamSpecification(name: nil, url: url, namespace: namespace, settings: settings, owner: owner))
  }

  static let plain = UpstreamURL(scheme: "https", host: "chat.example.com")

  @Test(arguments: [
    UpstreamURL(scheme: "wss", host: "chat.example.com"),
    UpstreamURL(scheme: "https", host: "chat.example.com", port: 443),
    UpstreamURL(scheme: "HTTPS", host: "Chat.Example.COM"),
    UpstreamURL(scheme: "https", host: "chat.example.com", path: "/"),
    UpstreamURL(scheme: "https", host: "chat.example.com", query: ""),
    UpstreamURL(scheme: "https", host: "chat.example.com", fragment: "top"),
    UpstreamURL(scheme: "wss", host: "chat.example.com", port: 443, path: "/"),
  ])
  func spellingsOfOneURLShareAConnection(url: UpstreamURL) {
    #expect(Self.adhoc(url) == Self.adhoc(Self.plain))
    #expect(Self.adhoc(url).hashValue == Self.adhoc(Self.plain).hashValue)
    #expect(url.isSameUpstream(as: Self.plain))
  }

  @Test(arguments: [
    UpstreamURL(scheme: "http", host: "chat.example.com"),
    UpstreamURL(scheme: "http", host: "chat.example.com", port: 443),
    UpstreamURL(scheme: "https", host: "chat.example.org"),
    UpstreamURL(scheme: "https", host: "chat.example.com", port: 8_443),
    UpstreamURL(scheme: "https", host: "chat.example.com", query: "v=2"),
    UpstreamURL(scheme: "https", userInfo: "ann:secret", host: "chat.example.com"),
  ])
  func differentServersNeverShareAConnection(url: UpstreamURL) {
    #expect(Self.adhoc(url) != Self.adhoc(Self.plain))
    #expect(!url.isSameUpstream(as: Self.plain))
  }

  @Test func aPathIsANamespaceWhereverItWasWritten() {
    let url = UpstreamURL(scheme: "https", host: "chat.example.com", path: "/admin")
    #expect(Self.adhoc(url, namespace: "/admin") == Self.adhoc(Self.plain, namespace: "/admin"))
    #expect(Self.adhoc(url, namespace: "/admin") != Self.adhoc(Self.plain))
    #expect(!url.isSameUpstream(as: Self.plain))
  }

  @Test func spellingsOfANameThatUnicodeHoldsToBeOneAreDifferentConnections() {
    func keys(_ namespace: String) -> [ConnectionKey] {
      var configured = UpstreamSpecification(
        name: "chat", url: Self.plain, namespace: namespace, settings: UpstreamSettings(), owner: nil)
      let key = ConnectionKey(configured)
      configured.isHeld = true
      let url = UpstreamURL(scheme: "https", host: "chat.example.com", path: namespace)
      let query = UpstreamURL(scheme: "https", host: "chat.example.com", query: namespace)
      return [
        key, ConnectionKey(configured), Self.adhoc(Self.plain, namespace: namespace), Self.adhoc(url),
        Self.adhoc(query),
      ]
    }
    let (one, other) = (keys("/caf\u{e9}"), keys("/cafe\u{301}"))
    #expect(zip(one, other).allSatisfy { $0 != $1 })
    #expect(zip(one, keys("/caf\u{e9}")).allSatisfy { $0 == $1 && $0.hashValue == $1.hashValue })
    #expect(Set(one + other).count == 10)
  }

  @Test func usersAndCredentialsAreKeptApart() {
    let keys = [
      Self.adhoc(Self.plain), Self.adhoc(Self.plain, owner: 1_001),
      Self.adhoc(Self.plain, auth: .inline(Array(#"{"token":"a"}"#.utf8))),
      Self.adhoc(Self.plain, auth: .inline(Array(#"{"token":"b"}"#.utf8))),
      Self.adhoc(Self.plain, auth: .file("/etc/token")), Self.adhoc(Self.plain, namespace: "/admin"),
    ]
    #expect(Set(keys).count == keys.count)
  }

  @Test func changedDefaultsDoNotSplitAnAdHocConnection() {
    #expect(Self.adhoc(Self.plain) { $0.linger = .seconds(1) } == Self.adhoc(Self.plain))
  }

  @Test func aConfiguredUpstreamIsItselfByNameAndNamespace() {
    func key(_ name: String?, host: String = "a", namespace: String = "/", auth: AuthSource = .none) -> ConnectionKey {
      var settings = UpstreamSettings()
      settings.auth = auth
      return ConnectionKey(
        UpstreamSpecification(
          name: name, url: UpstreamURL(scheme: "https", host: host), namespace: namespace, settings: settings,
          owner: nil))
    }
    #expect(key("chat") == key("chat", host: "b", auth: .file("x")))
    #expect(Set([key("chat"), key("news"), key("chat", namespace: "/admin"), key(nil)]).count == 4)
  }

  @Test func noSecretIsEverShown() {
    let url = UpstreamURL(scheme: "https", userInfo: "ann:hunter2", host: "h", query: "token=hunter2")
    let key = Self.adhoc(url, namespace: "/x", auth: .inline(Array(#"{"token":"hunter2"}"#.utf8)), owner: 7)
    var dumped = ""
    dump(key, to: &dumped)
    for text in ["\(key)", String(reflecting: key), dumped] { #expect(!text.contains("hunter2"), "\(text)") }
    #expect(key.description == "https://h:443?token=*** /x of uid 7")
  }
}
