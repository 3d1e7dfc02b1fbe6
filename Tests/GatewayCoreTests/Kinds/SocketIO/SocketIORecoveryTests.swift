import Testing

@testable import GatewayCore

/// Connection state recovery, byte by byte.
@Suite struct SocketIORecoveryTests {
  private let rig = SocketIORig()

  /// A connection to a server that keeps what it misses.
  private func joined(_ change: (inout UpstreamSettings) -> Void = { _ in }) -> SocketIORig.Connection {
    let connection = rig.connection("/", change)
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake, #"40{"sid":"socket","pid":"private"}"#)
    _ = rig.transport.takeSent()
    _ = connection.log.take()
    return connection
  }

  private func cut() { rig.transport.fail(UpstreamFailure(.closed, "the server closed the connection")) }

  /// The CONNECT of a new attempt.
  private func redial(_ connection: SocketIORig.Connection) -> [String] {
    connection.dial()
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake)
    rig.turn()
    return rig.transport.takeSent()
  }

  @Test func theOffsetIsNoArgument() {
    let connection = joined()
    rig.transport.receive(
      #"42["a",1,"Q7yBO7n"]"#, #"42["b" , "Q7yBO7n.1" ]"#, #"42["c","x\"y","Q7yBO7o"]"#, #"42["d",["q"],"Q7yBO7p"]"#)
    #expect(
      connection.log.take() == [
        .event(#""a"(1)"#), .event(#""b"()"#), .event(#""c"("x\"y")"#), .event(#""d"(["q"])"#),
      ])
  }

  @Test func theLastOffsetIsPresentedBeforeTheAuthPayload() {
    let connection = joined { $0.auth = .inline(Array(#"{"token":"t"}"#.utf8)) }
    rig.transport.receive(#"42["a",1,"Q7yBO7n"]"#, #"42["a",2,"Q7yBO7n.1"]"#)
    cut()
    #expect(redial(connection) == [#"40{"pid":"private","offset":"Q7yBO7n.1","token":"t"}"#])
  }

  @Test func whileAnEventIsToldTheSessionIsBehindItAndWhatIsKeptIsNot() {
    let connection = joined()
    #expect(connection.channel?.sessionPlace == SessionPlace(session: "private"))
    #expect(connection.connector.resumption == nil)
    var places: [SessionPlace?] = []
    var kept: [String?] = []
    connection.log.onEvent = { [unowned connection] in
      places.append($0.sessionPlace)
      kept.append(connection.connector.resumption?.offset)
    }
    rig.transport.receive(#"42["a",1,"Q7yBO7n"]"#, #"427["ask",2]"#, #"42["a",3,"Q7yBO7n.1"]"#)
    #expect(places.map { $0?.offset } == ["Q7yBO7n", "Q7yBO7n", "Q7yBO7n.1"])
    #expect(kept == [nil, "Q7yBO7n", "Q7yBO7n"])
    #expect(connection.channel?.sessionPlace == SessionPlace(session: "private", offset: "Q7yBO7n.1"))
  }

  @Test func eventsWithAnAckAndVolatileOnesDoNotSpoilTheOffset() {
    let connection = joined()
    rig.transport.receive(
      #"42["a","Q7yBO7n"]"#, #"427["ask","Q7yBO7p"]"#, #"42["volatile","a word"]"#, #"42["volatile","Warning"]"#,
      #"42["volatile","short"]"#, #"42["volatile",5]"#, #"42["volatile"]"#)
    #expect(
      connection.log.take() == [
        .event(#""a"()"#), .event(#""ask"("Q7yBO7p")#7"#), .event(#""volatile"("a word")"#),
        .event(#""volatile"("Warning")"#), .event(#""volatile"("short")"#), .event(#""volatile"(5)"#),
        .event(#""volatile"()"#),
      ])
    cut()
    #expect(redial(connection) == [#"40{"pid":"private","offset":"Q7yBO7n"}"#])
  }

  @Test func whatWasMissedComesBeforeTheAnswerAndIsDeliveredBehindIt() {
    let connection = joined()
    rig.transport.receive(#"42["a",1,"Q7yBO7n"]"#)
    cut()
    _ = connection.log.take()
    _ = redial(connection)
    rig.transport.receive(
      #"42["a",2,"Q7yBO7o"]"#, #"451-["b",{"_placeholder":true,"num":0},"Q7yBO7p"]"#)
    rig.transport.receive(binary: [1, 2, 3])
    #expect(connection.log.take() == [])
    rig.transport.receive(#"40{"sid":"socket","pid":"private"}"#, #"42["a",3,"Q7yBO7q"]"#)
    #expect(connection.channel?.isRecovered == true)
    #expect(
      connection.log.take() == [
        .opened, .event(#""a"(2)"#), .event(#""b"({"$bin":"AQID"})"#), .event(#""a"(3)"#),
      ])
    cut()
    #expect(redial(connection) == [#"40{"pid":"private","offset":"Q7yBO7q"}"#])
  }

  @Test func anEventWithAReservedNameCountsAsReceived() {
    let connection = joined()
    rig.transport.receive(#"42["a",1,"Q7yBO7n"]"#, #"42["disconnect",1,"Q7yBO7o"]"#)
    cut()
    #expect(redial(connection) == [#"40{"pid":"private","offset":"Q7yBO7o"}"#])
  }

  @Test func anotherPrivateIdIsNoRecovery() {
    let connection = joined()
    rig.transport.receive(#"42["a","Q7yBO7n"]"#)
    cut()
    _ = redial(connection)
    rig.transport.receive(#"40{"sid":"fresh","pid":"other"}"#)
    #expect(connection.channel?.isRecovered == false)
    cut()
    // Without an offset of the new session there is nothing to recover.
    #expect(redial(connection) == ["40"])
  }

  @Test func withoutAnOffsetNothingIsPresented() {
    let connection = joined()
    cut()
    #expect(redial(connection) == ["40"])
  }

  @Test func aServerWithoutRecoveryKeepsItsArguments() {
    let connection = rig.joined()
    rig.transport.receive(#"42["a","Q7yBO7n"]"#)
    #expect(connection.log.take() == [.event(#""a"("Q7yBO7n")"#)])
    cut()
    #expect(redial(connection) == ["40"])
  }

  @Test func leavingOrAKickEndsIt() {
    let connection = joined()
    rig.transport.receive(#"42["a","Q7yBO7n"]"#)
    rig.transport.receive("41")
    #expect(redial(connection) == ["40"])
    rig.transport.receive(#"40{"sid":"s","pid":"p"}"#, #"42["a","Q7yBO7o"]"#)
    connection.close()
    rig.turn()
    #expect(redial(connection) == ["40"])
  }

  @Test func anAttemptThatBrokeWithItsLinkAsksAgain() {
    let connection = joined()
    rig.transport.receive(#"42["a","Q7yBO7n"]"#)
    cut()
    _ = redial(connection)
    rig.transport.receive(#"42["a","Q7yBO7o"]"#)
    cut()
    _ = connection.log.take()
    // What was sent before the answer was never delivered.
    #expect(redial(connection) == [#"40{"pid":"private","offset":"Q7yBO7n"}"#])
  }

  @Test func theOldLinkIsClosedBeforeTheIdIsPresented() {
    let connection = joined()
    rig.transport.receive(#"42["a","Q7yBO7n"]"#)
    let old = rig.transport
    rig.advance(.seconds(46))
    rig.turn()
    #expect(old.isClosed)
    #expect(redial(connection) == [#"40{"pid":"private","offset":"Q7yBO7n"}"#])
  }

  @Test func moreThanCanBeHeldIsNotAskedForAgain() {
    let connection = joined()
    rig.transport.receive(#"42["a","Q7yBO7n"]"#)
    cut()
    _ = redial(connection)
    for _ in 0...HeldEvents.countLimit { rig.transport.receive(#"42["a","Q7yBO7o"]"#) }
    #expect(rig.transport.isClosed)
    #expect(redial(connection) == ["40"])
  }

  @Test func recoveryIsNotShown() {
    var recovery = SocketIORecovery()
    let isSame = recovery.accepted(pid: "private")
    #expect(!isSame && recovery.pid == "private")
    #expect(!"\(recovery)".contains("private") && !String(reflecting: recovery).contains("private"))
  }

  // MARK: - Words that are no offsets

  @Test(arguments: ["online", "42", "Warning", "3-2", "65f0a1b2c3d4e5f6a7b8c9d0", "A7yBO7n", "1732195000000-0"])
  func aWordOfAVolatileEventIsNeverTakenOff(_ word: String) {
    let connection = joined()
    rig.transport.receive(
      #"42["status","\#(word)"]"#, #"42["said","hi","Q7yBO7n"]"#, #"42["status","\#(word)"]"#,
      #"42["said","ho","Q7yBO7o"]"#)
    #expect(
      connection.log.take() == [
        .event(#""status"("\#(word)")"#), .event(#""said"("hi")"#), .event(#""status"("\#(word)")"#),
        .event(#""said"("ho")"#),
      ])
    cut()
    #expect(redial(connection) == [#"40{"pid":"private","offset":"Q7yBO7o"}"#])
  }

  @Test func aWordAloneIsNotPresentedAsAnOffset() {
    let connection = joined()
    rig.transport.receive(#"42["status","online"]"#, #"42["status","42"]"#)
    cut()
    #expect(redial(connection) == ["40"])
  }

  @Test func anOffsetOfATimeFarFromTheServersClockStaysAnArgument() {
    let connection = joined()
    rig.time.wallMilliseconds = 0
    rig.transport.receive(#"42["a",1,"Q7yBO7n"]"#)
    #expect(connection.log.take() == [.event(#""a"(1,"Q7yBO7n")"#)])
    cut()
    #expect(redial(connection) == ["40"])
  }

  @Test func theServersDateCountsMoreThanTheLocalClock() {
    rig.time.wallMilliseconds = 0
    let connection = rig.connection("/")
    rig.transport.open(headers: [HTTPHeader(name: "date", value: "Sat, 21 Nov 2026 03:36:43 GMT")])
    rig.transport.receive(SocketIORig.handshake, #"40{"sid":"socket","pid":"private"}"#)
    _ = connection.log.take()
    rig.transport.receive(#"42["a",1,"Q7yBO7n"]"#)
    #expect(connection.log.take() == [.event(#""a"(1)"#)])
  }

  /// Applications send such ids themselves, so they stay; the server says whether they are offsets.
  @Test func anObjectIdStaysVisibleAndIsPresented() {
    let connection = joined()
    let id = String(rig.time.wallMilliseconds / 1_000, radix: 16) + "c3d4e5f6a7b8c9d0"
    rig.transport.receive(#"42["a",1,"\#(id)"]"#)
    #expect(connection.log.take() == [.event(#""a"(1,"\#(id)")"#)])
    cut()
    #expect(redial(connection) == [#"40{"pid":"private","offset":"\#(id)"}"#])
  }

  @Test func anOffsetOutOfStepIsKeptAndEndsTheRecoveryUntilTheNextOne() {
    let connection = joined()
    // Two hours after the others, and at the same moment.
    rig.transport.receive(#"42["a","Q7yBO7n"]"#, #"42["v","Q7ycrxn"]"#)
    #expect(connection.log.take() == [.event(#""a"()"#), .event(#""v"("Q7ycrxn")"#)])
    cut()
    #expect(redial(connection) == ["40"])
    rig.transport.receive(
      #"40{"sid":"s","pid":"p"}"#, #"42["a","Q7yBO7n"]"#, #"42["v","Q7ycrxn"]"#, #"42["a","Q7yBO7o"]"#)
    cut()
    #expect(redial(connection) == [#"40{"pid":"p","offset":"Q7yBO7o"}"#])
  }

  @Test func offsetsOfTwoAdaptersAreLeftAlone() {
    let connection = joined()
    rig.transport.receive(
      #"42["a","1795232203249-0"]"#, #"42["a","1795232203249-1"]"#, #"42["b","Q7yBO7n"]"#, #"42["c","Q7yBO7o"]"#,
      #"42["a","1795232203250-0"]"#)
    #expect(
      connection.log.take() == [
        .event(#""a"("1795232203249-0")"#), .event(#""a"()"#), .event(#""b"("Q7yBO7n")"#), .event(#""c"("Q7yBO7o")"#),
        .event(#""a"("1795232203250-0")"#),
      ])
    cut()
    #expect(redial(connection) == ["40"])
  }

  /// Applications forward such ids themselves; a second one in step shows that they are offsets.
  @Test func theFirstIdOfAStreamStaysAndIsPresented() {
    let connection = joined()
    rig.transport.receive(#"42["a",1,"1795232203249-0"]"#)
    #expect(connection.log.take() == [.event(#""a"(1,"1795232203249-0")"#)])
    cut()
    #expect(redial(connection) == [#"40{"pid":"private","offset":"1795232203249-0"}"#])
    rig.transport.receive(#"40{"sid":"s","pid":"private"}"#, #"42["a",2,"1795232203249-1"]"#)
    #expect(connection.log.take().last == .event(#""a"(2)"#))
  }

  @Test func theIdOfAStreamThatAnApplicationForwardsIsNoOffsetWhereTimesAre() {
    let connection = joined()
    rig.transport.receive(
      #"42["log","1795232203249-0"]"#, #"42["a",1,"Q7yBO7n"]"#, #"42["log","1795232203250-0"]"#,
      #"42["a",2,"Q7yBO7o"]"#)
    #expect(
      connection.log.take() == [
        .event(#""log"("1795232203249-0")"#), .event(#""a"(1)"#), .event(#""log"("1795232203250-0")"#),
        .event(#""a"(2)"#),
      ])
    cut()
    #expect(redial(connection) == [#"40{"pid":"private","offset":"Q7yBO7o"}"#])
  }

  @Test func idsOfStreamsThatAreOutOfStepStayAll() {
    let connection = joined()
    // Each is older than the one before.
    rig.transport.receive(#"42["a","1795232203249-0"]"#, #"42["a","1795232203248-0"]"#, #"42["a","1795232203247-0"]"#)
    #expect(
      connection.log.take() == [
        .event(#""a"("1795232203249-0")"#), .event(#""a"("1795232203248-0")"#), .event(#""a"("1795232203247-0")"#),
      ])
  }

  @Test func idsOfStreamsAmongThoseOfObjectsStayAll() {
    let connection = joined()
    let id = String(rig.time.wallMilliseconds / 1_000, radix: 16) + "c3d4e5f6a7b8c9d0"
    rig.transport.receive(
      #"42["a","\#(id)"]"#, #"42["b","1795232203249-0"]"#, #"42["b","1795232203250-0"]"#)
    #expect(
      connection.log.take() == [
        .event(#""a"("\#(id)")"#), .event(#""b"("1795232203249-0")"#), .event(#""b"("1795232203250-0")"#),
      ])
    cut()
    #expect(redial(connection) == [#"40{"pid":"private","offset":"1795232203250-0"}"#])
  }

  @Test func aServerWhoseOffsetsAreAStreamsIsKnownInItsNextSession() {
    let connection = joined()
    rig.transport.receive(#"42["a",1,"1795232203249-0"]"#, #"42["a",2,"1795232203250-0"]"#)
    cut()
    _ = redial(connection)
    rig.transport.receive(#"40{"sid":"fresh","pid":"other"}"#)
    _ = connection.log.take()
    rig.transport.receive(#"42["a",3,"1795232203251-0"]"#)
    #expect(connection.log.take() == [.event(#""a"(3)"#)])
  }

  @Test func anIdOfAStreamThatAnEarlierDaemonWroteDownCountsAsTheFirst() {
    var recovery = SocketIORecovery(Resumption(session: "private", offset: "1795232203249-0"))
    _ = recovery.accepted(pid: "private")
    let arguments = Array(#"1,"1795232203249-1""#.utf8)
    let clock = OffsetShape.Clock(rig.time.arrival, nil)
    let ending = recovery.ending(of: arguments.span.bytes, at: clock)
    #expect(ending?.argumentsEnd == 1)
    recovery.forget()
    _ = recovery.accepted(pid: "next")
    let first = recovery.ending(of: arguments.span.bytes, at: clock)
    #expect(first != nil && first?.argumentsEnd == nil)
  }

  @Test func theOffsetOfTheLastEventIsNotThatOfAnother() {
    let connection = joined()
    rig.transport.receive(#"42["a","Q7yBO7n"]"#, #"42["seen","Q7yBO7n"]"#)
    #expect(connection.log.take() == [.event(#""a"()"#), .event(#""seen"("Q7yBO7n")"#)])
  }

  @Test func offsetsThatWereOnTheirWayForLongAreOffsets() {
    let connection = joined()
    rig.transport.receive(#"42["a",1,"Q7yBO7n"]"#)
    rig.advance(.seconds(10 * 24 * 3_600))
    rig.transport.receive(#"42["a",2,"Q7yBO7o"]"#)
    #expect(connection.log.take().suffix(1) == [.event(#""a"(2)"#)])
  }

  @Test(arguments: [
    ("Q7yBO7n", OffsetWord.Form.time, 1_795_232_203_249), ("Q7yBO7n.1", .time, 1_795_232_203_249),
    ("Q7yBO7n.0-_z", .time, 1_795_232_203_249), ("1795232203249-0", .stream, 1_795_232_203_249),
    ("65f0a1b2c3d4e5f6a7b8c9d0", .object, 1_710_268_850_000),
  ])
  func aWordTellsWhenItWasMade(_ text: String, _ form: OffsetWord.Form, _ made: Int64) {
    let word = OffsetWord(text)
    #expect(word?.form == form && word?.made == made)
    #expect(OffsetWord(lastOf: Array("\"\(text)\"".utf8).span.bytes)?.range == 1..<text.utf8.count + 1)
  }

  @Test(arguments: [
    #""a b""#, #""""#, "5", #"["x"]"#, #"{"a":"b"}"#, #""x\"y""#, "", #"""#, #""\\""#, #""é""#, "\"" + "\u{0}\"",
    #""42""#, #""online""#, #""Q7yBO7n.""#, #""Q7yBO7n.1.2""#, #""Q7yBO7nn""#, #""17-""#, #""-17""#, #""1-2-3""#,
    #""1795232203249999999-0""#, #"{"Q7yBO7n":"Q7yBO7n"}"#, #""x\"Q7yBO7n""#,
  ])
  func onlyAWordOfSuchAFormCanBeAnOffset(_ arguments: String) {
    let bytes = Array(arguments.utf8)
    #expect(OffsetWord(lastOf: bytes.span.bytes) == nil)
  }
}
