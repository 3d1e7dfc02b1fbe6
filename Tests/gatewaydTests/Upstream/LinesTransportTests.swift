import CTLS
@testable import GatewayCore
import Testing

@testable import gatewayd

/// What is read of a connection with lines before anybody hears that it is open.
@Suite struct LinesTransportTests {
  @Test func whyTheFirstReadFailedIsWhyTheConnectionEnded() throws {
    let tls = try WebSocketPeerTLS(newestVersion: TLS1_2_VERSION, breaksOff: true)
    let peer = try WebSocketPeer(tls: tls) { _, connection in _ = try connection.read(1) }
    let failure = try WebSocketDialing(carrying: .lines).failure(WebSocketDialing.request(peer.port, secure: true))
      .failure
    #expect(failure.detail.contains("cipher operation failed"), "\(failure.detail)")
  }

  /// A peer that says a line to each of two of ours, and then waits for the end.
  private func answering(_ tls: WebSocketPeerTLS? = nil) throws -> WebSocketPeer {
    try WebSocketPeer(tls: tls) { _, connection in
      _ = try connection.read(2)
      try connection.write(Array("first\n".utf8))
      _ = try connection.read(2)
      try connection.write(Array("second\n".utf8))
      _ = try connection.read(1)
    }
  }

  @Test func nothingReachesTheKernelWhenTheTimeForWritingIsOver() throws {
    let peer = try answering()
    let dialing = try WebSocketDialing(carrying: .lines)
    try dialing.open(WebSocketDialing.request(peer.port))
    let transport = try #require(dialing.transport)
    let now = dialing.loop.time.now
    transport.mayWrite(until: now + .seconds(60))
    dialing.send("1\n")
    #expect(try dialing.run { dialing.texts == ["first"] })
    #expect(try dialing.run { transport.unsentBytes == 0 })
    transport.mayWrite(until: now)
    dialing.send("2\n")
    // What was put off for later turns has happened by then.
    var turns = 0
    #expect(
      try dialing.run {
        turns += 1; return turns > 20
      })
    #expect(transport.unsentBytes == 2)
    #expect(transport.isCongested)
    #expect(dialing.texts == ["first"])
    transport.mayWrite(until: now + .seconds(60))
    #expect(try dialing.run { dialing.texts == ["first", "second"] })
  }

  @Test(arguments: [false, true])
  func whatIsWrittenLongAfterTheLastLookIsGivenUpAtTheSameInstant(isSecure: Bool) throws {
    let peer = try answering(isSecure ? try WebSocketPeerTLS() : nil)
    let dialing = try WebSocketDialing(carrying: .lines)
    try dialing.open(WebSocketDialing.request(peer.port, secure: isSecure))
    let transport = try #require(dialing.transport)
    let began = dialing.loop.time.now
    transport.mayWrite(until: began + .seconds(60))
    #expect(try dialing.run { dialing.loop.time.now > began + .milliseconds(300) })
    dialing.send("1\n")
    #expect(try dialing.run { dialing.texts == ["first"] })
    let limit = try #require(Descriptors.unacknowledgedLimit(to: peer.port))
    #expect(limit <= 59_800)
  }

  @Test(arguments: [false, true]) func aPeerIsReadNoFurtherWhileReadingIsHeld(isSecure: Bool) throws {
    let tls = isSecure ? try WebSocketPeerTLS() : nil
    let peer = try answering(tls)
    let dialing = try WebSocketDialing(carrying: .lines)
    try dialing.open(WebSocketDialing.request(peer.port, secure: isSecure))
    let transport = try #require(dialing.transport)
    dialing.onText = { _ in transport.holdReading(true) }
    dialing.send("0\n")
    #expect(try dialing.run { dialing.texts == ["first"] })
    dialing.send("1\n")
    #expect(try dialing.run { transport.unsentBytes == 0 })
    // What has come meanwhile is seen in one of many turns.
    var turns = 0
    #expect(
      try dialing.run {
        turns += 1; return turns > 20
      })
    #expect(dialing.texts == ["first"])
    dialing.onText = { _ in }
    transport.holdReading(false)
    #expect(try dialing.run { dialing.texts == ["first", "second"] })
  }

  @Test func aPeerIsReadNoFurtherWhileWhatWasReadIsWritten() throws {
    let peer = try answering()
    let dialing = try WebSocketDialing(carrying: .lines)
    try dialing.open(WebSocketDialing.request(peer.port))
    dialing.send("0\n")
    #expect(try dialing.run { dialing.texts == ["first"] })
    dialing.loop.beforeSleep = { $0.hasWritesLeft = true }
    dialing.send("1\n")
    #expect(try dialing.run { dialing.loop.holdsReads && dialing.loop.hasDeferred })
    #expect(dialing.texts == ["first"])
    dialing.loop.beforeSleep = { $0.hasWritesLeft = false }
    #expect(try dialing.run { dialing.texts == ["first", "second"] })
  }

  @Test func aGoodbyeDoesNotWaitForTheTimeOfWriting() throws {
    let peer = try WebSocketPeer { _, connection in _ = try connection.read(1) }
    let dialing = try WebSocketDialing(carrying: .lines)
    try dialing.open(WebSocketDialing.request(peer.port))
    dialing.transport?.mayWrite(until: dialing.loop.time.now)
    dialing.send("1\n")
    dialing.close()
    try dialing.becomeQuiet()
  }
}
