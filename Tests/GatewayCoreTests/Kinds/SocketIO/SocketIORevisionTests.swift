import Testing

@testable import GatewayCore

private let refused = UpstreamFailure(.http, "HTTP 400", status: 400)
private let python = #""The client is using an unsupported version of the Socket.IO or Engine.IO protocols""#

@Test func oldNodeServerIsRecognisedInPlace() throws {
  let rig = SocketIORig()
  let main = rig.connection { $0.auth = .inline([UInt8](#"{"token":"a&b","n":5,"f":true,"z":null}"#.utf8)) }
  let chat = rig.connection("/c") { $0.auth = .inline([UInt8](#"{"token":"a&b","n":5,"f":true,"z":null}"#.utf8)) }
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake)
  #expect(rig.transport.takeSent() == [], "nothing is sent before the server has shown what it is")
  rig.transport.receive("40")
  #expect(rig.transport.takeSent() == ["40/c?token=a%26b&n=5&f=true,"])
  #expect(main.log.take() == [.opened])
  rig.transport.receive("40/c,")
  #expect(chat.log.take() == [.opened])
  #expect(rig.dialer.transports.count == 1)
  #expect(main.channel?.facts.protocols.map(\.revision) == [3, 4])

  rig.transport.receive(#"42["a"]"#, #"42/c,["b"]"#)
  #expect(main.log.take() == [.event(#""a"()"#)])
  #expect(chat.log.take() == [.event(#""b"()"#)])
  rig.advance(.seconds(25))
  #expect(rig.transport.takeSent() == ["2"])
  rig.time.advance(by: .milliseconds(30))
  rig.transport.receive("3")
  #expect(main.channel?.facts.roundTrip == 30)
}

@Test func binaryOfRevisionThreeCarriesItsPacketType() throws {
  let rig = SocketIORig()
  let connection = rig.joinedThree()
  try connection.send("b", #"[{"$bin":"AQI="}]"#)
  #expect(rig.transport.takeSent() == [#"451-["b",{"_placeholder":true,"num":0}]"#, "<4 1 2>"])
  rig.transport.receive(#"451-["b",{"_placeholder":true,"num":0}]"#)
  rig.transport.receive(binary: [4, 255])
  rig.transport.receive(#"451-["b",{"_placeholder":true,"num":0}]"#, "b4AQ==")
  #expect(connection.log.take() == [.event(#""b"({"$bin":"/w=="})"#), .event(#""b"({"$bin":"AQ=="})"#)])
}

@Test func serverOf3xIsNotMistakenForAnOldOne() {
  let rig = SocketIORig()
  let connection = rig.connection()
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake)
  rig.advance(RevisionDetection.settleTime)
  #expect(rig.transport.takeSent() == ["40"])
  rig.transport.receive(#"40{"sid":"x"}"#)
  #expect(connection.log.take() == [.opened])
  #expect(connection.channel?.facts.protocols.map(\.revision) == [4, 5])

  connection.close()
  connection.dial()
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake)
  #expect(rig.transport.takeSent() == ["40"], "the second time there is nothing to find out")
}

@Test func slowOldServerIsDialledAgainWithItsRevision() {
  let rig = SocketIORig()
  let connection = rig.connection("/c")
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake)
  rig.advance(RevisionDetection.settleTime)
  #expect(rig.transport.takeSent() == ["40/c,"])
  let first = rig.transport
  first.receive("40")
  #expect(first.isClosed)
  #expect(rig.transport.request.target == "/socket.io/?EIO=3&transport=websocket")
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake, "40", "40/c")
  #expect(rig.transport.takeSent() == ["40/c,"])
  #expect(connection.log.take() == [.opened])
}

@Test func pythonServerOfRevisionThreeIsRedialledAtOnceAndRemembered() {
  let rig = SocketIORig()
  let connection = rig.connection()
  rig.transport.fail(refused, body: python)
  #expect(rig.dialer.transports.map(\.request.target).last == "/socket.io/?EIO=3&transport=websocket")
  #expect(connection.log.take() == [])
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake, "40")
  #expect(connection.log.take() == [.opened])
  #expect(rig.transport.takeSent() == [], "the main namespace is not asked for in revision 3")

  rig.transport.fail(UpstreamFailure(.closed, "gone"))
  connection.dial()
  #expect(rig.transport.request.target == "/socket.io/?EIO=3&transport=websocket")
  // A newer Node server agrees to the WebSocket and only then refuses, in plain text.
  rig.transport.open()
  rig.transport.fail(refused, body: "Unsupported protocol version")
  #expect(rig.transport.request.target == "/socket.io/?EIO=4&transport=websocket")
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake, #"40{"sid":"x"}"#)
  #expect(connection.log.take() == [.ended(UpstreamFailure(.closed, "gone")), .opened])
}

@Test func serverThatRefusesBothRevisionsIsIncompatible() {
  let rig = SocketIORig()
  let connection = rig.connection()
  rig.transport.fail(refused, body: python)
  rig.transport.fail(refused, body: #"{"code":5,"message":"Unsupported protocol version"}"#)
  #expect(rig.dialer.transports.count == 2)
  #expect(
    connection.log.take() == [
      .ended(UpstreamFailure(.incompatible, "the server speaks neither revision 3 nor revision 4 of Engine.IO"))
    ])
  #expect(rig.kind.linkCount == 0)
}

@Test func otherRefusalsAreNotDialledAgain() {
  let rig = SocketIORig()
  let connection = rig.connection()
  rig.transport.fail(refused, body: "Forbidden")
  #expect(rig.dialer.transports.count == 1)
  #expect(
    connection.log.take() == [
      .ended(
        UpstreamFailure(
          .http, "the server forbade the handshake: Forbidden", status: 400, serverMessage: "Forbidden"))
    ])
}

@Test func mainNamespaceThatIsNeverAcceptedTimesOut() {
  let rig = SocketIORig()
  let connection = rig.joinedThree()
  connection.close()
  connection.dial()
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake)
  let other = rig.connection("/c")
  rig.advance(.seconds(10))
  let timeout = UpstreamFailure(.timeout, "the server did not answer the request for the namespace in time")
  #expect(connection.log.take() == [.ended(timeout)])
  #expect(other.log.take() == [.ended(timeout)])
  #expect(rig.transport.takeSent() == [] && rig.transport.isClosed)
}

@Test func namespaceBehindTheMainOneHasItsOwnTime() {
  let rig = SocketIORig()
  let chat = rig.connection("/c")
  rig.transport.fail(refused, body: python)
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake)
  rig.advance(.seconds(9))
  rig.transport.receive("40")
  rig.advance(.seconds(9))
  #expect(chat.log.take() == [])
  rig.advance(.seconds(1))
  #expect(
    chat.log.take() == [
      .ended(UpstreamFailure(.timeout, "the server did not answer the request for the namespace in time"))
    ])
}

@Test func refusedMainNamespaceRefusesTheOthersBehindIt() {
  let rig = SocketIORig()
  let main = rig.connection()
  let chat = rig.connection("/c")
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake, #"44"not you""#)
  let failure = UpstreamFailure(
    .refused, "the server refused the namespace /: not you", serverMessage: "not you")
  #expect(main.log.take() == [.ended(failure)])
  #expect(chat.log.take() == [.ended(failure)])
  #expect(rig.transport.isClosed)
}

@Test func unwantedMainNamespaceIsIgnored() {
  let rig = SocketIORig()
  let chat = rig.joinedThree("/c")
  rig.transport.receive(#"42["for main"]"#, #"42/c,["for c"]"#, #"44"an error of a packet""#, #"44/c,"another""#)
  #expect(chat.log.take() == [.event(#""for c"()"#)])
}

@Test func mainNamespaceStaysJoinedBehindOthersAndCanBeEnteredAgain() throws {
  let rig = SocketIORig()
  let main = rig.joinedThree()
  let chat = rig.connection("/c")
  rig.transport.receive("40/c,")
  try main.send("e", ack: 1)
  #expect(rig.transport.takeSent() == ["40/c,", #"420["e"]"#])
  main.close()
  #expect(rig.transport.takeSent() == [])
  rig.transport.receive(#"42["nobody hears"]"#)
  main.dial()
  #expect(main.log.take() == [])
  rig.turn()
  #expect(main.log.take() == [.opened])
  try main.send("e", ack: 2)
  #expect(rig.transport.takeSent() == [#"421["e"]"#])
  rig.transport.receive("430[]", "431[]")
  #expect(main.log.take() == [.acknowledged("2()")])
  chat.close()
  main.close()
  #expect(rig.transport.takeSent() == ["41/c,", "41"])
  #expect(rig.transport.isClosed)
}

@Test func linkWhoseMainNamespaceWasEndedTakesNoFurtherChannels() {
  let rig = SocketIORig()
  let main = rig.joinedThree()
  let chat = rig.connection("/c")
  rig.transport.receive("40/c,", "41")
  #expect(main.log.take() == [.ended(UpstreamFailure(.kicked, "the server disconnected the namespace /"))])
  #expect(chat.log.take() == [.opened])
  main.dial()
  #expect(rig.dialer.transports.count == 2)
  #expect(rig.kind.linkCount == 2)
}

@Test func credentialsThatRevisionThreeCannotCarryAreTold() {
  let rig = SocketIORig()
  let connection = rig.connection("/c") { $0.auth = .inline([UInt8](#"{"a":{"b":1}}"#.utf8)) }
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake, "40")
  rig.turn()
  #expect(
    connection.log.take() == [
      .ended(
        UpstreamFailure(.auth, "servers of Socket.IO 2 take only texts and numbers as credentials of a namespace"))
    ])
}

@Test func queryOfANamespaceGoesWithItsConnectInRevisionThree() {
  let rig = SocketIORig()
  let connection = rig.connection("/c?x=1") { $0.auth = .inline([UInt8](#"{"token":"é"}"#.utf8)) }
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake, "40")
  #expect(rig.transport.takeSent() == ["40/c?x=1&token=%C3%A9,"])
  rig.transport.receive("40/c,", #"42/c,["a"]"#)
  #expect(connection.log.take() == [.opened, .event(#""a"()"#)])
}

@Test func acceptanceWithoutAnIdBreaksTheProtocolOfANewServer() {
  for answer in ["40", "40{}", #"40{"sid":""}"#, #"40{"sid":5}"#] {
    let rig = SocketIORig()
    let connection = rig.connection()
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake, answer)
    #expect(
      connection.log.take() == [
        .ended(UpstreamFailure(.protocolError, "the server accepted a namespace without giving it an id"))
      ])
    #expect(rig.transport.isClosed)
  }
}

@Test func reservedErrorEventIsRefusedOnceTheRevisionIsKnown() throws {
  let rig = SocketIORig()
  let connection = rig.connection()
  let queued = try connection.connector.prepare(
    MessageDraft(event: "error", args: [UInt8]("[]".utf8)))
  #expect(connection.connector.check(queued, acknowledged: false) == nil)
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake, "40")
  #expect(
    connection.connector.check(queued, acknowledged: false)
      == .invalid("the event name error is reserved by Socket.IO; choose another")
  )
}

@Test func statusNeverShowsTheSecretEngineSessionOfRevisionThree() {
  let rig = SocketIORig()
  let main = rig.joinedThree()
  #expect(main.channel != nil && main.channel?.facts.sid == nil)
  let chat = rig.connection("/c")
  rig.transport.receive("40/c,")
  #expect(chat.log.take() == [.opened])
  #expect(chat.channel?.facts.sid == nil)
  // The server keeps the main namespace joined: a later channel is accepted without a word of it.
  main.close()
  let again = rig.connection("/")
  rig.turn()
  #expect(again.log.take() == [.opened])
  #expect(again.channel?.facts.sid == nil)
}
