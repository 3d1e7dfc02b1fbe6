import Testing

@testable import GatewayCore

/// A link whose upstream has two URLs, `h` and `b`.
@Suite struct LinkFailoverTests {
  private let rig = SocketIORig()

  private func connection(_ change: (inout UpstreamSettings) -> Void = { _ in }) -> SocketIORig.Connection {
    rig.connection {
      $0.alternatives = [UpstreamURL(scheme: "http", host: "b")]
      change(&$0)
    }
  }

  private func open() {
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake)
  }

  @Test func serverThatNeverAnswersForTheNamespaceIsFollowedByTheNext() {
    let connection = connection()
    open()
    rig.advance(.seconds(10))
    #expect(rig.transport.request.host == "b")
    #expect(connection.log.take() == [])
    open()
    #expect(rig.transport.takeSent() == ["40"])
    rig.transport.receive(#"40{"sid":"s"}"#)
    #expect(connection.log.take() == [.opened])
    rig.advance(.seconds(20))
    #expect(connection.log.take() == [])
  }

  @Test func silenceOfEveryServerIsToldOfEach() {
    let connection = connection()
    for _ in 0..<2 {
      open()
      rig.advance(.seconds(10))
    }
    let silence = "the server did not answer the request for the namespace in time"
    #expect(
      connection.log.take() == [.ended(UpstreamFailure(.timeout, "http://h: \(silence); http://b: \(silence)"))])
    #expect(rig.dialer.transports.count == 2 && rig.kind.linkCount == 0)
  }

  @Test func namespaceThatHangsBesideOneThatWasAnsweredEndsAlone() {
    let first = connection()
    open()
    rig.transport.receive(#"40{"sid":"s"}"#)
    let second = rig.connection("/slow") { $0.alternatives = [UpstreamURL(scheme: "http", host: "b")] }
    rig.advance(.seconds(10))
    #expect(first.log.take() == [.opened])
    #expect(second.log.take() == [.ended(SocketIOSession.timeout)])
    #expect(rig.dialer.transports.count == 1)
  }

  @Test func nothingThatADeadServerBeganIsTakenForTheNextOnes() {
    let connection = connection { $0.attachmentTimeout = .seconds(5) }
    open()
    rig.transport.receive(#"42["early"]"#, #"451-["half",{"_placeholder":true,"num":0}]"#)
    rig.transport.fail(UpstreamFailure(.closed, "gone"))
    #expect(rig.transport.request.host == "b")
    open()
    rig.transport.receive(#"40{"sid":"s"}"#)
    #expect(connection.log.take() == [.opened])
    rig.advance(.seconds(6))
    rig.transport.receive(#"42["b"]"#)
    #expect(connection.log.take() == [.event(#""b"()"#)])
  }

  @Test func refusedCredentialsAreReadAgainThoughAnotherURLIsThere() {
    rig.credentials.output["c"] = ["one", "two"]
    let connection = connection {
      $0.headerSources = [SecretMember(name: "X-Key", source: .command(["c"]))]
    }
    rig.transport.fail(UpstreamFailure(.http, "no", status: 401))
    rig.turn()
    #expect(rig.transport.request.host == "h")
    #expect(rig.transport.request.headers == [HTTPHeader(name: "X-Key", value: "two")])
    #expect(connection.log.take() == [])
  }

  @Test func configuredHeadersDoNotFollowARedirectToAnotherHost() {
    rig.credentials.files["/k"] = "hunter2"
    let connection = connection {
      $0.redirects = .any
      $0.headers = [HTTPHeader(name: "X-Team", value: "a")]
      $0.headerSources = [SecretMember(name: "X-Api-Key", source: .file("/k"))]
      $0.querySources = [SecretMember(name: "q", source: .file("/k"))]
    }
    #expect(rig.transport.request.headers.map(\.name) == ["X-Team", "X-Api-Key"])
    rig.transport.fail(
      UpstreamFailure(.http, "moved", status: 302), headers: [HTTPHeader(name: "location", value: "http://other/x/")])
    #expect(rig.transport.request.host == "other")
    #expect(rig.transport.request.headers == [])
    #expect(rig.transport.request.target.hasSuffix("&q=hunter2"))
    #expect(connection.log.take() == [])
  }
}
