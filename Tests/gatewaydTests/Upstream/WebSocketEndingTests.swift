@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// How an open WebSocket ends, and that it ends only once.
@Suite struct WebSocketEndingTests {
  /// What the receiver is told, and the code of the close frame that the peer gets, after the peer did something.
  private func end(
    messageLimit: Int = 1_000, after script: @escaping @Sendable (WebSocketPeer.Connection) throws -> Void
  ) throws -> (failure: TransportFailure, code: String?) {
    let peer = try WebSocketPeer { peer, connection in
      try connection.upgrade()
      try script(connection)
      var frame = try connection.readFrame()
      while frame.opcode != 8 { frame = try connection.readFrame() }
      peer.note("\(frame.closeCode)")
    }
    let dialing = try WebSocketDialing()
    var request = WebSocketDialing.request(peer.port)
    request.messageLimit = messageLimit
    let failure = try dialing.failure(request)
    try dialing.becomeQuiet()
    try dialing.run { !peer.noted.isEmpty }
    #expect(dialing.opened.count == 1)
    #expect(dialing.closed.count == 1)
    #expect(dialing.callsFromWithin == 0)
    return (failure, peer.noted.first)
  }

  @Test func messageAtTheLimitPasses() throws {
    let (failure, _) = try end { connection in
      try connection.send(1, [UInt8](repeating: 65, count: 1_000))
      try connection.send(1, [UInt8](repeating: 65, count: 600), isFinal: false)
      try connection.send(0, [UInt8](repeating: 65, count: 400))
      try connection.sendClose(1_000)
    }
    #expect(failure.failure.reason == .closed)
  }

  @Test func messageBeyondTheLimitIsTooLarge() throws {
    let (failure, code) = try end { try $0.send(1, [UInt8](repeating: 65, count: 1_001)) }
    #expect(
      failure == TransportFailure(UpstreamFailure(.tooLarge, "the server sent a message of more than 1000 bytes")))
    #expect(code == "1009")
  }

  @Test func fragmentsBeyondTheLimitTogetherAreTooLarge() throws {
    let (failure, code) = try end { connection in
      for _ in 0..<3 { try connection.send(0, [UInt8](repeating: 65, count: 400), isFinal: false) }
    }
    #expect(failure.failure.reason == .protocolError)
    #expect(code == "1002")
    let second = try end { connection in
      try connection.send(2, [UInt8](repeating: 65, count: 400), isFinal: false)
      for _ in 0..<2 { try connection.send(0, [UInt8](repeating: 65, count: 400), isFinal: false) }
    }
    #expect(second.failure.failure.reason == .tooLarge)
    #expect(second.code == "1009")
  }

  @Test func announcedLengthOfTwoToTheSixtyThirdMinusOneIsTooLarge() throws {
    let (failure, code) = try end { try $0.write([0x82, 127, 0x7f] + [UInt8](repeating: 0xff, count: 8)) }
    #expect(failure.failure.reason == .tooLarge)
    #expect(code == "1009")
  }

  @Test func textThatIsNotUTF8BreaksTheProtocol() throws {
    let expected = TransportFailure(UpstreamFailure(.protocolError, "the server sent text that is not valid UTF-8"))
    for bytes: [UInt8] in [[0x61, 0xff], [0xc3], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]] {
      let (failure, code) = try end { try $0.send(1, bytes) }
      #expect(failure == expected)
      #expect(code == "1007")
    }
  }

  @Test func framesAgainstTheRulesBreakTheProtocol() throws {
    let expected = TransportFailure(UpstreamFailure(.protocolError, "the server broke the rules of WebSocket frames"))
    let frames: [[UInt8]] = [
      [0x81, 0x81, 1, 2, 3, 4, 0x60],  // masked
      [0xc1, 1, 0x61],  // a reserved bit
      [0x83, 0],  // an unknown opcode
      [0x80, 1, 0x61],  // continues nothing
      [0x09, 0],  // a fragmented ping
      [0x89, 126, 0, 126] + [UInt8](repeating: 0, count: 126),  // a long ping
      [0x88, 1, 0],  // half a close code
      [0x01, 1, 0x61, 0x81, 1, 0x62],  // a message inside a message
      [0x88, 2, 0x03, 0xed],  // the close code 1005, which must not be sent
      [0x82, 126, 0, 1, 0],  // a length that would fit a shorter form
      [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0],  // a negative length
    ]
    for frame in frames {
      let (failure, code) = try end { try $0.write(frame) }
      #expect(failure == expected, "\(frame.prefix(4))")
      #expect(code == "1002", "\(frame.prefix(4))")
    }
  }

  @Test func closeFrameIsAnsweredAndReportedWithCodeAndReason() throws {
    let (failure, code) = try end { try $0.sendClose(1_008, "go\u{1b}away") }
    let detail = "the server closed the WebSocket with code 1008 (go away)"
    #expect(failure == TransportFailure(UpstreamFailure(.closed, detail, status: 1_008)))
    #expect(code == "1008")
  }

  @Test func closeFrameWithoutCodeIsReportedWithoutStatus() throws {
    let (failure, code) = try end { try $0.send(8, []) }
    #expect(failure == TransportFailure(UpstreamFailure(.closed, "the server closed the WebSocket")))
    #expect(code == "0")
  }

  @Test func hangingUpWithoutCloseFrameIsAClose() throws {
    let peer = try WebSocketPeer { _, connection in try connection.upgrade() }
    let failure = try WebSocketDialing().failure(WebSocketDialing.request(peer.port))
    let detail = "the server closed the connection without a WebSocket close frame"
    #expect(failure == TransportFailure(UpstreamFailure(.closed, detail)))
  }

  @Test func resetIsAClose() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.upgrade()
      connection.closeWithReset()
    }
    let failure = try WebSocketDialing().failure(WebSocketDialing.request(peer.port)).failure
    #expect(failure.reason == .closed)
    #expect(failure.detail.hasPrefix("the connection to 127.0.0.1:\(peer.port) was lost: "))
  }

  @Test func lastWordsOfThePeerWinOverAFailedWrite() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.upgrade()
      try connection.send(text: "last")
      try connection.sendClose(1_001, "restart")
    }
    let dialing = try WebSocketDialing()
    try dialing.open(WebSocketDialing.request(peer.port))
    usleep(50_000)
    for _ in 0..<50 {
      dialing.send([UInt8](repeating: 1, count: 100_000))
      usleep(1_000)
    }
    try dialing.run { !dialing.closed.isEmpty }
    #expect(dialing.texts == ["last"])
    #expect(dialing.closed.first?.failure.status == 1_001)
    #expect(dialing.callsFromWithin == 0)
  }

  @Test(arguments: [false, true]) func lastWordsOfManyReadsAreReadToTheirEndAfterAFailedWrite(lines: Bool) throws {
    let word = [UInt8](repeating: 65, count: 999)
    let message = lines ? word + [10] : WebSocketPeer.Connection.frame(1, word)
    let peer = try WebSocketPeer { peer, connection in
      if !lines { try connection.upgrade() }
      // The receiving kernel makes more room for who reads much.
      try connection.write(Array(repeatElement(message, count: 8_000).joined()))
      _ = try connection.read(1)
      try connection.write(Array(repeatElement(message, count: 250).joined()))
      usleep(50_000)
      // Hanging up on unread bytes is a reset: the next write fails at once, and what was said waits in our kernel.
      peer.note("\(250 - (connection.undeliveredBytes + message.count - 1) / message.count)")
    }
    let dialing = try WebSocketDialing(carrying: lines ? .lines : .webSockets)
    try dialing.open(WebSocketDialing.request(peer.port))
    #expect(try dialing.run { dialing.texts.count == 8_000 })
    dialing.send("go on\n")
    #expect(try dialing.run { dialing.transport?.unsentBytes == 0 })
    for _ in 0..<5_000 where peer.noted.isEmpty { usleep(1_000) }
    usleep(50_000)
    dialing.send("and on\n")
    #expect(try dialing.run { !dialing.closed.isEmpty })
    let delivered = try #require(peer.noted.first.flatMap { Int($0) })
    #expect(delivered > 40)
    #expect(dialing.texts.count >= 8_000 + delivered)
    #expect(dialing.callsFromWithin == 0)
  }

  @Test func pingsWhoseAnswersAreNotReadBreakTheProtocol() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.upgrade()
      let pings = (0..<100).flatMap { _ in WebSocketPeer.Connection.frame(9, [UInt8](repeating: 0, count: 125)) }
      while true { try connection.write(pings) }
    }
    let failure = try WebSocketDialing().failure(WebSocketDialing.request(peer.port)).failure
    #expect(failure == .unreadAnswers(limit: 256 << 10))
  }

  @Test func floodOfPingsWhoseAnswersAreReadIsBorne() throws {
    let peer = try WebSocketPeer { peer, connection in
      try connection.upgrade()
      for _ in 0..<50 {
        try connection.write((0..<500).flatMap { _ in WebSocketPeer.Connection.frame(9, [1]) })
        for _ in 0..<500 { _ = try connection.readFrame() }
      }
      try connection.send(text: "enough")
      connection.awaitEnd()
    }
    let dialing = try WebSocketDialing()
    try dialing.open(WebSocketDialing.request(peer.port))
    try dialing.run { !dialing.texts.isEmpty || !dialing.closed.isEmpty }
    #expect(dialing.texts == ["enough"])
  }

  @Test func nothingIsHeardAfterClosingAtAnyMoment() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.upgrade(behind: WebSocketPeer.Connection.frame(1, Array("early".utf8)))
      for _ in 0..<200 { try connection.send(text: "more") }
      try connection.sendClose(1_000)
    }
    for moment in 0..<40 {
      let dialing = try WebSocketDialing()
      dialing.dial(WebSocketDialing.request(peer.port))
      for _ in 0..<moment { try dialing.loop.turn(sleepingAtMost: .milliseconds(5)) }
      let (opened, texts, closed) = (dialing.opened.count, dialing.texts.count, dialing.closed.count)
      dialing.close()
      dialing.send("into the void")
      dialing.close()
      #expect(dialing.transport?.unsentBytes ?? 0 < 1_000)
      try dialing.becomeQuiet()
      #expect(dialing.opened.count == opened && dialing.texts.count == texts && dialing.closed.count == closed)
      #expect(dialing.callsFromWithin == 0)
    }
  }

  @Test func closingInsideACallbackEndsTheCallbacks() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.upgrade()
      let burst = (0..<100).flatMap { WebSocketPeer.Connection.frame(1, Array("text \($0)".utf8)) }
      try connection.write(burst)
      connection.awaitEnd()
    }
    let first = try WebSocketDialing(closeLimit: .milliseconds(100))
    first.onOpened = { [unowned first] in
      first.send("hello")
      first.close()
    }
    try first.open(WebSocketDialing.request(peer.port))
    try first.becomeQuiet()
    #expect(first.texts.isEmpty && first.closed.isEmpty)

    let second = try WebSocketDialing(closeLimit: .milliseconds(100))
    second.onText = { [unowned second] _ in
      second.send("answer")
      second.close()
      second.transport = nil
    }
    try second.open(WebSocketDialing.request(peer.port))
    try second.run { !second.texts.isEmpty }
    try second.becomeQuiet()
    #expect(second.texts == ["text 0"])
    #expect(second.closed.isEmpty)
  }

  @Test func lettingGoInsideACallbackIsSafe() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.upgrade()
      try connection.write((0..<100).flatMap { WebSocketPeer.Connection.frame(1, Array("text \($0)".utf8)) })
      connection.awaitEnd()
    }
    let dialing = try WebSocketDialing()
    dialing.onText = { [unowned dialing] _ in dialing.transport = nil }
    try dialing.open(WebSocketDialing.request(peer.port))
    try dialing.run { !dialing.texts.isEmpty }
    try dialing.run(within: .milliseconds(50)) { false }
    #expect(dialing.texts.first == "text 0")
    #expect(dialing.closed.isEmpty)
  }

  @Test func manyOpeningsAndEndingsLeaveNothingOpen() throws {
    let peer = try WebSocketPeer(tls: WebSocketPeerTLS()) { _, connection in
      try connection.upgrade()
      try connection.send(text: "hello")
      _ = try connection.readFrame()
    }
    let dialing = try WebSocketDialing()
    let target = WebSocketDialing.request(peer.port, secure: true)
    try dialing.open(target)
    let before = Descriptors.openCount()
    for round in 0..<60 {
      (dialing.opened, dialing.texts, dialing.closed) = ([], [], [])
      dialing.dial(target)
      // Each round is given up at another moment: while connecting, in the TLS handshake, open.
      for _ in 0..<(round % 15) { try dialing.loop.turn(sleepingAtMost: .milliseconds(2)) }
      dialing.close()
    }
    try dialing.becomeQuiet()
    try dialing.run(within: .milliseconds(300)) { false }
    // Other suites run beside this one; a leak of one per round would show as 60.
    #expect(Descriptors.openCount() < before + 45)
  }
}
