@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// Talking over an open WebSocket.
@Suite struct WebSocketTransportTests {
  @Test func opensEchoesAndSaysGoodbye() throws {
    let peer = try WebSocketPeer { peer, connection in
      try connection.upgrade()
      peer.note(connection.requestHead)
      let frame = try connection.readFrame()
      try connection.send(frame.opcode, frame.payload)
      let goodbye = try connection.readFrame()
      peer.note("\(goodbye.opcode) \(goodbye.closeCode)")
      try connection.send(goodbye.opcode, goodbye.payload)
      connection.awaitEnd()
    }
    let dialing = try WebSocketDialing()
    #expect(try dialing.open(WebSocketDialing.request(peer.port)) == nil)
    #expect(
      dialing.opened == [TransportFacts(name: "websocket", tlsVersion: nil, verified: true, address: "127.0.0.1")])
    dialing.send("grüße")
    try dialing.run { !dialing.texts.isEmpty }
    #expect(dialing.texts == ["grüße"])
    dialing.close()
    try dialing.becomeQuiet()
    #expect(peer.noted.last == "8 1000")
    #expect(peer.noted.first?.hasPrefix("GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n") == true)
    #expect(peer.noted.first?.contains("\r\nHost: 127.0.0.1:\(peer.port)\r\n") == true)
    #expect(peer.noted.first?.contains("\r\nX-Test: yes\r\n") == true)
    #expect(dialing.closed.isEmpty)
    #expect(dialing.callsFromWithin == 0)
  }

  @Test func binaryMessagesKeepTheirBytes() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.upgrade()
      while true {
        let frame = try connection.readFrame()
        try connection.send(frame.opcode, frame.payload)
      }
    }
    let dialing = try WebSocketDialing()
    try dialing.open(WebSocketDialing.request(peer.port))
    let messages: [[UInt8]] = [
      [], [0], Array(0...255), Array(repeating: 7, count: 125), Array(repeating: 8, count: 126),
    ]
    for message in messages { dialing.send(message) }
    try dialing.run { dialing.binaries.count == messages.count }
    #expect(dialing.binaries == messages)
  }

  @Test func messagesBehindTheResponseHeadAreDelivered() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.upgrade(
        behind: WebSocketPeer.Connection.frame(1, Array("first".utf8))
          + WebSocketPeer.Connection.frame(1, Array("second".utf8)))
      connection.awaitEnd()
    }
    let dialing = try WebSocketDialing()
    try dialing.open(WebSocketDialing.request(peer.port))
    try dialing.run { dialing.texts.count == 2 }
    #expect(dialing.texts == ["first", "second"])
  }

  @Test func fragmentsWithAPingBetweenThemAreOneMessage() throws {
    let peer = try WebSocketPeer { peer, connection in
      try connection.upgrade()
      try connection.send(1, Array("one ".utf8), isFinal: false)
      try connection.send(9, Array("alive?".utf8))
      try connection.send(0, Array("two ".utf8), isFinal: false)
      try connection.send(0, Array("three".utf8))
      let pong = try connection.readFrame()
      peer.note("\(pong.opcode) \(pong.text)")
      connection.awaitEnd()
    }
    let dialing = try WebSocketDialing()
    try dialing.open(WebSocketDialing.request(peer.port))
    try dialing.run { !dialing.texts.isEmpty && !peer.noted.isEmpty }
    #expect(dialing.texts == ["one two three"])
    #expect(peer.noted == ["10 alive?"])
  }

  @Test(arguments: [false, true]) func fiveMegabytesGoBothWaysThroughASlowPeer(secure: Bool) throws {
    let size = 5 << 20
    let peer = try WebSocketPeer(tls: secure ? WebSocketPeerTLS() : nil) { peer, connection in
      try connection.upgrade()
      usleep(200_000)
      let frame = try connection.readFrame()
      peer.note("\(frame.payload.count)")
      try connection.send(frame.opcode, frame.payload)
      connection.awaitEnd()
    }
    let dialing = try WebSocketDialing()
    try dialing.open(WebSocketDialing.request(peer.port, secure: secure))
    var message = [UInt8](repeating: 0, count: size)
    for index in message.indices { message[index] = UInt8(truncatingIfNeeded: index &* 31 ^ index >> 8) }
    dialing.send(message)
    #expect(dialing.transport?.unsentBytes ?? 0 > size)
    #expect(dialing.transport?.isCongested == false, "nothing was offered to the kernel yet")
    try dialing.loop.turn(sleepingAtMost: .zero)
    // Others have their turn in between.
    #expect(dialing.transport?.unsentBytes ?? 0 > size - (256 << 10))
    #expect(dialing.transport?.isCongested == false, "the turn is over, but the kernel took all that it was offered")
    #expect(try dialing.run { dialing.transport?.isCongested == true || !dialing.binaries.isEmpty })
    #expect(try dialing.run { !dialing.binaries.isEmpty })
    #expect(dialing.binaries.first == message)
    #expect(dialing.transport?.unsentBytes == 0)
    #expect(dialing.transport?.isCongested == false)
    #expect(peer.noted == ["\(size)"])
  }

  @Test(arguments: [false, true]) func burstArrivesInOrder(secure: Bool) throws {
    let peer = try WebSocketPeer(tls: secure ? WebSocketPeerTLS() : nil) { _, connection in
      try connection.upgrade()
      var burst: [UInt8] = []
      for number in 0..<20_000 {
        burst += WebSocketPeer.Connection.frame(
          1, Array("message \(number) \(String(repeating: "x", count: number % 300))".utf8))
      }
      try connection.write(burst)
      connection.awaitEnd()
    }
    let dialing = try WebSocketDialing()
    try dialing.open(WebSocketDialing.request(peer.port, secure: secure))
    // Decrypted bytes that wait inside OpenSSL must not wait for the next packet, which never comes.
    #expect(try dialing.run { dialing.texts.count == 20_000 })
    for (number, text) in dialing.texts.enumerated() where !text.hasPrefix("message \(number) ") {
      Issue.record("message \(number) is \(text.prefix(20))")
      break
    }
  }

  struct Burst: CustomTestStringConvertible {
    var lines = false
    var secure = false
    /// Each message is written, and encrypted, by itself.
    var piecemeal = false

    var testDescription: String {
      "\(lines ? "lines" : "frames")\(secure ? ", TLS" : "")\(piecemeal ? ", one by one" : "")"
    }
  }

  /// A burst, and the end, while another source always has something to be done, which is served in between.
  @Test(arguments: [
    Burst(), Burst(secure: true), Burst(secure: true, piecemeal: true), Burst(lines: true),
    Burst(lines: true, secure: true), Burst(lines: true, secure: true, piecemeal: true),
  ])
  func aBurstWaitsForOthersAndLosesNothing(burst: Burst) throws {
    let (lines, secure) = (burst.lines, burst.secure)
    let count = 2_000
    let peer = try WebSocketPeer(tls: secure ? WebSocketPeerTLS() : nil) { _, connection in
      let messages = (0..<count).map { number in
        let text = Array("message \(number) \(String(repeating: "x", count: number % 300))".utf8)
        return lines ? text + [10] : WebSocketPeer.Connection.frame(1, text)
      }
      if !lines { try connection.upgrade(behind: burst.piecemeal ? [] : Array(messages[..<100].joined())) }
      let rest = messages[(lines || burst.piecemeal ? 0 : 100)...]
      if burst.piecemeal { try rest.forEach(connection.write) } else { try connection.write(Array(rest.joined())) }
      if !lines { try connection.sendClose(1001, "enough") }
      connection.finish()
      connection.awaitEnd()
    }
    let dialing = try WebSocketDialing(carrying: lines ? .lines : .webSockets)
    let pair = try Descriptors.pair()
    defer { Descriptors.close(pair) }
    Descriptors.write(pair.1, "x")
    // How many messages there were when the other one had its turn.
    var turns: [Int] = []
    let other = try dialing.loop.addIO(pair.0, .readable) { _ in turns.append(dialing.texts.count) }
    dialing.onText = { _ in usleep(20) }
    try dialing.open(WebSocketDialing.request(peer.port, secure: secure))
    #expect(try dialing.run { !dialing.closed.isEmpty })
    #expect(dialing.texts.count == count)
    for (number, text) in dialing.texts.enumerated() where !text.hasPrefix("message \(number) ") {
      Issue.record("message \(number) is \(text.prefix(20))")
      break
    }
    // A few messages at a time, though a read brings hundreds.
    #expect(zip(turns, turns.dropFirst()).map { $1 - $0 }.max() ?? 0 <= 3 * TransportSocket.pauseStep)
    #expect(turns.contains { 0 < $0 && $0 < count })
    withExtendedLifetime(other) {}
  }

  @Test func aTransportMayBeClosedWhileMessagesWait() throws {
    let peer = try WebSocketPeer { peer, connection in
      try connection.upgrade()
      try connection.write((0..<500).flatMap { WebSocketPeer.Connection.frame(1, Array("message \($0)".utf8)) })
      peer.note("\(try connection.readFrame().closeCode)")
    }
    let dialing = try WebSocketDialing()
    let pair = try Descriptors.pair()
    defer { Descriptors.close(pair) }
    Descriptors.write(pair.1, "x")
    var heard: Int?
    let other = try dialing.loop.addIO(pair.0, .readable) { _ in
      guard heard == nil, !dialing.texts.isEmpty else { return }
      heard = dialing.texts.count
      dialing.close()
    }
    dialing.onText = { _ in usleep(20) }
    try dialing.open(WebSocketDialing.request(peer.port))
    try dialing.becomeQuiet()
    #expect(try dialing.run { peer.noted == ["1000"] })
    #expect(dialing.texts.count == heard)
    #expect(heard.map { $0 < 500 } == true)
    withExtendedLifetime(other) {}
  }

  @Test func sendsBeforeTheGoodbyeStillArrive() throws {
    let peer = try WebSocketPeer { peer, connection in
      try connection.upgrade()
      usleep(50_000)
      for _ in 0..<20 { peer.note("\(try connection.readFrame().payload.count)") }
      let goodbye = try connection.readFrame()
      peer.note("close \(goodbye.closeCode)")
      try connection.send(8, goodbye.payload)
    }
    let dialing = try WebSocketDialing()
    try dialing.open(WebSocketDialing.request(peer.port))
    for _ in 0..<20 { dialing.send([UInt8](repeating: 1, count: 50_000)) }
    dialing.close()
    try dialing.becomeQuiet()
    #expect(peer.noted == Array(repeating: "50000", count: 20) + ["close 1000"])
    #expect(dialing.closed.isEmpty)
  }

  @Test func goodbyeIsGivenUpWhenThePeerDoesNotAnswer() throws {
    let peer = try WebSocketPeer { _, connection in
      try connection.upgrade()
      usleep(8_000_000)
    }
    let limit = Duration.milliseconds(200)
    let dialing = try WebSocketDialing(closeLimit: limit)
    try dialing.open(WebSocketDialing.request(peer.port))
    dialing.close()
    let start = dialing.loop.time.now
    try dialing.becomeQuiet()
    let taken = dialing.loop.time.now - start
    #expect(taken >= limit)
    #expect(taken < limit * 20)
  }

  @Test func transportThatNobodyHoldsIsFreed() throws {
    let peer = try WebSocketPeer { peer, connection in
      try connection.upgrade()
      connection.awaitEnd()
      peer.note("gone")
    }
    let dialing = try WebSocketDialing()
    try dialing.open(WebSocketDialing.request(peer.port))
    weak let transport = dialing.transport
    dialing.transport = nil
    #expect(transport == nil)
    #expect(try dialing.run { peer.noted == ["gone"] })
  }
}
