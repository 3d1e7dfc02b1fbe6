import Testing

@testable import GatewayCore

/// What a refusal leads to when the credentials can be read again.
@Suite struct SocketIORefusalRetryTests {
  private let refusal = #"44{"message":"go away"}"#

  private func refused(_ detail: String) -> [ChannelLog.Entry] {
    [
      .ended(
        UpstreamFailure(.refused, "the server refused the namespace /: go away" + detail, serverMessage: "go away"))
    ]
  }

  private func open(_ rig: SocketIORig) {
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake)
  }

  @Test func changedFileIsTriedOnceMoreAtOnce() {
    let rig = SocketIORig()
    rig.credentials.files["/t"] = "one"
    let connection = rig.connection { $0.auth = .file("/t") }
    open(rig)
    rig.credentials.files["/t"] = "two"
    rig.transport.receive(refusal)
    rig.turn()
    #expect(connection.log.take() == [] && rig.dialer.transports.count == 2)
    open(rig)
    #expect(rig.transport.takeSent() == [#"40{"token":"two"}"#])
    rig.transport.receive(#"40{"sid":"s"}"#)
    #expect(connection.log.take() == [.opened])
  }

  @Test func sameFileIsNotTriedAgain() {
    let rig = SocketIORig()
    rig.credentials.files["/t"] = "one"
    let connection = rig.connection { $0.auth = .file("/t") }
    open(rig)
    rig.transport.receive(refusal)
    rig.turn()
    #expect(connection.log.take() == refused("") && rig.dialer.transports.count == 1)
  }

  @Test func fileThatIsGoneDoesNotHideTheRefusal() {
    let rig = SocketIORig()
    rig.credentials.files["/t"] = "one"
    let connection = rig.connection { $0.auth = .file("/t") }
    open(rig)
    rig.credentials.files["/t"] = nil
    rig.transport.receive(refusal)
    rig.turn()
    #expect(connection.log.take() == refused(""))
  }

  @Test func commandRunsAgainExactlyOnce() {
    let rig = SocketIORig()
    rig.credentials.output["c"] = ["same"]
    let connection = rig.connection { $0.auth = .external(.command(["c"])) }
    open(rig)
    rig.transport.receive(refusal)
    rig.turn()
    #expect(rig.credentials.reads == 2)
    open(rig)
    rig.transport.receive(refusal)
    rig.turn()
    #expect(rig.credentials.reads == 2 && rig.dialer.transports.count == 2)
    #expect(connection.log.take() == refused("; the credentials were read again and refused again"))
  }

  @Test func secretOfTheConfigurationIsNotTriedAgain() {
    let rig = SocketIORig()
    let connection = rig.connection { $0.auth = .inline([UInt8]("{}".utf8)) }
    open(rig)
    rig.transport.receive(refusal)
    #expect(connection.log.take() == refused(""))
  }

  @Test func expiredTokenIsNamedInTheDetail() {
    let rig = SocketIORig()
    let seconds = rig.time.wallMilliseconds / 1_000 - 100
    rig.credentials.files["/t"] = webToken(#"{"exp":\#(seconds)}"#)
    let connection = rig.connection { $0.auth = .file("/t") }
    open(rig)
    rig.transport.receive(refusal)
    rig.turn()
    #expect(connection.log.take() == refused("; by this machine's clock their token expired 100 s ago"))
  }

  @Test(arguments: [401, 403])
  func statusThatRefusesReadsTheHeadersAgain(_ status: Int) {
    let rig = SocketIORig()
    rig.credentials.output["c"] = ["one\n", "two\n"]
    let connection = rig.connection {
      $0.headerSources = [SecretMember(name: "Authorization", prefix: "Bearer ", source: .command(["c"]))]
    }
    #expect(rig.transport.request.headers == [HTTPHeader(name: "Authorization", value: "Bearer one")])
    rig.transport.fail(UpstreamFailure(.http, "no", status: status))
    rig.turn()
    #expect(rig.transport.request.headers == [HTTPHeader(name: "Authorization", value: "Bearer two")])
    rig.transport.fail(UpstreamFailure(.http, "no", status: status))
    rig.turn()
    let detail = "no; the credentials were read again and refused again"
    #expect(connection.log.take() == [.ended(UpstreamFailure(.http, detail, status: status))])
    #expect(rig.dialer.transports.count == 2)
  }

  @Test func otherStatusReadsNothingAgain() {
    let rig = SocketIORig()
    rig.credentials.output["c"] = ["one"]
    let connection = rig.connection { $0.querySources = [SecretMember(name: "k", source: .command(["c"]))] }
    #expect(rig.transport.request.target.hasSuffix("&k=one"))
    rig.transport.fail(UpstreamFailure(.http, "no", status: 500))
    rig.turn()
    #expect(connection.log.take() == [.ended(UpstreamFailure(.http, "no", status: 500))])
  }

  @Test func leavingDuringTheSecondReadingDialsNothing() {
    let rig = SocketIORig()
    rig.credentials.output["c"] = ["one"]
    let connection = rig.connection { $0.auth = .external(.command(["c"])) }
    open(rig)
    rig.credentials.isHeldBack = true
    rig.transport.receive(refusal)
    rig.turn()
    connection.close()
    rig.credentials.release()
    rig.turn()
    #expect(connection.log.take() == [] && rig.dialer.transports.count == 1 && rig.kind.linkCount == 0)
  }
}

/// The credentials of several connections, and of the HTTP request.
@Suite struct UpstreamCredentialsTests {
  @Test func connectionsThatWantTheSameAtTheSameTimeShareOneRun() {
    let rig = SocketIORig()
    rig.credentials.isHeldBack = true
    rig.credentials.output["c"] = ["one"]
    let first = rig.connection("/a") { $0.auth = .external(.command(["c"])) }
    let second = rig.connection("/b") { $0.auth = .external(.command(["c"])) }
    #expect(rig.credentials.reads == 1)
    rig.credentials.release()
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake)
    #expect(rig.transport.takeSent() == [#"40/a,{"token":"one"}"#, #"40/b,{"token":"one"}"#])
    #expect(first.log.take() == [] && second.log.take() == [] && rig.dialer.transports.count == 1)
  }

  @Test(arguments: [
    ("a\r\nX: y", "holds a line break or another control character and cannot be the value of a header or parameter"),
    ("a\u{0}b", "holds a line break or another control character and cannot be the value of a header or parameter"),
    ("", "is empty"), (" \n", "is empty"),
    (String(repeating: "x", count: 8_193), "is larger than the 8192 bytes that a header or parameter may have"),
  ])
  func valueThatCannotStandInAHeaderEndsTheAttempt(_ content: String, _ problem: String) {
    let rig = SocketIORig()
    rig.credentials.files["/h"] = content
    let connection = rig.connection { $0.headerSources = [SecretMember(name: "A", source: .file("/h"))] }
    rig.turn()
    #expect(connection.log.take() == [.ended(UpstreamFailure(.auth, "the credential file /h \(problem)"))])
    #expect(rig.dialer.transports.isEmpty)
  }

  @Test func secretsOfARequestAreNotInItsTexts() {
    let secrets = ConnectSecrets(
      payload: Array("hunter2".utf8), headers: [HTTPHeader(name: "A", value: "hunter2")],
      query: [QueryItem(name: "b", value: "hunter2")])
    var dumped = ""
    dump(secrets, to: &dumped)
    #expect(!"\(secrets) \(String(reflecting: secrets)) \(dumped)".contains("hunter2"))
  }

  @Test func sourcesSeparateLinksAndValuesDoNot() {
    let rig = SocketIORig()
    func key(_ path: String) -> LinkKey {
      LinkKey(rig.specification { $0.headerSources = [SecretMember(name: "A", source: .file(path))] })
    }
    #expect(key("/a") == key("/a") && key("/a") != key("/b"))
    #expect(
      key("/a") != LinkKey(rig.specification { $0.querySources = [SecretMember(name: "A", source: .file("/a"))] }))
  }

  @Test func changedFileEndsTheWaiting() {
    let rig = SocketIORig()
    rig.credentials.files["/t"] = "one"
    let connection = rig.connection { $0.auth = .file("/t") }
    var calls = 0
    connection.connector.awaitNewCredentials { calls += 1 }
    rig.advance(.seconds(5))
    #expect(calls == 0)
    rig.credentials.files["/t"] = "two"
    rig.advance(.seconds(1))
    #expect(calls == 1)
    rig.credentials.files["/t"] = "three"
    rig.advance(.seconds(10))
    #expect(calls == 1)
  }

  @Test func newAttemptEndsTheWaiting() {
    let rig = SocketIORig()
    rig.credentials.files["/t"] = "one"
    let connection = rig.connection { $0.auth = .file("/t") }
    var calls = 0
    connection.connector.awaitNewCredentials { calls += 1 }
    connection.dial()
    rig.credentials.files["/t"] = "two"
    rig.advance(.seconds(10))
    #expect(calls == 0)
  }
}

/// Tokens that expire.
@Suite struct CredentialRefreshTests {
  /// A joined connection whose file holds a token that expires in so many seconds.
  private func joined(_ rig: SocketIORig, expiresIn seconds: Int64) -> SocketIORig.Connection {
    join(rig, token(rig, seconds))
  }

  private func join(_ rig: SocketIORig, _ content: String) -> SocketIORig.Connection {
    rig.credentials.files["/t"] = content
    return rig.joined { $0.auth = .file("/t") }
  }

  /// Time passes, and the server's heartbeat is heard.
  private func pass(_ seconds: Int, _ rig: SocketIORig) {
    for _ in 0..<seconds / 10 {
      rig.advance(.seconds(10))
      rig.transport.receive("2")
    }
  }

  private func token(_ rig: SocketIORig, _ seconds: Int64) -> String {
    webToken(#"{"exp":\#(rig.time.wallMilliseconds / 1_000 + seconds)}"#)
  }

  @Test func newTokenIsFoundAheadOfTheOldOnesEnd() {
    let rig = SocketIORig()
    let connection = joined(rig, expiresIn: 1_000)
    rig.credentials.files["/t"] = token(rig, 9_000)
    pass(800, rig)
    #expect(connection.log.take() == [])
    pass(100, rig)
    #expect(connection.log.take() == [.newCredentials])
    pass(10_000, rig)
    #expect(connection.log.take() == [])
  }

  @Test func oldTokenIsReadAgainLaterAndNeverInALoop() {
    let rig = SocketIORig()
    let connection = joined(rig, expiresIn: 1_000)
    let before = rig.credentials.reads
    pass(4_000, rig)
    #expect(connection.log.take() == [])
    #expect((before + 3...before + 12).contains(rig.credentials.reads))
    rig.credentials.files["/t"] = token(rig, 9_000)
    pass(620, rig)
    #expect(connection.log.take() == [.newCredentials])
  }

  @Test func withoutAnEndNothingIsReadAgain() {
    let rig = SocketIORig()
    let connection = join(rig, webToken(#"{"sub":"x"}"#))
    pass(80_000, rig)
    #expect(rig.credentials.reads == 1 && connection.log.take() == [])
  }

  @Test func channelThatLeftReadsNothing() {
    let rig = SocketIORig()
    let connection = joined(rig, expiresIn: 1_000)
    connection.close()
    rig.advance(.seconds(10_000))
    #expect(rig.credentials.reads == 1)
  }
}
