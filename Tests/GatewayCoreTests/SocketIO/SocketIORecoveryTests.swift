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

  @Test(arguments: [
    ("Q7yBO7n", "Q7yBO8x.3", true), ("Q7yBO7n", "Warning", false), ("Q7yBO7n", "hello", false),
    ("1732195000000-0", "1732195000001-12", true), ("1732195000000-0", "17", false), ("12", "13", true),
    ("12", "a", false), ("65f0a1b2c3d4e5f6a7b8c9d0", "65f0a1b2c3d4e5f6a7b8c9d1", true),
    ("65f0a1b2c3d4e5f6a7b8c9d0", "no", false), ("off.set:1", "anything", true),
  ])
  func aServersOffsetsAreAlike(_ first: String, _ second: String, _ admitted: Bool) {
    #expect(OffsetShape.unknown.admits(first))
    #expect(OffsetShape.unknown.learning(first).admits(second) == admitted)
  }

  @Test(arguments: [
    #""a b""#, #""""#, "5", #"["x"]"#, #"{"a":"b"}"#, #""x\"y""#, "", #"""#, #""\\""#, #""é""#, "\"" + "\u{0}\"",
  ])
  func onlyAWordCanBeAnOffset(_ arguments: String) {
    let bytes = Array(arguments.utf8)
    #expect(OffsetShape.lastToken(bytes.span.bytes) == nil)
  }
}
