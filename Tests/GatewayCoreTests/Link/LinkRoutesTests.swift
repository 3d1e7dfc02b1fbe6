import Testing

@testable import GatewayCore

/// Where an attempt goes when a place fails or names another.
@Suite struct LinkRoutesTests {
  private static func url(_ host: String, secure: Bool = false) -> UpstreamURL {
    UpstreamURL(scheme: secure ? "https" : "http", userInfo: "user:word", host: host)
  }

  private static func key(_ hosts: [String], _ redirects: RedirectPolicy = .never, secure: Bool = false) -> LinkKey {
    var settings = UpstreamSettings()
    settings.alternatives = hosts.dropFirst().map { url($0, secure: secure) }
    settings.redirects = redirects
    settings.headers = [HTTPHeader(name: "X-Team", value: "a"), HTTPHeader(name: "cookie", value: "b")]
    return LinkKey(
      UpstreamSpecification(
        name: "chat", url: url(hosts[0], secure: secure), namespace: "/", settings: settings, owner: nil))
  }

  private static let unreachable = UpstreamFailure(.unreachable, "no")

  private static func redirect(_ location: String) -> (UpstreamFailure, [HTTPHeader]) {
    (UpstreamFailure(.http, "redirect", status: 302), [HTTPHeader(name: "location", value: location)])
  }

  // MARK: - Several URLs

  @Test func oneURLFailsInItsOwnWords() {
    var routes = LinkRoutes(Self.key(["a"]).places, remembered: nil)
    #expect(routes.failed(Self.unreachable) == .giveUp(Self.unreachable))
  }

  @Test func everyURLIsTriedOnceAndEveryFailureIsTold() {
    var routes = LinkRoutes(Self.key(["a", "b", "c"]).places, remembered: nil)
    #expect(routes.current.endpoint.host == "a")
    #expect(routes.failed(Self.unreachable) == .dial)
    #expect(routes.current.endpoint.host == "b" && routes.index == 1)
    #expect(routes.failed(UpstreamFailure(.tls, "bad")) == .dial)
    let last = UpstreamFailure(.http, String(repeating: "x", count: 500), status: 503, retryAfter: .seconds(9))
    var conclusion = last
    conclusion.detail = "http://a: no; http://b: bad; http://c: " + String(repeating: "x", count: 160) + "…"
    #expect(routes.failed(last) == .giveUp(conclusion))
  }

  @Test func theURLThatWorkedIsTriedFirst() {
    var routes = LinkRoutes(Self.key(["a", "b", "c"]).places, remembered: 2)
    var hosts = [routes.current.endpoint.host]
    while routes.failed(Self.unreachable) == .dial { hosts.append(routes.current.endpoint.host) }
    #expect(hosts == ["c", "a", "b"])
    #expect(LinkRoutes(Self.key(["a"]).places, remembered: 2).index == 0)
  }

  @Test(arguments: [DownReason.refused, .auth, .tooLarge]) func whatWouldBeTheSameElsewhereIsNotTriedElsewhere(
    reason: DownReason
  ) {
    var routes = LinkRoutes(Self.key(["a", "b"]).places, remembered: nil)
    #expect(routes.failed(UpstreamFailure(reason, "no")) == .giveUp(UpstreamFailure(reason, "no")))
  }

  @Test(arguments: [401, 403]) func refusalOfTheHandshakeIsNotTakenToTheOtherURLs(_ status: Int) {
    var routes = LinkRoutes(Self.key(["a", "b"]).places, remembered: nil)
    let refusal = UpstreamFailure(.http, "no", status: status)
    #expect(routes.failed(refusal) == .giveUp(refusal))
  }

  @Test func refusalByALaterURLIsTheReason() {
    var routes = LinkRoutes(Self.key(["a", "b", "c"]).places, remembered: nil)
    #expect(routes.failed(Self.unreachable) == .dial)
    let conclusion = UpstreamFailure(.http, "http://a: no; http://b: expired", status: 401)
    #expect(routes.failed(UpstreamFailure(.http, "expired", status: 401)) == .giveUp(conclusion))
  }

  @Test func restThatOneURLAskedForIsNotForgottenWithAnothersFailure() {
    var routes = LinkRoutes(Self.key(["a", "b"]).places, remembered: nil)
    #expect(routes.failed(UpstreamFailure(.http, "busy", status: 503, retryAfter: .seconds(600))) == .dial)
    #expect(
      routes.failed(Self.unreachable)
        == .giveUp(UpstreamFailure(.unreachable, "http://a: busy; http://b: no", retryAfter: .seconds(600))))
  }

  // MARK: - Redirects

  @Test func redirectIsNotFollowedUnlessAllowed() {
    var routes = LinkRoutes(Self.key(["a"]).places, remembered: nil)
    let (failure, headers) = Self.redirect("http://a/b/")
    #expect(routes.redirected(failure, headers) == nil)
  }

  @Test func redirectWithinTheHostKeepsCredentials() {
    var routes = LinkRoutes(Self.key(["a"], .sameHost).places, remembered: nil)
    let (failure, headers) = Self.redirect("http://a:8080/live/?EIO=4&token=x")
    #expect(routes.redirected(failure, headers) == .dial)
    let request = Self.key(["a"]).at(routes.current).request(.four, .websocket)
    #expect(request.host == "a" && request.port == 8_080)
    #expect(request.target == "/live/?EIO=4&transport=websocket")
    #expect(request.headers.map(\.name) == ["X-Team", "cookie", "Authorization"])
  }

  @Test func theServerOfAnotherConfiguredUpstreamIsNotReachedByARedirect() {
    let servers = ConfiguredServers()
    servers.adopt(["a", "b"].map { UpstreamURL(scheme: "http", host: $0) })
    for (place, isFollowed) in [
      ("http://b/", false), ("http://B:80/x", false), ("http://b:81/", true), ("http://a/x", true),
    ] {
      var routes = LinkRoutes(Self.key(["a"], .any).places, remembered: nil, among: servers)
      let (failure, headers) = Self.redirect(place)
      let step = routes.redirected(failure, headers)
      #expect((step == .dial) == isFollowed)
      guard !isFollowed, case .giveUp(let failure) = step else { continue }
      #expect(failure.detail.hasSuffix("not followed: it is the server of another configured upstream"))
    }
  }

  @Test func anotherHostGetsNoCredentialsInHeaders() {
    var routes = LinkRoutes(Self.key(["a"], .any).places, remembered: nil)
    let (failure, headers) = Self.redirect("https://b/socket.io/")
    #expect(routes.redirected(failure, headers) == .dial)
    let request = Self.key(["a"]).at(routes.current).request(.four, .websocket)
    #expect(request.secure && request.host == "b" && request.port == 443)
    #expect(request.headers == [])
  }

  @Test func anotherHostGetsNoClientCertificateAndNoTrustThatIsNotChecked() {
    var settings = UpstreamSettings()
    settings.redirects = .any
    settings.tls.ca = .file("/ca.pem")
    settings.tls.certificate = "/me.pem"
    settings.tls.key = "/me.key"
    settings.tls.keyPassword = "word"
    settings.tls.keyPasswordFile = "/word"
    settings.tls.verify = false
    settings.tls.serverName = "inner"
    settings.tls.pins = ["sha256//x"]
    var place = DialTarget(Self.url("a", secure: true), path: "/", settings)
    #expect(place.request().tls == settings.tls)
    place = place.moved(to: DialTarget.Endpoint(secure: true, host: "b", port: 443, path: "/"))
    var expected = TLSSettings()
    expected.ca = .file("/ca.pem")
    expected.pins = ["sha256//x"]
    #expect(place.request().tls == expected)
    #expect(place.verifiesCertificates)
    // The way back is one that a stranger named.
    place = place.moved(to: DialTarget.Endpoint(secure: true, host: "a", port: 443, path: "/"))
    #expect(place.request().tls == expected && place.request().headers == [])
  }

  @Test func anotherHostIsRefusedWhereOnlyTheSameIsAllowed() {
    var routes = LinkRoutes(Self.key(["a"], .sameHost).places, remembered: nil)
    let (failure, headers) = Self.redirect("http://b/login?token=hunter2")
    let detail = "the server redirects to http://b (HTTP 302), which is not followed: it is another host"
    #expect(routes.redirected(failure, headers) == .giveUp(UpstreamFailure(.http, detail, status: 302)))
  }

  @Test func redirectFromTLSToPlainTextIsNeverFollowed() {
    var routes = LinkRoutes(Self.key(["a"], .any, secure: true).places, remembered: nil)
    let (failure, headers) = Self.redirect("http://a/")
    let detail = "the server redirects to http://a (HTTP 302), which is not followed: it leads from TLS to plain text"
    #expect(routes.redirected(failure, headers) == .giveUp(UpstreamFailure(.http, detail, status: 302)))
  }

  @Test func redirectsInACircleEnd() {
    var routes = LinkRoutes(Self.key(["a"], .any).places, remembered: nil)
    let (failure, headers) = Self.redirect("/again/")
    for _ in 0..<5 { #expect(routes.redirected(failure, headers) == .dial) }
    let detail = "the server redirects to http://a (HTTP 302), which is not followed: it is the 6th redirect in a row"
    #expect(routes.redirected(failure, headers) == .giveUp(UpstreamFailure(.http, detail, status: 302)))
  }

  @Test func whatIsNoRedirectIsLeftAlone() {
    var routes = LinkRoutes(Self.key(["a"], .any).places, remembered: nil)
    let (_, headers) = Self.redirect("/b/")
    #expect(routes.redirected(UpstreamFailure(.http, "no", status: 304), headers) == nil)
    #expect(routes.redirected(UpstreamFailure(.http, "no", status: 302), []) == nil)
    #expect(routes.redirected(UpstreamFailure(.closed, "no"), headers) == nil)
  }
}
