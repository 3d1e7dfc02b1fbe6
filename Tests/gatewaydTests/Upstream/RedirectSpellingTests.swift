@testable import GatewayCore
import Testing

@testable import gatewayd

/// Redirects whose target is written in another way than the configuration writes it.
@Suite struct RedirectSpellingTests {
  private static func redirect(to host: String, _ policy: RedirectPolicy = .any) -> LinkRoutes.Step? {
    let servers = ConfiguredServers(urls: CurlURLReader())
    servers.adopt(["192.0.2.1", "192.0.2.2", "2001:db8::1", "127.0.0.1"].map { UpstreamURL(scheme: "http", host: $0) })
    var settings = UpstreamSettings()
    settings.redirects = policy
    let place = DialTarget(UpstreamURL(scheme: "http", host: "192.0.2.1"), path: "/", settings)
    var routes = LinkRoutes([place], remembered: nil, among: servers)
    return routes.redirected(
      UpstreamFailure(.http, "redirect", status: 302), [HTTPHeader(name: "location", value: "http://\(host)/x")])
  }

  @Test(arguments: [
    "192.0.2.2", "192.0.514", "0xc0.0.2.2", "3221225986", "030000001002", "[::ffff:192.0.2.2]", "[::ffff:c000:202]",
    "[0:0:0:0:0:FFFF:192.0.2.2]", "[2001:db8:0:0:0:0:0:1]", "[2001:DB8::0:1]", "127.1", "0x7f.1", "2130706433",
    "017700000001", "[::ffff:127.0.0.1]", "[0::1]", "0",
  ]) func anotherSpellingOfAConfiguredServersAddressIsNotReachedByARedirect(host: String) {
    guard case .giveUp(let failure) = Self.redirect(to: host) else {
      Issue.record("the redirect is followed")
      return
    }
    #expect(failure.detail.hasSuffix("not followed: it is the server of another configured upstream"))
  }

  @Test func anotherSpellingOfTheSameHostIsTheSameHost() {
    #expect(Self.redirect(to: "0xc0.0.2.1", .sameHost) == .dial)
    #expect(Self.redirect(to: "[::ffff:192.0.2.1]", .sameHost) == .dial)
  }

  @Test(arguments: ["[::1::2]", "[:g]"]) func hostThatCannotBeReadNamesNoPlace(host: String) {
    #expect(Self.redirect(to: host) == nil)
  }
}
