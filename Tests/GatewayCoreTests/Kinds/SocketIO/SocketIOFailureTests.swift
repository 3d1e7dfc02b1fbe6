import Testing

@testable import GatewayCore

private let closed = UpstreamFailure(.closed, "the server closed the connection", status: 1006)
private let timeout = UpstreamFailure(
  .timeout, "the server did not answer the request for the namespace in time")

@Test func silentServerOfRevisionFourIsGivenUp() {
  let rig = SocketIORig()
  let main = rig.joined()
  rig.advance(.seconds(25))
  rig.transport.receive("2")
  #expect(rig.transport.takeSent() == ["3"])
  rig.advance(.seconds(44))
  #expect(main.log.take() == [])
  rig.advance(.seconds(1))
  rig.turn()
  #expect(
    main.log.take() == [
      .ended(UpstreamFailure(.heartbeat, "the server fell silent: its heartbeat is overdue"))
    ])
  #expect(rig.transport.isClosed)
}

@Test func pingThatWaitsUnreadAfterASleepSavesTheLink() {
  let rig = SocketIORig()
  let main = rig.joined()
  rig.advance(.seconds(3_600))
  rig.transport.receive("2")
  rig.turn()
  #expect(main.log.take() == [])
  #expect(rig.transport.takeSent() == ["3"])
}

@Test func silentServerOfRevisionThreeIsGivenUp() {
  let rig = SocketIORig()
  let main = rig.joinedThree()
  rig.advance(.seconds(25))
  #expect(rig.transport.takeSent() == ["2"])
  rig.advance(.seconds(20))
  rig.turn()
  #expect(
    main.log.take() == [
      .ended(UpstreamFailure(.heartbeat, "the server fell silent: its heartbeat is overdue"))
    ])
}

@Test func eachPhaseOfTheHandshakeHasItsDeadline() {
  let rig = SocketIORig()
  let connection = rig.connection()
  rig.transport.open()
  rig.advance(.seconds(10))
  #expect(
    connection.log.take() == [.ended(UpstreamFailure(.timeout, "the server sent no Engine.IO handshake in time"))])
  #expect(rig.transport.isClosed)

  connection.dial()
  rig.transport.open()
  rig.advance(.seconds(9))
  rig.transport.receive(SocketIORig.handshake)
  rig.advance(.milliseconds(9_999))
  #expect(connection.log.take() == [])
  rig.advance(.milliseconds(1))
  #expect(connection.log.take() == [.ended(timeout)])
  #expect(rig.transport.isClosed && rig.kind.linkCount == 0)
}

@Test func namespaceThatIsNeverAnsweredLeavesTheLinkToTheOthers() {
  let rig = SocketIORig()
  let main = rig.joined()
  let slow = rig.connection("/slow")
  rig.advance(.seconds(10))
  #expect(slow.log.take() == [.ended(timeout)])
  #expect(main.log.take() == [] && !rig.transport.isClosed)
  rig.transport.receive(#"40/slow,{"sid":"x"}"#)
  #expect(rig.transport.takeSent() == ["40/slow,", "41/slow,"])
  #expect(slow.log.take() == [])
}

@Test func lossAtEveryStageEndsEveryChannelOnce() {
  let stages: [[String]] = [
    [], [SocketIORig.oldHandshake], [SocketIORig.oldHandshake, "40"], [SocketIORig.oldHandshake, "40", "40/c,"],
    [SocketIORig.handshake], [SocketIORig.handshake, #"40{"sid":"a"}"#],
    [SocketIORig.handshake, #"40{"sid":"a"}"#, #"40/c,{"sid":"b"}"#],
    [SocketIORig.handshake, #"40{"sid":"a"}"#, #"452-["x"]"#],
  ]
  for isOpen in [false, true] {
    for texts in isOpen ? stages : [[]] {
      let rig = SocketIORig()
      let main = rig.connection()
      let chat = rig.connection("/c")
      if isOpen { rig.transport.open() }
      for text in texts { rig.transport.receive(text) }
      rig.transport.fail(closed)
      rig.turn()
      for connection in [main, chat] {
        let ends = connection.log.take().filter { $0 != .opened }
        guard case .ended(let failure)? = ends.first else { Issue.record("\(texts)"); continue }
        #expect(ends.count == 1 && failure.status == closed.status, "\(texts)")
        #expect(failure.detail.hasPrefix(closed.detail), "\(texts)")
      }
      #expect(rig.kind.linkCount == 0)
      rig.advance(.seconds(100))
      #expect(main.log.take() == [] && chat.log.take() == [], "\(texts)")
      #expect(rig.timers.count == 0, "\(texts)")
      main.dial()
      #expect(rig.dialer.transports.count == 2)
    }
  }
}

@Test func leavingAtEveryStageIsSilentAndFinal() {
  let stages: [[String]] = [
    [], [SocketIORig.oldHandshake], [SocketIORig.oldHandshake, "40"], [SocketIORig.handshake],
    [SocketIORig.handshake, #"40{"sid":"a"}"#], [SocketIORig.handshake, #"40{"sid":"a"}"#, #"451-["x"]"#],
  ]
  for isOpen in [false, true] {
    for texts in isOpen ? stages : [[]] {
      let rig = SocketIORig()
      let main = rig.connection()
      if isOpen { rig.transport.open() }
      for text in texts { rig.transport.receive(text) }
      _ = main.log.take()
      main.close()
      rig.advance(.seconds(100))
      #expect(main.log.take() == [] && !main.log.wasDisturbed, "\(texts)")
      #expect(rig.transport.isClosed && rig.kind.linkCount == 0 && rig.timers.count == 0, "\(texts)")
    }
  }
}

@Test func whateverBreaksTheProtocolEndsTheLink() {
  let texts = [
    "", "x", "7", "4", "48", "499", SocketIORig.handshake, "40[]", "45", "451", "45a-", "451.23-", #"4511-["a"]"#,
    "bAQ==", "b!",
    "2" + String(repeating: "x", count: 129),
  ]
  for text in texts {
    let rig = SocketIORig()
    let main = rig.joined()
    rig.transport.receive(text)
    let reasons = main.log.take().map { if case .ended(let failure) = $0 { failure.reason } else { DownReason.idle } }
    #expect(reasons == [.protocolError], "\(text.prefix(40))")
    #expect(rig.transport.isClosed && rig.kind.linkCount == 0)
  }
}

private let payload = SocketIOFlaw.malformedPayload.detail

/// What follows `42/x,`, and what becomes of it.
private let flawedEvents: [(String, ChannelLog.Entry)] = [
  (#"["some","data""#, .dropped(.undecodable, payload)), (#""invalid"#, .dropped(.undecodable, payload)),
  ("{}", .dropped(.undecodable, payload)), (#"[{"toString":"foo"}]"#, .dropped(.undecodable, payload)),
  (#"[true,"foo"]"#, .dropped(.undecodable, payload)), (#"[null,"bar"]"#, .dropped(.undecodable, payload)),
  (#" ["e"]"#, .dropped(.undecodable, payload)), (#"17["e",]"#, .dropped(.undecodable, payload, ack: 17)),
  ("[\"\u{FFFD}\",\u{1}]", .dropped(.undecodable, payload)), ("", .dropped(.undecodable, payload)),
  (#"18446744073709551616["e"]"#, .dropped(.undecodable, SocketIOFlaw.malformedAck.detail)),
  (#"["connect"]"#, .dropped(.undecodable, SocketIOFlaw.reservedName.detail, name: #""connect""#)),
  (
    #"5["disconnect","123"]"#,
    .dropped(.undecodable, SocketIOFlaw.reservedName.detail, name: #""disconnect""#, ack: 5)
  ),
]

@Test(arguments: [1_000_000, 3])
func anEventThatMeansNothingIsAGapInItsNamespaceAlone(pieces: Int) {
  for isThree in [false, true] {
    for (text, expected) in flawedEvents {
      let rig = SocketIORig()
      let main = isThree ? rig.joinedThree() : rig.joined()
      let other = rig.connection("/x")
      rig.transport.receive(isThree ? "40/x" : #"40/x,{"sid":"x"}"#)
      _ = other.log.take()
      rig.transport.receive("42/x,\(text)", inPiecesOf: pieces)
      rig.transport.receive(#"42/x,["next"]"#, #"42["next"]"#)
      #expect(other.log.take() == [expected, .event(#""next"()"#)], "\(text)")
      #expect(main.log.take() == [.event(#""next"()"#)], "\(text)")
      #expect(!rig.transport.isClosed)
    }
  }
}

@Test func aBinaryEventThatMeansNothingTakesItsAttachmentsWithIt() {
  let placeholders = SocketIOFlaw.malformedPlaceholder.detail
  let rows: [(String, ChannelLog.Entry)] = [
    (#"451-["a",{"_placeholder":true,"num":1}]"#, .dropped(.undecodable, placeholders, name: #""a""#)),
    (#"451-9["a",{"_placeholder":true,"num":"0"}]"#, .dropped(.undecodable, placeholders, name: #""a""#, ack: 9)),
    (#"451-["a",]"#, .dropped(.undecodable, payload)),
    (
      #"451-["connect",{"_placeholder":true,"num":0}]"#,
      .dropped(.undecodable, SocketIOFlaw.reservedName.detail, name: #""connect""#)
    ),
  ]
  for (text, expected) in rows {
    let rig = SocketIORig()
    let main = rig.joined()
    rig.transport.receive(text)
    rig.transport.receive(binary: [1])
    rig.transport.receive(#"42["next"]"#)
    #expect(main.log.take() == [expected, .event(#""next"()"#)], "\(text)")
  }
}

@Test func copiesOfAnAttachmentBeyondTheLimitOfAMessageAreAGap() {
  let rig = SocketIORig()
  let main = rig.joined { $0.messageLimit = 2_000 }
  let places = [String](repeating: #"{"_placeholder":true,"num":0}"#, count: 4).joined(separator: ",")
  rig.transport.receive(#"451-["a",\#(places)]"#)
  rig.transport.receive(binary: [UInt8](repeating: 1, count: 1_000))
  #expect(
    main.log.take() == [.dropped(.tooLarge, SocketIOFlaw.tooManyCopies(limit: 2_000).detail, name: #""a""#)])
}

@Test func anAnswerThatMeansNothingIsToldToWhoWaitsForIt() throws {
  let rig = SocketIORig()
  let main = rig.joined()
  for id in 0..<4 { try main.send("ask", "[]", ack: UInt64(70 + id)) }
  // The id of the first cannot be read: it is nobody's.
  rig.transport.receive("43[1]", #"43x[1]"#, "4399999999999999999999[1]", #"430{"a":1}"#, "431", "432[1,]")
  rig.transport.receive(#"461-3[{"_placeholder":true,"num":5}]"#)
  rig.transport.receive(binary: [1])
  #expect(main.log.take() == [.unreadable(70), .unreadable(71), .unreadable(72), .unreadable(73)])
  #expect(!rig.transport.isClosed)
}

@Test func anEventThatMeansNothingAndComesEarlyIsToldWhenTheNamespaceIsAccepted() {
  let rig = SocketIORig()
  let connection = rig.connection()
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake, #"42["disconnect",1]"#, "42{}", #"42["a"]"#)
  #expect(connection.log.take() == [])
  rig.transport.receive(#"40{"sid":"x"}"#)
  #expect(
    connection.log.take() == [
      .opened, .dropped(.undecodable, SocketIOFlaw.reservedName.detail, name: #""disconnect""#),
      .dropped(.undecodable, payload), .event(#""a"()"#),
    ])
}

@Test func attachmentsOutOfPlaceEndTheLink() {
  let head = #"451-["a",{"_placeholder":true,"num":0}]"#
  let rows: [(String, (FakeTransport) -> Void)] = [
    ("stray", { $0.receive(binary: [1]) }),
    ("text between", { $0.receive(head, #"42["b"]"#) }),
    (
      "too many bytes",
      {
        $0.receive(head)
        $0.receive(binary: [UInt8](repeating: 0, count: 2_000))
      }
    ),
  ]
  for (name, act) in rows {
    let rig = SocketIORig()
    let main = rig.joined { $0.messageLimit = 2_000 }
    act(rig.transport)
    guard case .ended(let failure) = main.log.take().last else {
      Issue.record("\(name) did not end the link")
      continue
    }
    #expect(failure.reason == (name == "too many bytes" ? .tooLarge : .protocolError), "\(name)")
  }
}

@Test func reconnectionForgetsAHalfMessage() {
  let rig = SocketIORig()
  let main = rig.joined()
  rig.transport.receive(#"451-["a",{"_placeholder":true,"num":0}]"#)
  rig.transport.fail(closed)
  main.dial()
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake, #"40{"sid":"x"}"#, #"42["b"]"#)
  #expect(main.log.take() == [.ended(closed), .opened, .event(#""b"()"#)])
}

@Test func closePacketEndsTheLink() {
  let rig = SocketIORig()
  let main = rig.joined()
  rig.transport.receive("1")
  #expect(main.log.take() == [.ended(UpstreamFailure(.closed, "the server closed the session"))])
}

@Test func harmlessSurprisesAreIgnored() {
  let rig = SocketIORig()
  let main = rig.joined()
  rig.transport.receive(
    "3", "6", "5", #"40{"sid":"again"}"#, #"40/other,{"sid":"x"}"#, "41/other,", #"44/other,"no""#, #"42/other,["a"]"#,
    "430[]", "5")
  #expect(main.log.take() == [])
  #expect(!rig.transport.isClosed)
}

@Test func messagesTooLargeForTheServerAreRefusedBeforeAndAfterTheHandshake() throws {
  let rig = SocketIORig()
  let connection = rig.connection()
  let big = [UInt8](#"["\#(String(repeating: "x", count: 1_000))"]"#.utf8)
  let queued = try connection.connector.prepare(MessageDraft(event: "e", args: big, isAcknowledged: false))
  #expect(connection.connector.check(queued, acknowledged: false) == nil)
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake, #"40{"sid":"x"}"#)
  #expect(connection.connector.check(queued, acknowledged: false) == .tooLarge(limit: 1_000, size: 1_010))
  rig.transport.fail(closed)
  #expect(throws: MessageProblem.tooLarge(limit: 1_000, size: 1_010)) {
    _ = try connection.connector.prepare(MessageDraft(event: "e", args: big, isAcknowledged: false))
  }
  #expect(throws: MessageProblem.tooLarge(limit: 1_000, size: 1_026)) {
    _ = try connection.connector.prepareAnswer(AnswerDraft(args: big))
  }
  connection.dial()
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake.replacingMaxPayload)
  #expect(connection.connector.check(queued, acknowledged: false) == nil)
}

@Test func aMessageThatEndedTheLinkOfAnOldServerIsNotWrittenAgain() throws {
  let rig = SocketIORig()
  let connection = rig.joinedThree()
  let big = MessageDraft(
    event: "e", args: [UInt8](#"["\#(String(repeating: "x", count: 1_000))"]"#.utf8), isAcknowledged: false)
  let message = try connection.connector.prepare(big)
  connection.channel?.write(message, ack: nil)
  rig.transport.fail(UpstreamFailure(.closed, "the server closed the connection", status: 1009))
  connection.dial()
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake, "40")
  #expect(connection.connector.check(message, acknowledged: false) == .tooLarge(limit: 1_008, size: 1_010))
  try connection.send("e", #"["small"]"#)
  // It may be raised.
  rig.transport.fail(closed)
  rig.advance(.seconds(3_600))
  connection.dial()
  rig.transport.open()
  rig.transport.receive(SocketIORig.oldHandshake, "40")
  #expect(connection.connector.check(message, acknowledged: false) == nil)
}

extension String {
  /// The handshake of a server that was configured anew.
  fileprivate var replacingMaxPayload: String { dropLast(5) + "2000}" }
}

@Test func aChannelHoldsItsOwnerUntilItIsClosed() {
  let rig = SocketIORig()
  let main = rig.joined()
  weak var weakOwner: ChannelLog?
  var channel: (any UpstreamChannel)?
  do {
    let owner = ChannelLog()
    weakOwner = owner
    channel = rig.kind.connector(for: rig.specification("/other")).dial(owner: owner)
  }
  rig.transport.receive(#"40/other,{"sid":"x"}"#, #"42/other,["a"]"#)
  #expect(weakOwner?.take() == [.opened, .event(#""a"()"#)])
  _ = rig.transport.takeSent()
  channel?.close()
  channel = nil
  #expect(rig.transport.takeSent() == ["41/other,"])
  #expect(weakOwner == nil)
  #expect(main.log.take() == [])
}

@Test func nothingOfALinkOutlivesItsEnd() throws {
  for ending in 0..<4 {
    let rig = SocketIORig()
    weak var weakChannel: AnyObject?
    weak var weakReceiver: AnyObject?
    weak var weakConnector: AnyObject?
    do {
      let main = rig.joined()
      try main.send("e", ack: 1)
      weakChannel = main.channel
      weakReceiver = rig.transport.receiver
      weakConnector = main.connector
      switch ending {
      case 0: main.close()
      case 1: rig.transport.fail(closed)
      case 2: rig.transport.receive("41")
      default: rig.transport.receive("nonsense")
      }
      main.channel = nil
    }
    rig.dialer.forgetTransports()
    rig.turn()
    #expect(weakChannel == nil && weakReceiver == nil && weakConnector == nil, "ending \(ending)")
    #expect(rig.kind.linkCount == 0 && rig.timers.count == 0)
  }
}

@Test func aCloseSaysWhatItCameBefore() {
  let rows: [([String], String)] = [
    ([], ", before its Engine.IO handshake"),
    ([SocketIORig.handshake], ", before it accepted the namespace"),
    ([SocketIORig.handshake, #"40{"sid":"a"}"#], ""),
  ]
  for (texts, suffix) in rows {
    let rig = SocketIORig()
    let main = rig.connection()
    rig.transport.open()
    for text in texts { rig.transport.receive(text) }
    rig.transport.fail(closed)
    #expect(main.log.take().last == .ended(UpstreamFailure(.closed, closed.detail + suffix, status: 1006)))
  }
  let rig = SocketIORig()
  let main = rig.connection()
  rig.transport.fail(closed)
  #expect(main.log.take() == [.ended(closed)], "a transport that never opened tells its own stage")
}

@Test func anAnswerToTheConnectOfMegabytesEndsTheLink() {
  let rig = SocketIORig()
  let main = rig.joined()
  let members = String(repeating: #""a":[0,0,0,0],"#, count: 1 << 16)
  rig.transport.receive(#"40{\#(members)"sid":"x"}"#)
  #expect(main.log.take() == [.ended(SocketIOProblem.oversizedAnswer(limit: 64 << 10).failure)])
}
