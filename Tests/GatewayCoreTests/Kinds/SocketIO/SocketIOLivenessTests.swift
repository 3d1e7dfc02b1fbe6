import Testing

@testable import GatewayCore

/// Whether the server is still there, apart from its heartbeat.
@Suite struct SocketIOLivenessTests {
  private func ended(_ detail: String, _ reason: DownReason = .heartbeat) -> [ChannelLog.Entry] {
    [.ended(UpstreamFailure(reason, detail))]
  }

  @Test func theRoundTripIsMeasuredSoonAfterTheOpeningAndAfterEachHeartbeat() {
    let rig = SocketIORig()
    let connection = rig.joined()
    #expect(rig.transport.probes == 0)
    rig.advance(EngineIOSocket.firstMeasurement)
    #expect(rig.transport.probes == 1)
    #expect(connection.channel?.facts.roundTrip == nil)
    rig.time.advance(by: .milliseconds(3))
    rig.transport.answerProbe()
    #expect(connection.channel?.facts.roundTrip == 3)
    rig.advance(.seconds(25))
    rig.transport.receive("2")
    #expect(rig.transport.probes == 2)
    rig.time.advance(by: .milliseconds(8))
    rig.transport.answerProbe()
    #expect(connection.channel?.facts.roundTrip == 8)
  }

  @Test func aPeerThatNeverAnswersIsAskedOnlyOnceAndLivesByItsHeartbeat() {
    let rig = SocketIORig()
    let connection = rig.joined()
    for _ in 0..<3 {
      rig.advance(.seconds(25))
      rig.transport.receive("2")
    }
    connection.channel?.verify()
    rig.advance(.seconds(6))
    rig.turn()
    #expect(rig.transport.probes == 1)
    #expect(connection.log.take() == [])
  }

  @Test func theAgeOfTheHeartbeatIsTold() {
    let rig = SocketIORig()
    let connection = rig.joined()
    rig.advance(.seconds(7))
    #expect(connection.channel?.facts.heartbeatAge == .seconds(7))
    rig.transport.receive("2")
    rig.time.advance(by: .seconds(1))
    #expect(connection.channel?.facts.heartbeatAge == .seconds(1))
  }

  @Test func revisionThreeMeasuresByItsOwnPingsOnceTheyAreAnswered() {
    let rig = SocketIORig()
    let connection = rig.joinedThree()
    rig.advance(EngineIOSocket.firstMeasurement)
    rig.time.advance(by: .milliseconds(3))
    rig.transport.answerProbe()
    #expect(connection.channel?.facts.roundTrip == 3)
    rig.advance(.seconds(24))
    #expect(rig.transport.takeSent() == ["2"])
    rig.time.advance(by: .milliseconds(5))
    rig.transport.receive("3")
    #expect(connection.channel?.facts.roundTrip == 5)
  }

  @Test func aServerThatDoesNotAnswerAnUrgentQuestionInTimeIsGone() {
    let rig = SocketIORig()
    let connection = rig.joined()
    rig.advance(EngineIOSocket.firstMeasurement)
    rig.transport.answerProbe()
    connection.channel?.verify()
    connection.channel?.verify()
    #expect(rig.transport.probes == 2)
    rig.advance(.milliseconds(4_999))
    rig.turn()
    #expect(connection.log.take() == [])
    rig.advance(.milliseconds(1))
    rig.turn()
    #expect(
      connection.log.take() == ended("the server did not answer when it was asked whether it is still there"))
    #expect(rig.transport.isClosed)
  }

  @Test(arguments: ["answer", "event", "binary", "ping"])
  func anythingFromTheServerAnswersAnUrgentQuestion(_ sign: String) {
    let rig = SocketIORig()
    let connection = rig.joined()
    rig.advance(EngineIOSocket.firstMeasurement)
    rig.transport.answerProbe()
    connection.channel?.verify()
    rig.advance(.seconds(4))
    switch sign {
    case "answer": rig.transport.answerProbe()
    case "event": rig.transport.receive(#"42["hi"]"#)
    case "binary":
      rig.transport.receive(#"451-["hi",{"_placeholder":true,"num":0}]"#)
      rig.transport.receive(binary: [1])
    default: rig.transport.receive("2")
    }
    _ = connection.log.take()
    rig.advance(.seconds(20))
    rig.turn()
    #expect(connection.log.take() == [])
    connection.channel?.verify()
    rig.advance(.seconds(5))
    rig.turn()
    #expect(connection.log.take().count == 1)
  }

  @Test func aTransportThatCannotAskIsNotJudged() {
    let rig = SocketIORig()
    let connection = rig.joined()
    rig.advance(EngineIOSocket.firstMeasurement)
    rig.transport.answerProbe()
    rig.transport.canProbe = false
    connection.channel?.verify()
    rig.advance(.seconds(6))
    rig.turn()
    #expect(connection.log.take() == [])
  }

  @Test func aHeartbeatThatIsOverdueEndsTheLinkBeforeAnythingIsWritten() {
    let rig = SocketIORig()
    let connection = rig.joined()
    rig.time.advance(by: .milliseconds(44_999))
    connection.channel?.checkHeartbeat()
    #expect(connection.log.take() == [])
    rig.time.advance(by: .milliseconds(1))
    connection.channel?.checkHeartbeat()
    #expect(connection.log.take() == ended("the heartbeat was overdue when something was to be sent"))
    #expect(rig.transport.isClosed)
    #expect(rig.transport.takeSent() == [])
  }

  @Test func attachmentsThatDoNotComeInTimeEndTheLink() {
    let rig = SocketIORig()
    let connection = rig.joined("/") { $0.attachmentTimeout = .seconds(2) }
    rig.transport.receive(#"452-["hi",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#)
    rig.advance(.milliseconds(1_900))
    rig.transport.receive(binary: [1])
    rig.advance(.milliseconds(1_900))
    #expect(connection.log.take() == [])
    rig.advance(.milliseconds(100))
    #expect(
      connection.log.take() == ended("the server announced attachments and did not send them in time", .protocolError))
  }

  @Test func attachmentsThatCameLeaveNoDeadlineBehind() {
    let rig = SocketIORig()
    let connection = rig.joined("/") { $0.attachmentTimeout = .seconds(2) }
    rig.transport.receive(#"451-["hi",{"_placeholder":true,"num":0}]"#)
    rig.transport.receive(binary: [1])
    rig.advance(.seconds(3))
    #expect(connection.log.take() == [.event(#""hi"({"$bin":"AQ=="})"#)])
  }

  @Test func aConnectionWithForceNewSharesItsLinkWithNoOther() {
    let rig = SocketIORig()
    for forceNew in [false, true] {
      rig.dialer.forgetTransports()
      let connections = ["/", "/a", "/b"].map { rig.connection($0) { $0.forceNew = forceNew } }
      #expect(rig.dialer.transports.count == (forceNew ? 3 : 1))
      for connection in connections { connection.close() }
    }
  }

  @Test func aNamespaceHasATimeLimitOfItsOwn() {
    let rig = SocketIORig()
    let connection = rig.connection("/") { $0.connectTimeout = .seconds(30) }
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake)
    rig.advance(.seconds(11))
    #expect(connection.log.take() == [])
    rig.advance(.seconds(19))
    #expect(
      connection.log.take() == ended("the server did not answer the request for the namespace in time", .timeout))
  }
}
