import Testing

@testable import GatewayCore

private typealias Session = EngineIOSession

private func at(_ seconds: Double) -> MonotonicInstant { MonotonicInstant(nanoseconds: Int64(seconds * 1e9)) }

private let handshake = EngineIOHandshake(
  sid: "s", pingInterval: .seconds(25), pingTimeout: .seconds(20), maxPayload: 1_000)
private let lost = UpstreamFailure(.closed, "gone")
private func broken(_ detail: String) -> Session.Action { .end(UpstreamFailure(.protocolError, detail)) }

private func session(_ revision: EngineIORevision = .four, _ events: Session.Event...) -> Session {
  var session = Session(revision: revision, handshakeLimit: .seconds(10))
  for event in events { _ = session.handle(event) }
  return session
}

private let dialling = session()
private let opening = session(.four, .transportOpened)
private let open = session(.four, .transportOpened, .handshake(handshake, at: at(0)))
private let openThree = session(.three, .transportOpened, .handshake(handshake, at: at(0)))
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
        .handshake(handshake, at: at(1)), early, [.arm(.seconds(45)), .announce],
        [.disarm, broken("the server sent a second Engine.IO handshake")]
      ),
      (.revisionThreeSeen(at: at(1)), [], [], [.arm(.seconds(25))]),
      (.ping([7], at: at(1)), early, noHandshake, [.sendPong([7]), .arm(.seconds(45))]),
      (.pong(at: at(1)), early, noHandshake, []),
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
        .timerFired(at: at(10)), [],
        [.disarm, .end(UpstreamFailure(.timeout, "the server sent no Engine.IO handshake in time"))],
        [.arm(.seconds(35))]
      ),
      (
        .overdue, [], [],
        [.disarm, .end(UpstreamFailure(.heartbeat, "the heartbeat was overdue when something was to be sent"))]
      ),
      (
        .probeUnanswered, [], [],
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
      let ends = expected.contains { if case .end = $0 { true } else { $0 == .disarm } }
      #expect((session.state == .closed) == (ends || start.state == .closed), "\(row.event) in \(start.state)")
    }
  }
}

@Test func serverPingsKeepRevisionFourAlive() {
  var session = open
  #expect(session.handle(.ping([], at: at(25))) == [.sendPong([]), .arm(.seconds(45))])
  #expect(session.handle(.message) == [.deliver])
  #expect(session.handle(.timerFired(at: at(69.9))) == [.arm(.milliseconds(100))])
}

@Test func theHeartbeatsDeadlineIsWhenTheServerHasGivenUpToo() {
  #expect(open.heartbeatDeadline == at(45))
  var pinged = open
  _ = pinged.handle(.ping([], at: at(25)))
  #expect(pinged.heartbeatDeadline == at(70))
  #expect(openThree.heartbeatDeadline == at(45))
  #expect(opening.heartbeatDeadline == nil)
}

@Test func overdueHeartbeatGetsOneMoreTurnBeforeTheEnd() {
  var session = open
  #expect(session.handle(.timerFired(at: at(45))) == [.arm(.zero)])
  var rescued = session
  #expect(
    session.handle(.timerFired(at: at(45)))
      == [.disarm, .end(UpstreamFailure(.heartbeat, "the server fell silent: its heartbeat is overdue"))])
  #expect(rescued.handle(.ping([], at: at(45.5))) == [.sendPong([]), .arm(.seconds(45))])
  #expect(rescued.handle(.timerFired(at: at(90.5))) == [.arm(.zero)])
}

@Test func messagesAloneDoNotKeepRevisionFourAlive() {
  var session = open
  _ = session.handle(.timerFired(at: at(45)))
  _ = session.handle(.message)
  #expect(
    session.handle(.timerFired(at: at(45))).last
      == .end(UpstreamFailure(.heartbeat, "the server fell silent: its heartbeat is overdue")))
}

@Test func clientPingsInRevisionThreeAndMeasuresTheRoundTrip() {
  var session = openThree
  #expect(session.handle(.timerFired(at: at(25))) == [.sendPing, .arm(.seconds(20))])
  #expect(session.handle(.pong(at: at(25.04))) == [])
  #expect(session.roundTrip == .milliseconds(40))
  #expect(session.handle(.timerFired(at: at(45))) == [.arm(.seconds(5))])
  #expect(session.handle(.timerFired(at: at(50))) == [.sendPing, .arm(.seconds(20))])
}

@Test func anythingHeardKeepsRevisionThreeAlive() {
  for event in [Session.Event.message, .filler, .ping([], at: at(30)), .pong(at: at(30))] {
    var session = openThree
    _ = session.handle(.timerFired(at: at(25)))
    _ = session.handle(event)
    #expect(session.handle(.timerFired(at: at(45))) == [.arm(.seconds(5))], "\(event)")
  }
}

@Test func silenceAfterOurPingEndsRevisionThree() {
  var session = openThree
  _ = session.handle(.timerFired(at: at(25)))
  #expect(session.handle(.timerFired(at: at(45))) == [.arm(.zero)])
  #expect(
    session.handle(.timerFired(at: at(45))).last
      == .end(UpstreamFailure(.heartbeat, "the server fell silent: its heartbeat is overdue")))
}

@Test func revisionThreePingsOnWhileAnAnswerIsPending() {
  let slow = EngineIOHandshake(sid: "s", pingInterval: .seconds(25), pingTimeout: .seconds(60), maxPayload: nil)
  var session = session(.three, .transportOpened, .handshake(slow, at: at(0)))
  #expect(session.handle(.timerFired(at: at(25))) == [.sendPing, .arm(.seconds(25))])
  #expect(session.handle(.timerFired(at: at(50))) == [.sendPing, .arm(.seconds(25))])
  #expect(session.handle(.timerFired(at: at(75))) == [.sendPing, .arm(.seconds(10))])
  #expect(session.handle(.timerFired(at: at(85))) == [.arm(.zero)])
}

@Test func strayPingIsNotAnsweredInRevisionThree() {
  var session = openThree
  #expect(session.handle(.ping([1], at: at(1))) == [])
}

@Test func switchingToRevisionThreeTurnsTheHeartbeatRound() {
  var session = open
  #expect(session.handle(.revisionThreeSeen(at: at(2))) == [.arm(.seconds(25))])
  #expect(session.revision == .three)
  #expect(session.handle(.timerFired(at: at(27))) == [.sendPing, .arm(.seconds(20))])
}

@Test func pingWithTooMuchDataBreaksTheProtocol() {
  var session = open
  let most = [UInt8](repeating: 0, count: 128)
  #expect(session.handle(.ping(most, at: at(1))).first == .sendPong(most))
  #expect(session.handle(.ping(most + [0], at: at(1))).last == broken("the server sent a ping with too much data"))
}
