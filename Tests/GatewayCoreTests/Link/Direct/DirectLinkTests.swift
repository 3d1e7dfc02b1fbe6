import Testing

@testable import GatewayCore

/// What every kind with one transport per connection has of its link, shown with plain WebSockets.
@Suite struct DirectLinkTests {
  private let rig = DirectRig()

  @Test func theRequestCarriesWhatTheURLAndTheSettingsSay() throws {
    _ = try rig.connection(DirectRig.socket) {
      $0.headers = [HTTPHeader(name: "X-Team", value: "a")]
      $0.query = [QueryItem(name: "k", value: "1 2")]
      $0.websocket.subprotocols = ["a", "b"]
    }
    let request = rig.transport.request
    #expect(request.target == "/live?k=1%202&v=1")
    #expect(request.headers == [HTTPHeader(name: "X-Team", value: "a")])
    #expect(request.subprotocols == ["a", "b"])
    #expect(!request.secure && request.port == 80)
  }

  @Test func aURLWithoutAPathAsksForTheRoot() throws {
    _ = try rig.connection(UpstreamURL(scheme: "raw+wss", host: "h"))
    #expect(rig.transport.request.target == "/")
    #expect(rig.transport.request.secure && rig.transport.request.port == 443)
  }

  @Test func secretsAreReadForTheAttemptAndStandInTheRequest() throws {
    rig.credentials.files["/token"] = "t1"
    _ = try rig.connection(UpstreamURL(scheme: "raw+ws", host: "h")) {
      $0.headerSources = [SecretMember(name: "Authorization", prefix: "Bearer ", source: .file("/token"))]
      $0.querySources = [SecretMember(name: "q", source: .file("/token"))]
    }
    #expect(rig.transport.request.headers == [HTTPHeader(name: "Authorization", value: "Bearer t1")])
    #expect(rig.transport.request.target == "/?q=t1")
  }

  @Test func whatCannotBeReadIsToldOnce() throws {
    let connection = try rig.connection(DirectRig.socket) {
      $0.headerSources = [SecretMember(name: "A", source: .file("/missing"))]
    }
    #expect(connection.log.take().isEmpty)
    rig.timers.fire()
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .auth)
    #expect(!connection.log.wasDisturbed && rig.dialer.transports.isEmpty)
  }

  @Test func theNextURLIsTriedWhereOneCannotBeUsed() throws {
    let connection = try rig.connection(UpstreamURL(scheme: "raw+ws", host: "a")) {
      $0.alternatives = [UpstreamURL(scheme: "raw+ws", host: "b")]
    }
    rig.transport.fail(UpstreamFailure(.unreachable, "no"))
    #expect(rig.transport.request.host == "b")
    rig.transport.open()
    #expect(connection.log.take() == [.opened])
    rig.transport.fail(UpstreamFailure(.closed, "gone"))
    #expect(connection.log.take() == [.ended(UpstreamFailure(.closed, "gone"))])
    connection.dial()
    #expect(rig.transport.request.host == "b")
  }

  @Test func aRedirectIsFollowedWhereItMayBe() throws {
    let connection = try rig.connection(DirectRig.socket) { $0.redirects = .sameHost }
    rig.transport.fail(
      UpstreamFailure(.http, "elsewhere", status: 302), headers: [HTTPHeader(name: "location", value: "/there")])
    #expect(rig.transport.request.target == "/there?v=1")
    rig.transport.open()
    #expect(connection.log.take() == [.opened])
  }

  @Test func aServerThatAsksForPatienceIsHeard() throws {
    let connection = try rig.connection(DirectRig.socket)
    rig.transport.fail(
      UpstreamFailure(.http, "later", status: 503), headers: [HTTPHeader(name: "retry-after", value: "7")])
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.retryAfter == .seconds(7))
  }

  @Test func aRefusalIsAnsweredWithFreshCredentialsOnce() throws {
    rig.credentials.output["token"] = ["old", "new"]
    let connection = try rig.connection(DirectRig.socket) {
      $0.headerSources = [SecretMember(name: "A", source: .command(["token"]))]
    }
    let refusal = UpstreamFailure(.http, "no", status: 401)
    rig.transport.fail(refusal)
    rig.timers.fire()
    #expect(rig.transport.request.headers.map(\.value) == ["new"])
    rig.transport.fail(refusal)
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.detail.hasSuffix("read again and refused again"))
    #expect(rig.dialer.transports.count == 2)
  }

  @Test func cookiesComeBackWithTheNextAttempt() throws {
    let connection = try rig.connection(DirectRig.socket)
    rig.transport.fail(
      UpstreamFailure(.http, "no", status: 500), headers: [HTTPHeader(name: "set-cookie", value: "n=3")])
    _ = connection.log.take()
    connection.dial()
    #expect(rig.transport.request.headers == [HTTPHeader(name: "Cookie", value: "n=3")])
  }

  @Test func aSilentServerIsGoneAfterItsTime() throws {
    let connection = try rig.open(DirectRig.socket)
    rig.pass(.seconds(25))
    #expect(rig.transport.probes == 1)
    rig.transport.answerProbe()
    rig.pass(.seconds(25))
    #expect(rig.transport.probes == 2)
    rig.pass(.seconds(21))
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .heartbeat)
    #expect(rig.transport.isClosed && rig.timers.nextDeadline == nil)
  }

  @Test func aMachineThatSleptDoesNotWriteIntoADeadLink() throws {
    let connection = try rig.open(DirectRig.socket)
    rig.time.advance(by: .seconds(3_600))
    connection.channel?.checkHeartbeat()
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .heartbeat)
  }

  @Test func aDoubtIsAnsweredInTimeOrEndsTheLink() throws {
    let connection = try rig.open(DirectRig.socket)
    rig.pass(.seconds(25))
    rig.transport.answerProbe()
    connection.channel?.verify()
    #expect(rig.transport.probes == 2)
    rig.transport.receive("x")
    rig.pass(.seconds(6))
    #expect(connection.log.take().count == 1)
    connection.channel?.verify()
    rig.pass(.seconds(6))
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .heartbeat)
  }

  @Test func leavingTellsNobodyAndLeavesNothingRunning() throws {
    let connection = try rig.open(DirectRig.socket)
    connection.close()
    #expect(rig.transport.isClosed && connection.log.take().isEmpty && rig.timers.nextDeadline == nil)
    let early = try rig.connection(DirectRig.socket)
    early.close()
    #expect(rig.transport.isClosed && rig.timers.nextDeadline == nil)
  }

  @Test func factsTellWhatIsKnown() throws {
    let connection = try rig.open(DirectRig.socket)
    rig.time.advance(by: .seconds(2))
    let facts = connection.channel?.facts
    #expect(facts?.server == "http://h" && facts?.transport?.name == "websocket")
    #expect(facts?.heartbeat?.interval == .seconds(25) && facts?.heartbeatAge == .seconds(2))
    #expect(facts?.protocols.map(\.name) == ["websocket"])
  }

  @Test func aTraceTellsTheWayWithoutSecrets() throws {
    rig.credentials.files["/token"] = "hunter2secret"
    let connection = try rig.connection(DirectRig.socket) {
      $0.headerSources = [SecretMember(name: "A", source: .file("/token"))]
    }
    let observer = Watcher()
    connection.connector.observer = observer
    rig.transport.open()
    rig.transport.receive("hunter2secret")
    connection.close()
    #expect(
      observer.texts == ["http OPEN websocket", "websocket EVENT message (1 arg, 13 bytes)", "http CLOSE"])
  }

  private final class Watcher: UpstreamObserver {
    let wantsPayloads = false
    var texts: [String] = []
    func observed(_ fact: TraceFact) { texts.append("\(fact.layer.rawValue) \(fact.text)") }
  }
}
