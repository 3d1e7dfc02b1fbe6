@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// Openings that fail, and what is said about them.
@Suite struct WebSocketOpeningTests {
  private func failure(
    messageLimit: Int = 1_000, phaseLimit: Duration = .seconds(30),
    of script: @escaping @Sendable (WebSocketPeer.Connection) throws -> Void
  ) throws -> TransportFailure {
    let peer = try WebSocketPeer { _, connection in try script(connection) }
    let dialing = try WebSocketDialing()
    var request = WebSocketDialing.request(peer.port)
    request.phaseLimit = phaseLimit
    let failure = try dialing.failure(request)
    #expect(dialing.callsFromWithin == 0)
    return failure
  }

  @Test func refusalIsReportedWithStatusAndBody() throws {
    let failure = try failure { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 9\r\nConnection: close\r\n\r\nForbidden")
    }
    #expect(failure.failure.reason == .http)
    #expect(failure.failure.status == 400)
    #expect(failure.httpBody == Array("Forbidden".utf8))
  }

  @Test func refusalWhoseBodyEndsWithTheConnectionIsReported() throws {
    let failure = try failure { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 403 Forbidden\r\n\r\nno ")
      usleep(20_000)
      try connection.write("entry")
    }
    #expect(failure.failure.status == 403)
    #expect(failure.httpBody == Array("no entry".utf8))
  }

  @Test(arguments: [false, true]) func agreementFollowedByAnHTTPErrorIsThatError(apart: Bool) throws {
    let refusal = "HTTP/1.1 400 Bad Request\r\nContent-Length: 28\r\n\r\nUnsupported protocol version"
    let failure = try failure { connection in
      try connection.upgrade(behind: apart ? [] : Array(refusal.utf8))
      if apart {
        try connection.write("HTT")
        usleep(20_000)
        try connection.write(String(refusal.dropFirst(3)))
      }
      connection.awaitEnd()
    }
    #expect(failure.failure.reason == .http)
    #expect(failure.failure.status == 400)
    #expect(failure.httpBody == Array("Unsupported protocol version".utf8))
  }

  @Test func silentServerIsATimeoutOfTheWebSocketHandshake() throws {
    let failure = try failure(phaseLimit: .milliseconds(200)) { connection in connection.awaitEnd() }
    #expect(failure.failure == UpstreamFailure(.timeout, "the server did not answer the WebSocket handshake in time"))
  }

  @Test func serverThatSpeaksSomethingElseIsNotHTTP() throws {
    let failure = try failure { connection in
      _ = try connection.readHead()
      try connection.write("SSH-2.0-OpenSSH_9.2\r\n")
      connection.awaitEnd()
    }
    #expect(failure.failure == UpstreamFailure(.http, "the server's answer is not HTTP"))
  }

  @Test func wrongAcceptIsRefused() throws {
    let failure = try failure { connection in
      _ = try connection.readHead()
      let accept = WebSocketKey(text: "another key").expectedAccept
      try connection.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Accept: \(accept)\r\n\r\n")
      connection.awaitEnd()
    }
    #expect(failure.failure.reason == .protocolError)
  }

  @Test func hangingUpDuringTheHandshakeIsAClose() throws {
    let failure = try failure { connection in _ = try connection.readHead() }
    let detail = "the server closed the connection before it answered the WebSocket handshake"
    #expect(failure.failure == UpstreamFailure(.closed, detail))
  }

  @Test func refusedPortIsUnreachableWithTheSystemsReason() throws {
    let closed = try ClosedPort()
    let failure = try WebSocketDialing().failure(WebSocketDialing.request(closed.port)).failure
    #expect(
      failure == UpstreamFailure(.unreachable, "no connection to 127.0.0.1:\(closed.port): connection refused"))
  }

  @Test func unknownHostIsUnreachableByItsName() throws {
    let failure = try WebSocketDialing().failure(WebSocketDialing.request(80, host: "no-such-host.invalid")).failure
    #expect(failure == UpstreamFailure(.unreachable, "the name no-such-host.invalid cannot be resolved"))
  }

  @Test func closingWhileTheNameIsLookedUpIsSafe() throws {
    let dialing = try WebSocketDialing()
    for _ in 0..<20 {
      dialing.dial(WebSocketDialing.request(80, host: "no-such-host.invalid"))
      try dialing.loop.turn(sleepingAtMost: .zero)
      dialing.close()
    }
    let closed = dialing.closed
    try dialing.run(within: .milliseconds(100)) { false }
    #expect(dialing.closed == closed)
  }

  @Test func manyDialsAtOnceAllOpen() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.upgrade()
      let goodbye = try connection.readFrame()
      try connection.send(8, goodbye.payload)
    }
    let dialing = try WebSocketDialing()
    let transports = (0..<50).map { _ in dialing.dialer.dial(WebSocketDialing.request(peer.port), receiver: dialing) }
    #expect(try dialing.run { dialing.opened.count == 50 })
    transports.forEach { $0.close() }
    try dialing.becomeQuiet()
    #expect(dialing.closed.isEmpty)
  }

  // MARK: - TLS

  private func peer(wantsClient: Bool = false, newestVersion: Int32 = 0x0304) throws -> WebSocketPeer {
    try WebSocketPeer(tls: WebSocketPeerTLS(wantsClient: wantsClient, newestVersion: newestVersion)) { _, connection in
      try connection.upgrade()
      try connection.send(text: "hello")
      connection.awaitEnd()
    }
  }

  @Test(arguments: ["127.0.0.1", "localhost"]) func certificateOfAKnownAuthorityIsAccepted(host: String) throws {
    let peer = try peer()
    let dialing = try WebSocketDialing()
    #expect(try dialing.open(WebSocketDialing.request(peer.port, host: host, secure: true)) == nil)
    #expect(
      dialing.opened == [TransportFacts(name: "websocket", tlsVersion: "TLSv1.3", verified: true, address: "127.0.0.1")]
    )
  }

  @Test func olderTLSIsReported() throws {
    let peer = try peer(newestVersion: 0x0303)
    let dialing = try WebSocketDialing()
    #expect(try dialing.open(WebSocketDialing.request(peer.port, secure: true)) == nil)
    #expect(dialing.opened.first?.tlsVersion == "TLSv1.2")
  }

  @Test func obsoleteTLSIsRefused() throws {
    let peer = try peer(newestVersion: 0x0302)
    let failure = try WebSocketDialing().failure(WebSocketDialing.request(peer.port, secure: true)).failure
    let detail = "127.0.0.1:\(peer.port) speaks no version of TLS that is allowed here, which is 1.2 or later"
    #expect(failure == UpstreamFailure(.tls, detail))
  }

  @Test func versionBelowTheConfiguredOneIsRefused() throws {
    let peer = try peer(newestVersion: 0x0303)
    var request = WebSocketDialing.request(peer.port, secure: true)
    request.tls.minimum = .oneDotThree
    let failure = try WebSocketDialing().failure(request).failure
    let detail = "127.0.0.1:\(peer.port) speaks no version of TLS that is allowed here, which is 1.3 or later"
    #expect(failure == UpstreamFailure(.tls, detail))
  }

  @Test func pinnedKeyIsAcceptedAndAnotherOneRefused() throws {
    let peer = try peer()
    var request = WebSocketDialing.request(peer.port, secure: true)
    request.tls.pins = ["sha256//" + String(repeating: "A", count: 43) + "=", WebSocketPeerTLS.files.pin]
    #expect(try WebSocketDialing().open(request) == nil)
    request.tls.pins.removeLast()
    let failure = try WebSocketDialing().failure(request).failure
    let detail = "the public key of 127.0.0.1:\(peer.port) is none of those in tls.pins"
    #expect(failure == UpstreamFailure(.tls, detail))
    #expect(try HTTPRequesting().failure(HTTPRequesting.request(request)) == UpstreamFailure(.tls, detail))
  }

  @Test func keyWithAPasswordIsOpenedByThatPasswordOnly() throws {
    let peer = try peer(wantsClient: true)
    var request = WebSocketDialing.request(peer.port, secure: true)
    request.tls.certificate = WebSocketPeerTLS.files.clientCertificate
    let key = WebSocketPeerTLS.files.lockedKey
    request.tls.key = key
    request.tls.keyPassword = "open sesame"
    #expect(try WebSocketDialing().open(request) == nil)
    request.tls.keyPassword = "another"
    let wrong = UpstreamFailure(.tls, "the password does not open the key file \(key)")
    #expect(try WebSocketDialing().failure(request).failure == wrong)
    #expect(try HTTPRequesting().failure(HTTPRequesting.request(request)) == wrong)
    request.tls.keyPassword = nil
    let missing = "the key file \(key) needs a password: tls.key_password or tls.key_password_file"
    #expect(try WebSocketDialing().failure(request).failure == UpstreamFailure(.tls, missing))
    request.tls.keyPasswordFile = "/nonexistent/password"
    #expect(try WebSocketDialing().failure(request).failure.reason == .auth)
  }

  @Test func unknownAuthorityIsRefusedWithItsReason() throws {
    let peer = try peer()
    var request = WebSocketDialing.request(peer.port, secure: true)
    request.tls.ca = .file(WebSocketPeerTLS.files.stranger)
    let failure = try WebSocketDialing().failure(request).failure
    #expect(
      failure
        == UpstreamFailure(
          .tls,
          "the certificate of 127.0.0.1:\(peer.port) was not accepted: unable to get local issuer certificate"))
    request.tls.ca = nil
    #expect(try WebSocketDialing().failure(request).failure.reason == .tls)
  }

  @Test func verificationCanBeSwitchedOffAndThatShows() throws {
    let peer = try peer()
    var request = WebSocketDialing.request(peer.port, secure: true)
    request.tls.ca = nil
    request.tls.verify = false
    let dialing = try WebSocketDialing()
    #expect(try dialing.open(request) == nil)
    #expect(
      dialing.opened == [
        TransportFacts(name: "websocket", tlsVersion: "TLSv1.3", verified: false, address: "127.0.0.1")
      ])
  }

  @Test func serverNameIsAskedForAndCheckedInsteadOfTheHost() throws {
    let peer = try peer()
    var request = WebSocketDialing.request(peer.port, secure: true)
    request.tls.serverName = "gateway.test"
    let dialing = try WebSocketDialing()
    #expect(try dialing.open(request) == nil)
    request.tls.serverName = "another.test"
    let failure = try WebSocketDialing().failure(request).failure
    #expect(failure.reason == .tls)
    #expect(failure.detail.contains("another.test"), "\(failure.detail)")
  }

  @Test func clientCertificateOpensADoorThatIsShutWithoutIt() throws {
    let peer = try peer(wantsClient: true)
    var request = WebSocketDialing.request(peer.port, secure: true)
    let failure = try WebSocketDialing().failure(request).failure
    #expect(failure.reason == .tls)
    #expect(failure.detail.contains("certificate required"), "\(failure.detail)")
    request.tls.certificate = WebSocketPeerTLS.files.clientCertificate
    request.tls.key = WebSocketPeerTLS.files.clientKey
    let dialing = try WebSocketDialing()
    #expect(try dialing.open(request) == nil)
  }

  @Test func missingCertificateFilesAreNamed() throws {
    let peer = try peer()
    var request = WebSocketDialing.request(peer.port, secure: true)
    request.tls.ca = .file("/nonexistent/ca.pem")
    let authority = try WebSocketDialing().failure(request).failure
    #expect(authority.reason == .tls)
    #expect(authority.detail.contains("/nonexistent/ca.pem"), "\(authority.detail)")
    request.tls.ca = .file(WebSocketPeerTLS.files.authority)
    request.tls.certificate = "/nonexistent/client.pem"
    request.tls.key = WebSocketPeerTLS.files.clientKey
    let certificate = try WebSocketDialing().failure(request).failure
    #expect(certificate.reason == .tls)
    #expect(certificate.detail.hasSuffix("/nonexistent/client.pem: No such file or directory"), "\(certificate.detail)")
  }

  @Test func clearTextToATLSPortIsUnderstood() throws {
    let peer = try peer()
    let failure = try WebSocketDialing().failure(WebSocketDialing.request(peer.port)).failure
    #expect(failure.reason == .tls || failure.reason == .closed, "\(failure.detail)")
  }

  @Test func tlsAlertInsteadOfHTTPIsUnderstood() throws {
    let failure = try failure { connection in
      _ = try connection.readHead()
      try connection.write([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46])
    }
    let detail = "the server speaks TLS on this port: use wss:// or https://"
    #expect(failure.failure == UpstreamFailure(.tls, detail))
  }

  @Test func tlsToAClearTextPortIsUnderstood() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
      connection.awaitEnd()
    }
    let failure = try WebSocketDialing().failure(WebSocketDialing.request(peer.port, secure: true)).failure
    let detail = "127.0.0.1:\(peer.port) does not speak TLS: use ws:// or http:// if that is meant"
    #expect(failure == UpstreamFailure(.tls, detail))
  }

  @Test func whatToWriteForAClearTextPortIsOfTheSameKind() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.write("220 smtp.example ESMTP\r\n")
      connection.awaitEnd()
    }
    var request = WebSocketDialing.request(peer.port, secure: true)
    request.schemes = URLSchemes(of: UpstreamURL(scheme: "tls", host: "127.0.0.1"))
    let failure = try WebSocketDialing(carrying: .lines).failure(request).failure
    let detail = "127.0.0.1:\(peer.port) does not speak TLS: use tcp:// if that is meant"
    #expect(failure == UpstreamFailure(.tls, detail))
  }

  @Test func serverSilentInTheTLSHandshakeIsATimeoutOfThatPhase() throws {
    let peer = try WebSocketPeer { _, connection in connection.awaitEnd() }
    var request = WebSocketDialing.request(peer.port, secure: true)
    request.phaseLimit = .milliseconds(200)
    let failure = try WebSocketDialing().failure(request).failure
    let detail = "127.0.0.1:\(peer.port) did not finish the TLS handshake within 200 ms"
    #expect(failure == UpstreamFailure(.timeout, detail))
  }
}
