import Testing

@testable import GatewayCore

/// What the doctor reads out of answers, without a network.
@Suite struct ReadingTests {
  private static let open = #"0{"sid":"s","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000}"#
  private let request = LinkKey(
    UpstreamSpecification(
      name: nil, url: UpstreamURL(scheme: "http", host: "h"), namespace: "/", settings: UpstreamSettings(), owner: 1)
  ).request(.four, .websocket)

  private func read(_ body: [UInt8], status: Int = 200, headers: [HTTPHeader] = []) -> HTTPReading {
    HTTPReading(HTTPResponse(status: status, headers: headers, body: body), to: request)
  }

  private func revision(_ reading: HTTPReading) -> EngineIORevision? {
    guard case .handshake(let revision, let handshake, let upgrades) = reading else { return nil }
    return handshake.sid == "s" && upgrades == ["websocket"] ? revision : nil
  }

  private func code(_ reading: HTTPReading) -> String? {
    if case .problem(let code, _, _) = reading { code } else { nil }
  }

  @Test func handshakesOfBothRevisionsAreRecognisedInEveryForm() {
    let packet = Array(Self.open.utf8)
    let digits = Array("\(packet.count)".utf8)
    #expect(revision(read(packet)) == .four)
    #expect(revision(read(packet + [0x1e] + Array("40".utf8))) == .four)
    #expect(revision(read(digits + Array(":".utf8) + packet + Array("2:40".utf8))) == .three)
    #expect(
      revision(read([0] + digits.map { $0 - 0x30 } + [0xff] + packet + [0, 2, 0xff] + Array("40".utf8))) == .three)
  }

  @Test func bodiesThatBeginLikeAHandshakeAreNoHandshake() {
    for body in ["0", "0{", "0{}", "5:0{}", "99999999999:0{}", "9", ":", "4hello"] {
      #expect(code(read(Array(body.utf8))) == "http.unexpected", "\(body)")
    }
    for cut in 0..<Self.open.utf8.count { #expect(revision(read(Array(Self.open.utf8.prefix(cut)))) == nil) }
    #expect(code(read([0, 1, 0xff])) == "http.unexpected")
  }

  @Test func refusalsOfEngineIOAreToldFromThoseOfOthers() {
    #expect(read(Array(#"{"code":5,"message":"Unsupported protocol version"}"#.utf8), status: 400) == .otherRevision)
    #expect(read(Array(#"{"code":0,"message":"Transport unknown"}"#.utf8), status: 400) == .pollingOff)
    #expect(code(read(Array(#"{"code":4,"message":"no"}"#.utf8), status: 403)) == "http.forbidden")
    #expect(code(read([], status: 404)) == "http.path")
    #expect(code(read([], status: 503)) == "http.busy")
    #expect(code(read([], status: 500)) == "http.server_error")
    #expect(code(read(Array("  <html>".utf8))) == "http.web_page")
  }

  @Test func aRedirectNamesThePlaceWithoutItsSecrets() {
    let reading = read(
      [], status: 302, headers: [HTTPHeader(name: "location", value: "https://ann:pass@login.example/in?token=t\u{1b}")]
    )
    guard case .problem("http.redirect", let seen, _) = reading else { return #expect(Bool(false)) }
    #expect(seen == "The server redirects /socket.io/ elsewhere (302, to https://…@login.example/in).")
  }

  private static let dial = DialRequest(
    secure: true, host: "h", port: 443, target: "/", headers: [], tls: TLSSettings(), phaseLimit: .seconds(1),
    messageLimit: 1)

  @Test(arguments: [
    ("the certificate of h:443 was not accepted: certificate has expired", "tls.expired"),
    ("the certificate of h:443 was not accepted: self-signed certificate", "tls.untrusted"),
    ("the certificate of h:443 was not accepted: unable to get local issuer certificate", "tls.untrusted"),
    ("the certificate of h:443 was not accepted: no alternative certificate subject name matches target", "tls.name"),
    ("h:443 does not speak TLS: use ws:// or http:// if that is meant", "tls.plain"),
    ("a certificate or key file cannot be used: x", "tls.file"), ("the TLS handshake failed", "tls.failed"),
  ])
  func failuresOfTLSHaveTheirOwnCodes(_ detail: String, _ code: String) {
    let finding = TLSReading.finding(UpstreamFailure(.tls, detail), of: Self.dial, nil)
    #expect(finding.code == code)
    #expect(finding.verdict == .failed && finding.advice != nil)
  }

  @Test func aPortWithoutTLSIsToBeReachedByTheSchemeOfTheKind() {
    var dial = Self.dial
    dial.schemes = URLSchemes(of: UpstreamURL(scheme: "tls", host: "h"))
    let failure = UpstreamFailure(.tls, "h:443 does not speak TLS: use tcp:// if that is meant")
    #expect(
      TLSReading.finding(failure, of: dial, nil).advice
        == "No TLS is spoken on port 443: use tcp://, or the port that has TLS.")
  }

  @Test func aCertificateThatEndsSoonIsAWarning() {
    let report = RouteReport(
      address: "1.2.3.4", tlsVersion: "TLSv1.3",
      certificates: [CertificateFacts(subject: "CN = h", issuer: "CN = ca", expires: "Nov 21 13:00:00 2027 GMT")])
    let expiry = report.certificates[0].expiry ?? 0
    #expect(expiry == 1_826_802_000_000)
    #expect(TLSReading.finding(report, verified: true, now: expiry - TLSReading.soon - 1).code == "tls.ok")
    #expect(TLSReading.finding(report, verified: true, now: expiry - 86_400_000).code == "tls.expires_soon")
    #expect(TLSReading.finding(report, verified: false, now: 0).code == "tls.unverified")
  }

  @Test func whatIsNoDateIsNone() {
    for text in ["", "soon", "Nov 99 13:00:00 2027 GMT", "Nov 21 13:00 2027 GMT", "Non 21 13:00:00 2027 GMT"] {
      #expect(CertificateFacts(subject: "", issuer: "", expires: text).expiry == nil, "\(text)")
    }
    #expect(CertificateFacts(subject: "", issuer: "", expires: "Jan  1 00:00:00 1970 GMT").expiry == 0)
    #expect(CertificateFacts(subject: "", issuer: "", expires: "Feb 29 00:00:00 2000 GMT").expiry == 951_782_400_000)
  }
}
