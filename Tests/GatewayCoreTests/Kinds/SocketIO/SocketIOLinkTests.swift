import Testing

@testable import GatewayCore

@Test func revisionFourConnectsAndCarriesEventsBothWays() throws {
  let rig = SocketIORig()
  let connection = rig.connection { $0.auth = .inline([UInt8](#"{"token":"x"}"#.utf8)) }
  #expect(rig.transport.request.target == "/socket.io/?EIO=4&transport=websocket")
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake)
  #expect(rig.transport.takeSent() == [#"40{"token":"x"}"#])
  #expect(connection.log.take() == [])
  rig.transport.receive(#"40{"sid":"socket"}"#)
  #expect(connection.log.take() == [.opened])

  try connection.send("hello", #"[1,{"a":"é"}]"#)
  #expect(rig.transport.takeSent() == [#"42["hello",1,{"a":"é"}]"#])
  rig.transport.receive(#"42["news",9007199254740993,{"b":1.50}]"#, #"42[7,"x"]"#, #"42["bare"]"#)
  #expect(
    connection.log.take() == [
      .event(#""news"(9007199254740993,{"b":1.50})"#), .event(#"7("x")"#), .event(#""bare"()"#),
    ])
  #expect(
    connection.channel?.facts
      == ChannelFacts(
        link: connection.channel?.facts.link ?? "", server: "http://h",
        transport: TransportFacts(name: "websocket", tlsVersion: nil, verified: true),
        protocols: [("engineio", 4), ("socketio", 5)], sid: "socket", heartbeat: (.seconds(25), .seconds(20)),
        heartbeatAge: .zero))

  connection.close()
  #expect(rig.transport.takeSent() == ["41"])
  #expect(rig.transport.isClosed)
  #expect(rig.kind.linkCount == 0)
  #expect(!connection.log.wasDisturbed)
}

@Test func namespacesShareALinkAndLeaveItOneByOne() {
  let rig = SocketIORig()
  let main = rig.connection()
  let foo = rig.connection("/foo")
  #expect(rig.dialer.transports.count == 1)
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake)
  let late = rig.connection("/late")
  #expect(rig.transport.takeSent() == ["40", "40/foo,", "40/late,"])
  rig.transport.receive(#"40/foo,{"sid":"f"}"#, #"44/late,{"message":"no"}"#, #"40{"sid":"m"}"#)
  #expect(main.log.take() == [.opened])
  #expect(foo.log.take() == [.opened])
  #expect(late.log.take().count == 1)
  rig.transport.receive(#"42/foo,["a"]"#, #"42["b"]"#, #"42/other,["c"]"#, #"42/fo,["d"]"#)
  #expect(main.log.take() == [.event(#""b"()"#)])
  #expect(foo.log.take() == [.event(#""a"()"#)])
  #expect(main.channel?.facts.link == foo.channel?.facts.link)
  #expect(main.channel?.facts.sid == "m" && foo.channel?.facts.sid == "f")

  foo.close()
  #expect(rig.transport.takeSent() == ["41/foo,"])
  #expect(!rig.transport.isClosed)
  main.close()
  #expect(rig.transport.takeSent() == ["41"])
  #expect(rig.transport.isClosed)
}

/// By a packet of the namespace, by one of the session, and by the transport itself.
@Test func whatHasLeftIsKnownWhenTheServerEndsALink() {
  for (place, end) in ["41", "1", ""].enumerated() {
    let rig = SocketIORig()
    let connection = rig.joined()
    rig.transport.unsentBytes = 5 + place
    if end.isEmpty {
      rig.transport.receiver?.transportEnds()
      rig.transport.fail(UpstreamFailure(.closed, "gone"))
    } else {
      rig.transport.receive(end)
    }
    #expect(connection.log.unsentAtEnd == 5 + place)
  }
}

@Test func eachOfManyNamespacesGetsItsOwnEvents() {
  let rig = SocketIORig()
  let connections = (0..<40).map { rig.connection("/room\($0)") }
  let transport = rig.transport
  transport.open()
  transport.receive(SocketIORig.handshake)
  for number in connections.indices { transport.receive(#"40/room\#(number),{"sid":"s"}"#) }
  connections[3].close()
  for number in connections.indices { transport.receive(#"42/room\#(number),["e",\#(number)]"#) }
  transport.receive(#"42/room,["e",1]"#, #"42/room111,["e",1]"#, #"42["e",1]"#)
  for (number, connection) in connections.enumerated() where number != 3 {
    #expect(connection.log.take() == [.opened, .event(#""e"(\#(number))"#)])
  }
  #expect(connections[3].log.take() == [.opened])
}

@Test func namespaceCanBeJoinedAgainOnALiveLink() {
  let rig = SocketIORig()
  _ = rig.joined()
  let admin = rig.connection("/admin")
  rig.transport.receive(#"40/admin,{"sid":"1"}"#)
  admin.close()
  _ = admin.log.take()
  admin.dial()
  #expect(rig.transport.takeSent() == ["40/admin,", "41/admin,", "40/admin,"])
  rig.transport.receive(#"40/admin,{"sid":"2"}"#)
  #expect(admin.log.take() == [.opened])
  #expect(rig.dialer.transports.count == 1)
}

@Test func leavingWhileJoiningNeverMixesUpTwoAnswers() {
  let rig = SocketIORig()
  _ = rig.joined()
  let first = rig.transport
  let admin = rig.connection("/admin")
  admin.close()
  admin.dial()
  #expect(rig.dialer.transports.count == 2, "the answer to the first CONNECT is still due")
  _ = first.takeSent()
  first.receive(#"40/admin,{"sid":"1"}"#)
  #expect(first.takeSent() == ["41/admin,"])
  let again = rig.connection("/admin")
  #expect(first.takeSent() == ["40/admin,"])
  first.receive(#"40/admin,{"sid":"2"}"#)
  #expect(again.log.take() == [.opened])
  #expect(admin.log.take() == [])
}

@Test func differentCredentialsNeedDifferentLinks() {
  let rig = SocketIORig()
  _ = rig.connection { $0.auth = .inline([UInt8]("{}".utf8)) }
  _ = rig.connection { $0.auth = .none }
  _ = rig.connection("/x") { $0.query = [QueryItem(name: "a", value: "b")] }
  _ = rig.connection("/x") { $0.path = "/other" }
  _ = rig.connection("/x") { $0.tls.verify = false }
  #expect(rig.dialer.transports.count == 5)
  _ = rig.connection("/y")
  #expect(rig.dialer.transports.count == 5)
}

@Test func equalNamespacesWithEqualCredentialsNeedTwoLinks() {
  let rig = SocketIORig()
  _ = rig.connection()
  _ = rig.connection()
  #expect(rig.dialer.transports.count == 2)
}

@Test func refusedNamespaceLeavesTheLinkToTheOthers() {
  let rows: [(String, String, String?, String?)] = [
    (#"{"message":"auth failed","data":{"code":1}}"#, ": auth failed", "auth failed", #"{"code":1}"#),
    (#"{"message":"bare"}"#, ": bare", "bare", nil),
    (#""Unable to connect""#, ": Unable to connect", "Unable to connect", nil),
    (#"["auth required",{"code":401}]"#, ": auth required", "auth required", #"{"code":401}"#),
    // Servers of Socket.IO 2 send what the application gave them, without words around it.
    (#"["a","b","c"]"#, #": ["a","b","c"]"#, nil, #"["a","b","c"]"#),
    (#"{"code":3,"why":"no seat"}"#, #": {"code":3,"why":"no seat"}"#, nil, #"{"code":3,"why":"no seat"}"#),
    ("{\"message\":\"two\\nlines\",\"data\":[1,\n2]}", ": two lines", "two lines", "[1, 2]"),
    (#"{"message":5}"#, #": {"message":5}"#, nil, #"{"message":5}"#),
    ("", "", nil, nil), ("null", "", nil, nil), ("404", ": 404", nil, "404"), ("false", ": false", nil, "false"),
    ("{broken", "", nil, nil),
  ]
  for (payload, suffix, message, data) in rows {
    let rig = SocketIORig()
    let main = rig.joined()
    let admin = rig.connection("/admin")
    rig.transport.receive("44/admin,\(payload)")
    #expect(
      admin.log.take() == [
        .ended(
          UpstreamFailure(
            .refused, "the server refused the namespace /admin\(suffix)", serverMessage: message,
            serverData: data.map { [UInt8]($0.utf8) }))
      ])
    #expect(!rig.transport.isClosed)
    rig.transport.receive(#"42["still"]"#)
    #expect(main.log.take() == [.event(#""still"()"#)])
  }
}

@Test func aRefusalWithoutWordsLeavesTheLinkOfAnOldServerToTheOthers() {
  for refusal in ["44/chat", "44/chat,", "44/chat,404", "44/chat,null", "44/chat,false"] {
    let rig = SocketIORig()
    let main = rig.joinedThree()
    let chat = rig.connection("/chat")
    rig.transport.receive(refusal)
    #expect(chat.log.take().count == 1)
    #expect(!rig.transport.isClosed)
    rig.transport.receive(#"42["still"]"#)
    #expect(main.log.take() == [.event(#""still"()"#)])
  }
}

@Test func anAcceptanceThatMeansNothingLeavesTheLinkToTheOthers() {
  for (answer, failure) in [
    ("40/chat,", SocketIOProblem.missingSid.failure), (#"40/chat,{"sid":5}"#, SocketIOProblem.missingSid.failure),
    ("40/chat,[]", SocketIOProblem.malformedPayload.failure), ("40/chat,{", SocketIOProblem.malformedPayload.failure),
  ] {
    let rig = SocketIORig()
    let main = rig.joined()
    let chat = rig.connection("/chat")
    rig.transport.receive(answer)
    #expect(chat.log.take() == [.ended(failure)])
    #expect(!rig.transport.isClosed)
    #expect(main.log.take() == [])
  }
}

@Test func tooManyEarlyEventsLeaveTheLinkToTheOthers() {
  let rig = SocketIORig()
  let main = rig.joined()
  let chat = rig.connection("/chat")
  for _ in 0...HeldEvents.countLimit { rig.transport.receive(#"42/chat,["a"]"#) }
  #expect(chat.log.take().count == 1)
  #expect(!rig.transport.isClosed && main.log.take() == [])
  _ = rig.transport.takeSent()
  // The acceptance comes all the same.
  rig.transport.receive(#"40/chat,{"sid":"late"}"#)
  #expect(rig.transport.takeSent() == ["41/chat,"])
}

@Test func refusalOfTheOnlyNamespaceEndsTheLink() {
  let rig = SocketIORig()
  let connection = rig.connection()
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake, #"44{"message":"no"}"#)
  #expect(
    connection.log.take() == [
      .ended(UpstreamFailure(.refused, "the server refused the namespace /: no", serverMessage: "no"))
    ])
  #expect(rig.transport.isClosed && rig.kind.linkCount == 0)
}

@Test func kickedNamespaceEndsWithTheServersWords() {
  let rig = SocketIORig()
  let main = rig.joined()
  let admin = rig.connection("/admin")
  rig.transport.receive(#"40/admin,{"sid":"a"}"#, #"41/admin,{"message":"banned","data":1}"#)
  #expect(
    admin.log.take() == [
      .opened,
      .ended(
        UpstreamFailure(
          .kicked, "the server disconnected the namespace /admin: banned", serverMessage: "banned",
          serverData: [UInt8]("1".utf8))),
    ])
  rig.transport.receive("41")
  #expect(main.log.take() == [.ended(UpstreamFailure(.kicked, "the server disconnected the namespace /"))])
  #expect(rig.transport.isClosed)
}

@Test func eventsBeforeTheAcceptanceAreDeliveredInOrderAfterIt() {
  let rig = SocketIORig()
  let connection = rig.connection()
  rig.transport.open()
  rig.transport.receive(
    SocketIORig.handshake, #"42["welcome",1]"#, #"425["ask"]"#, #"451-["bin",{"_placeholder":true,"num":0}]"#)
  rig.transport.receive(binary: [1])
  let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
  rig.transport.receive("42[\"deep\",\(deep)]")
  #expect(connection.log.take() == [])
  rig.transport.receive(#"40{"sid":"x"}"#, #"42["after"]"#)
  #expect(
    connection.log.take() == [
      .opened, .event(#""welcome"(1)"#), .event(#""ask"()#5"#), .event(#""bin"({"$bin":"AQ=="})"#),
      .dropped(.undecodable), .event(#""after"()"#),
    ])
}

@Test func earlyEventsStopWhenTheOwnerLeavesAtTheOpening() {
  let rig = SocketIORig()
  let connection = rig.connection()
  connection.log.onOpened = { $0.close() }
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake, #"42["a"]"#, #"40{"sid":"x"}"#)
  #expect(connection.log.take() == [.opened])
  #expect(rig.transport.isClosed)
}

@Test func tooManyEarlyEventsEndTheLink() {
  let rig = SocketIORig()
  let connection = rig.connection()
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake)
  for _ in 0..<HeldEvents.countLimit { rig.transport.receive(#"42["a"]"#) }
  #expect(connection.log.take() == [])
  rig.transport.receive(#"42["a"]"#)
  #expect(
    connection.log.take() == [
      .ended(UpstreamFailure(.tooLarge, "the server sent too many events before it accepted the namespace"))
    ])
}

@Test func acknowledgementsFindTheirRequestsInAnyOrder() throws {
  let rig = SocketIORig()
  let connection = rig.joined("/n")
  for (index, owner) in [70, 71, 72, 73].enumerated() {
    try connection.send("e", "[\(index)]", ack: UInt64(owner))
  }
  #expect(
    rig.transport.takeSent() == [#"42/n,0["e",0]"#, #"42/n,1["e",1]"#, #"42/n,2["e",2]"#, #"42/n,3["e",3]"#])
  connection.channel?.forget(ack: 71)
  rig.transport.receive(
    "43/n,3[]", #"43/n,0["a",{"b":1}]"#, "43/n,3[]", "43/n,1[1]", "43/n,99[]", "432[]",
    #"461-/n,2[{"_placeholder":true,"num":0}]"#)
  rig.transport.receive(binary: [])
  #expect(
    connection.log.take() == [
      .acknowledged("73()"), .acknowledged(#"70("a",{"b":1})"#), .acknowledged(#"72({"$bin":""})"#),
    ])
  try connection.send("e", ack: 74)
  #expect(rig.transport.takeSent() == [#"42/n,4["e"]"#])
}

@Test func serversRequestsAreAnswered() throws {
  let rig = SocketIORig()
  let connection = rig.joined("/n")
  rig.transport.receive(#"42/n,12["confirm",7]"#)
  #expect(connection.log.take() == [.event(#""confirm"(7)#12"#)])
  let plain = [UInt8](#"[1,{"a":2}]"#.utf8)
  let binary = [UInt8](#"[{"$bin":"AQI="}]"#.utf8)
  connection.channel?.answer(12, try connection.connector.prepareAnswer(AnswerDraft(args: plain)))
  connection.channel?.answer(13, try connection.connector.prepareAnswer(AnswerDraft(args: binary)))
  #expect(
    rig.transport.takeSent() == [#"43/n,12[1,{"a":2}]"#, #"461-/n,13[{"_placeholder":true,"num":0}]"#, "<1 2>"])
}

@Test func binaryTravelsBothWaysInOrder() throws {
  let rig = SocketIORig()
  let connection = rig.joined()
  try connection.send("b", #"[{"x":{"$bin":"AQ=="}},[{"$bin":""}],2]"#, ack: 1)
  try connection.send("t")
  #expect(
    rig.transport.takeSent() == [
      #"452-0["b",{"x":{"_placeholder":true,"num":0}},[{"_placeholder":true,"num":1}],2]"#, "<1>", "<>", #"42["t"]"#,
    ])
  rig.transport.receive(#"452-["b",{"n":[{"_placeholder":true,"num":1}]},{"_placeholder":true,"num":0}]"#)
  rig.transport.receive("2")
  rig.transport.receive(binary: [255])
  rig.transport.receive("b")
  rig.transport.receive(#"42["t",{"$bin":1}]"#)
  #expect(
    connection.log.take() == [
      .event(#""b"({"n":[{"$bin":""}]},{"$bin":"/w=="})"#), .event(#""t"({"$$bin":1})"#),
    ])
}

@Test func lineEndsOfAServerNeverReachTheLocalProtocol() {
  let rig = SocketIORig()
  let connection = rig.joined()
  rig.transport.receive("42[ \"a\" ,\n{\r\n\"b\": 1}\n]")
  #expect(connection.log.take() == [.event(#""a"({  "b": 1})"#)])
}

@Test func eventsTooDeepToReadAreToldAsDropped() {
  let rig = SocketIORig()
  let connection = rig.joined()
  let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
  rig.transport.receive("42[\"deep\",\(deep)]", "430[\(deep)]", #"42["ok"]"#)
  #expect(connection.log.take() == [.dropped(.undecodable), .event(#""ok"()"#)])
}

@Test func aLateAcknowledgementOfALeftNamespaceAnswersNobody() throws {
  for isThree in [false, true] {
    let rig = SocketIORig()
    // Keeps the link alive meanwhile.
    let other = isThree ? rig.joinedThree("/other") : rig.joined("/other")
    let accepted = isThree ? "40/x" : #"40/x,{"sid":"s"}"#
    let first = rig.connection("/x")
    rig.transport.receive(accepted)
    _ = rig.transport.takeSent()
    try first.send("old", ack: 1)
    #expect(rig.transport.takeSent() == [#"42/x,0["old"]"#])
    first.close()
    let second = rig.connection("/x")
    rig.transport.receive(accepted)
    #expect(second.log.take() == [.opened])
    _ = rig.transport.takeSent()
    try second.send("new", ack: 2)
    #expect(rig.transport.takeSent() == [#"42/x,1["new"]"#])
    rig.transport.receive(#"43/x,0["late"]"#)
    #expect(second.log.take() == [])
    rig.transport.receive(#"43/x,1["right"]"#)
    #expect(second.log.take() == [.acknowledged(#"2("right")"#)])
    #expect(rig.dialer.transports.count == 1)
    withExtendedLifetime(other) {}
  }
}

@Test func aMessageTooLargeForAServerThatNamesNoLimitIsRefusedInsteadOfClosingTheLink() throws {
  let rig = SocketIORig()
  let connection = rig.connection()
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake)
  rig.advance(RevisionDetection.settleTime)
  rig.transport.receive(#"40{"sid":"socket"}"#)
  #expect(connection.log.take() == [.opened])
  _ = rig.transport.takeSent()
  // The packet adds `42["e",""]`.
  try connection.send("e", #"[""# + String(repeating: "x", count: 999_990) + #""]"#)
  #expect(rig.transport.takeSent().map(\.utf8.count) == [1_000_000])
  #expect(throws: MessageProblem.tooLarge(limit: 1_000_000, size: 1_000_001)) {
    try connection.send("e", #"[""# + String(repeating: "x", count: 999_991) + #""]"#)
  }
  #expect(rig.transport.takeSent() == [])

  let older = SocketIORig()
  try older.joinedThree().send("e", #"[""# + String(repeating: "x", count: 2_000_000) + #""]"#)
  #expect(older.transport.takeSent().map(\.utf8.count) == [2_000_010])
  #expect(EngineIORevision.three.usualPayloadLimit == 100_000_000)
}
