@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// Lines in, answers out, over real sockets.
struct LocalServerTests {
  private typealias Client = LocalClientFixture

  @Test func aLineIsAnsweredByALine() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    client.send(Client.ping(1))
    var lines: [String] = []
    #expect(
      try fixture.turn {
        lines += client.lines(); return lines.count == 1
      })
    #expect(lines == [Client.pong(1)])
  }

  @Test func theDaemonNeverSpeaksFirst() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    #expect(try fixture.turn { fixture.server.clientCount == 1 })
    try fixture.settle()
    #expect(client.lines() == [])
    #expect(!client.isEnded)
  }

  @Test func everyCutOfTheBytesGivesTheSameAnswers() throws {
    let fixture = try LocalServerFixture()
    let text = Client.ping(1) + "\r\n" + Client.ping(2) + "{\"x\"\n" + Client.ping(3)
    let whole = try answers(fixture, [text])
    #expect(whole.count == 4)
    let bytes = Array(text.utf8)
    for cut in 1..<bytes.count {
      let pieces = [bytes[..<cut], bytes[cut...]].map { String(decoding: $0, as: UTF8.self) }
      #expect(try answers(fixture, pieces) == whole, "cut at \(cut)")
    }
    #expect(try answers(fixture, bytes.map { String(decoding: [$0], as: UTF8.self) }) == whole)
  }

  private func answers(_ fixture: LocalServerFixture, _ pieces: [String]) throws -> [String] {
    let client = try fixture.connect()
    for piece in pieces {
      client.send(piece)
      try fixture.loop.turn(sleepingAtMost: .zero)
    }
    var lines: [String] = []
    _ = try fixture.turn {
      lines += client.lines(); return lines.count == 4
    }
    return lines
  }

  @Test func pipelinedCallsAreAllAnsweredInOneGo() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    client.send((1...500).map(Client.ping).joined())
    var lines: [String] = []
    #expect(
      try fixture.turn {
        lines += client.lines(); return lines.count == 500
      })
    #expect(lines == (1...500).map(Client.pong))
  }

  @Test func interleavedClientsGetTheirOwnAnswers() throws {
    let fixture = try LocalServerFixture()
    let clients = try (0..<20).map { _ in try fixture.connect() }
    for round in 0..<10 {
      for (index, client) in clients.enumerated() {
        let text = Client.ping(round * 100 + index)
        client.send(String(text.prefix(10)))
        try fixture.loop.turn(sleepingAtMost: .zero)
        client.send(String(text.dropFirst(10)))
      }
    }
    for (index, client) in clients.enumerated() {
      var lines: [String] = []
      #expect(
        try fixture.turn {
          lines += client.lines(); return lines.count == 10
        })
      #expect(lines == (0..<10).map { Client.pong($0 * 100 + index) })
    }
  }

  @Test func twoThousandClientsAreServedAtOnce() throws {
    let fixture = try LocalServerFixture()
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let count = min(2_000, Int(limit.rlim_cur) / 2 - 200)
    let clients = try (0..<count).map { index in
      let client = try fixture.connect()
      // The backlog is finite.
      if index % 100 == 99 { try fixture.settle() }
      return client
    }
    #expect(try fixture.turn { fixture.server.clientCount == count })
    for (index, client) in clients.enumerated() { client.send(Client.ping(index)) }
    var answered = 0
    #expect(
      try fixture.turn {
        for (index, client) in clients.enumerated() where client.lines() == [Client.pong(index)] { answered += 1 }
        return answered == count
      })
  }

  @Test func aClientThatVanishesMidLineLeavesNothing() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    client.send("{\"jsonrpc\":\"2.0\",\"id\":1,")
    #expect(try fixture.turn { fixture.server.clientCount == 1 })
    try fixture.settle()
    #expect(fixture.sessionCount == 1)
    client.close()
    #expect(try fixture.turn { fixture.server.clientCount == 0 })
    #expect(fixture.sessionCount == 0)
  }

  @Test func whatAClientSentBeforeItVanishedIsStillRead() throws {
    let fixture = try LocalServerFixture()
    let victim = try fixture.connect()
    #expect(try fixture.turn { fixture.server.clientCount == 1 })
    let client = try fixture.connect()
    let kick = "{\"jsonrpc\":\"2.0\",\"method\":\"clients.kick\",\"params\":{\"client\":\"c1\"}}\n"
    let text = (1...2_500).map(Client.ping).joined() + kick
    #expect(client.send(text) == text.utf8.count)
    client.close()
    #expect(
      try fixture.turn {
        victim.receive()
        return victim.isEnded
      })
  }

  @Test func aHalfClosedClientGetsItsAnswersThenTheEnd() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    client.send(Client.ping(1) + Client.ping(2))
    client.endOutput()
    var lines: [String] = []
    #expect(
      try fixture.turn {
        lines += client.lines(); return client.isEnded
      })
    #expect(lines == [Client.pong(1), Client.pong(2)])
    #expect(try fixture.turn { fixture.server.clientCount == 0 })
  }

  @Test func aLastLineWithoutItsEndIsAnsweredToo() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    client.send(String(Client.ping(1).dropLast()))
    client.endOutput()
    var lines: [String] = []
    #expect(
      try fixture.turn {
        lines += client.lines(); return client.isEnded
      })
    #expect(lines == [Client.pong(1)])
  }

  @Test func aHalfClosedClientDoesNotKeepTheLoopBusy() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    client.endOutput()
    #expect(try fixture.turn { fixture.server.clientCount == 0 || client.isEnded })
    try fixture.settle()
    let start = fixture.loop.time.now
    try fixture.loop.turn(sleepingAtMost: .milliseconds(30))
    #expect(fixture.loop.time.now - start >= .milliseconds(25))
  }

  @Test func anOverlongLineIsAnsweredAndTheClientReadsIt() throws {
    let fixture = try LocalServerFixture { $0.limits.line = 1_000 }
    let client = try fixture.connect()
    client.send(Client.ping(1) + String(repeating: "x", count: 100_000) + "\n" + Client.ping(2))
    var lines: [String] = []
    #expect(
      try fixture.turn {
        lines += client.lines(); return client.isEnded
      })
    #expect(lines.count == 2)
    #expect(lines.first == Client.pong(1))
    #expect(lines.last?.contains("\"id\":null") == true)
    // Still writing is no error while the connection lingers.
    #expect(client.send(String(repeating: "x", count: 10_000)) == 10_000)
    client.endOutput()
    #expect(try fixture.turn { fixture.server.clientCount == 0 })
  }

  @Test func aClientThatLingersIsClosedInTheEnd() throws {
    let fixture = try LocalServerFixture { $0.limits.line = 10 }
    let client = try fixture.connect()
    client.send(String(repeating: "x", count: 100))
    #expect(
      try fixture.turn {
        client.receive(); return client.isEnded
      })
    #expect(fixture.server.clientCount == 1)
    let start = fixture.loop.time.now
    #expect(try fixture.turn { fixture.server.clientCount == 0 })
    #expect(fixture.loop.time.now - start < .seconds(3))
  }

  @Test func aClientTooManyIsToldAndClosed() throws {
    let fixture = try LocalServerFixture { $0.limits.clients = 2 }
    let first = try fixture.connect()
    let second = try fixture.connect()
    #expect(try fixture.turn { fixture.server.clientCount == 2 })
    let third = try fixture.connect()
    third.send(Client.ping(3))
    var lines: [String] = []
    #expect(
      try fixture.turn {
        lines += third.lines(); return third.isEnded
      })
    #expect(lines.count == 1)
    #expect(lines.first?.contains("-32008") == true)
    first.send(Client.ping(1))
    second.send(Client.ping(2))
    #expect(try fixture.turn { first.lines() == [Client.pong(1)] })
    #expect(try fixture.turn { second.lines() == [Client.pong(2)] })
  }

  @Test func aStoppedServerLeavesNewcomersInTheBacklog() throws {
    let fixture = try LocalServerFixture()
    let old = try fixture.connect()
    #expect(try fixture.turn { fixture.server.clientCount == 1 })
    fixture.server.stopAccepting()
    let new = try fixture.connect()
    new.send(Client.ping(2))
    old.send(Client.ping(1))
    #expect(try fixture.turn { old.lines() == [Client.pong(1)] })
    try fixture.settle()
    #expect(new.lines() == [])
    #expect(!new.isEnded)
    #expect(fixture.server.clientCount == 1)
  }
}
