import Testing

@testable import GatewayCore

private typealias Session = EngineIOSession

private let handshake = EngineIOHandshake(
  sid: "s", pingInterval: .seconds(25), pingTimeout: .seconds(20), maxPayload: 1_000)
private let settings = HeartbeatSettings(interval: .seconds(25), timeout: .seconds(20))
private let lost = UpstreamFailure(.closed, "gone")
private func broken(_ detail: String) -> Session.Action { .end(UpstreamFailure(.protocolError, detail)) }

private func session(_ revision: EngineIORevision = .four, _ events: Session.Event...) -> Session {
  var session = Session(revision: revision, handshakeLimit: .seconds(10))
  for event in events { _ = session.handle(event) }
  return session
}

private let dialling = session()
private let opening = session(.four, .transportOpened)
private let open = session(.four, .transportOpened, .handshake(handshake))
private let openThree = session(.three, .transportOpened, .handshake(handshake))
private let closed = session(.four, .hangUp)

/// Every event with the actions it causes in `dialling`, `opening`, `open` and `closed`.
private let table:
  [(event: Session.Event, dialling: [Session.Action], opening: [Session.Action], open: [Session.Action])] = {
    let early = [Session.Action.disarm, broken("a packet came at a moment when none could")]
    let noHandshake = [
      Session.Action.disarm,
      broken(
        "the server did not begin with an Engine.IO handshake: it may be a WebSocket server of another kind"),
    ]
    let closes = [Session.Action.disarm, .end(UpstreamFailure(.closed, "the server closed the session"))]
    let empty = [Session.Action.disarm, broken("the server sent an empty Engine.IO packet")]
    let notJSON = [Session.Action.disarm, broken("the server's Engine.IO handshake is not JSON")]
    return [
      (.transportOpened, [.arm(.seconds(10))], early, early),
      (.transportLost(lost), [.disarm, .end(lost)], [.disarm, .end(lost)], [.disarm, .end(lost)]),
      (
        .handshake(handshake), early, [.disarm, .beat(settings), .announce],
        [.disarm, broken("the server sent a second Engine.IO handshake")]
      ),
      (.revisionThreeSeen, [], [], [.beat(settings)]),
      (.ping([7]), early, noHandshake, [.sendPong([7]), .beat(settings)]),
      (.message, early, noHandshake, [.deliver]),
      (.filler, early, noHandshake, []),
      (.closePacket, early, closes, closes),
      (.undecodable(.emptyPacket), early, noHandshake, empty),
      (
        .undecodable(.unknownType(104)), early, noHandshake,
        [.disarm, broken("the server sent an unknown Engine.IO packet")]
      ),
      (.undecodable(.handshakeNotJSON), early, notJSON, notJSON),
      (
        .timerFired, [],
        [.disarm, .end(UpstreamFailure(.timeout, "the server sent no Engine.IO handshake in time"))], []
      ),
      (
        .silent(.heartbeat), [], [],
        [.disarm, .end(UpstreamFailure(.heartbeat, "the server fell silent: its heartbeat is overdue"))]
      ),
      (
        .silent(.atWriting), [], [],
        [.disarm, .end(UpstreamFailure(.heartbeat, "the heartbeat was overdue when something was to be sent"))]
      ),
      (
        .silent(.probe), [], [],
        [
          .disarm,
          .end(
            UpstreamFailure(.heartbeat, "the server did not answer when it was asked whether it is still there")),
        ]
      ),
      (.hangUp, [.disarm], [.disarm], [.disarm]),
    ]
  }()

@Test func engineSessionAnswersEveryEventInEveryState() {
  for row in table {
    for (start, expected) in [(dialling, row.dialling), (opening, row.opening), (open, row.open), (closed, [])] {
      var session = start
      #expect(session.handle(row.event) == expected, "\(row.event) in \(start.state)")
      let ends =
        expected.contains { if case .end = $0 { true } else { $0 == .disarm } } && !expected.contains(.announce)
      #expect((session.state == .closed) == (ends || start.state == .closed), "\(row.event) in \(start.state)")
    }
  }
}

@Test func strayPingIsNotAnsweredInRevisionThree() {
  var session = openThree
  #expect(session.handle(.ping([1])) == [])
}

@Test func switchingToRevisionThreeTurnsTheHeartbeatRound() {
  var session = open
  #expect(session.handle(.revisionThreeSeen) == [.beat(settings)])
  #expect(session.revision == .three)
}

@Test func pingWithTooMuchDataBreaksTheProtocol() {
  var session = open
  let most = [UInt8](repeating: 0, count: 128)
  #expect(session.handle(.ping(most)).first == .sendPong(most))
  #expect(session.handle(.ping(most + [0])).last == broken("the server sent a ping with too much data"))
}
