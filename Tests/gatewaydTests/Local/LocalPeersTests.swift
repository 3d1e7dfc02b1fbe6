@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// Clients that read slowly, not at all, or do something silly.
struct LocalPeersTests {
  private typealias Client = LocalClientFixture

  /// Writes calls as long as anybody takes them and never reads an answer. How many bytes were taken.
  private func fill(_ client: Client, of fixture: LocalServerFixture) throws -> Int {
    let calls = (0..<1_000).map(Client.ping).joined()
    var sent = 0
    var idle = 0
    while idle < 10 {
      let count = client.send(calls)
      sent += count
      idle = count == 0 ? idle + 1 : 0
      try fixture.settle()
    }
    return sent
  }

  @Test func aClientThatNeverReadsStopsBeingReadFrom() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    let other = try fixture.connect()
    #expect(try fill(client, of: fixture) < 4 << 20)
    #expect(client.send(Client.ping(1)) == 0)
    other.send(Client.ping(1))
    #expect(try fixture.turn { other.lines() == [Client.pong(1)] })
  }

  @Test func shortCallsWithLongAnswersAreHeldBackInTheMiddleOfARead() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    let discover = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}\n"
    let other = try fixture.connect()
    let count = client.send(String(repeating: discover, count: 1_000)) / discover.utf8.count
    other.send(Client.ping(1))
    let start = fixture.loop.time.now
    #expect(try fixture.turn { other.lines() == [Client.pong(1)] })
    // All the answers at once would take seconds and tens of megabytes.
    #expect(fixture.loop.time.now - start < .seconds(1))
    var answers = 0
    #expect(
      try fixture.turn {
        answers += client.lines().count; return answers >= min(count, 300)
      })
  }

  @Test func whoCallsALotLetsOthersHaveTheirTurnInBetween() throws {
    let fixture = try LocalServerFixture()
    let busy = try fixture.connect()
    let other = try fixture.connect()
    busy.send(Client.ping(0))
    other.send(Client.ping(0))
    try fixture.settle()
    #expect(busy.lines() == [Client.pong(0)])
    #expect(other.lines() == [Client.pong(0)])
    // Each of these takes longer than a turn may.
    let discover = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}\n"
    busy.send(String(repeating: discover, count: 20) + Client.ping(2))
    other.send(Client.ping(1))
    #expect(try fixture.turn { other.lines() == [Client.pong(1)] })
    var answers = busy.lines()
    #expect(answers.count < 20)
    #expect(
      try fixture.turn {
        answers += busy.lines()
        return answers.count == 21
      })
    #expect(answers.last == Client.pong(2))
  }

  private static let discover = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}\n"

  @Test func whoIsGoneWithCallsUnheardDoesNotCountAsWaiting() throws {
    let fixture = try LocalServerFixture()
    let busy = try fixture.connect()
    // Each of these takes longer than a turn may.
    busy.send(String(repeating: Self.discover, count: 20))
    #expect(try fixture.turn { fixture.loop.hasDeferred && busy.lines().count > 0 })
    busy.close()
    try fixture.loop.turn(sleepingAtMost: .zero)
    #expect(fixture.loop.hasDeferred)
    #expect(!fixture.loop.isAnyoneReady())
    #expect(try fixture.turn { fixture.server.clientCount == 0 })
  }

  @Test func thoseWhoseTurnWasOverDoNotAllGoOnAtOnce() throws {
    let fixture = try LocalServerFixture()
    let clients = try (0..<8).map { _ in try fixture.connect() }
    for client in clients {
      client.send(Client.ping(0))
      #expect(try fixture.turn { client.lines() == [Client.pong(0)] })
    }
    for client in clients { client.send(String(repeating: Self.discover, count: 20)) }
    #expect(try fixture.turn { clients.allSatisfy { !$0.lines().isEmpty } })
    for client in clients { client.receive() }
    // No other client is waiting, and each of these takes longer than a turn may.
    try fixture.loop.turn(sleepingAtMost: .zero)
    let answered = clients.map { $0.lines().count }
    #expect(answered.reduce(0, +) <= 2)
  }

  @Test func whatAClientLeftUnheardIsForgottenWhenItVanishes() throws {
    let fixture = try LocalServerFixture()
    let discover = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}\n"
    for _ in 0..<3 {
      let busy = try fixture.connect()
      busy.send(String(repeating: discover, count: 50))
      try fixture.loop.turn(sleepingAtMost: .seconds(1))
      busy.close()
      let next = try fixture.connect()
      next.send(Client.ping(1))
      #expect(try fixture.turn { next.lines() == [Client.pong(1)] })
    }
    #expect(try fixture.turn { fixture.sessionCount == 0 })
  }

  @Test func anOverlongLineBehindUnheardOnesIsAnsweredLast() throws {
    let fixture = try LocalServerFixture { $0.limits.line = 1_000 }
    let client = try fixture.connect()
    let discover = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}\n"
    client.send(String(repeating: discover, count: 100) + String(repeating: "x", count: 2_000) + "\n")
    var answers: [String] = []
    #expect(
      try fixture.turn {
        answers += client.lines(); return client.isEnded
      })
    #expect(answers.count == 101)
    #expect(answers.last?.contains("PayloadTooLarge") == true)
  }

  @Test func aClientThatReadsAgainGetsEverythingInOrder() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    let count = 100_000
    var unsent = Array((0..<count).map(Client.ping).joined().utf8)[...]
    var answers: [String] = []
    var isReading = false
    #expect(
      try fixture.turn {
        let sent = client.send(bytes: unsent)
        unsent = unsent.dropFirst(sent)
        if sent == 0 { isReading = true }
        if isReading { answers += client.lines() }
        return answers.count == count
      })
    #expect(answers == (0..<count).map(Client.pong))
  }

  @Test func aBlockedClientCostsNoTurns() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    _ = try fill(client, of: fixture)
    let start = fixture.loop.time.now
    try fixture.loop.turn(sleepingAtMost: .milliseconds(30))
    #expect(fixture.loop.time.now - start >= .milliseconds(25))
  }

  @Test func aClientThatShutsItsReadingSideHurtsNobody() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    let other = try fixture.connect()
    shutdown(client.socket, Int32(SHUT_RD))
    client.send((0..<50).map(Client.ping).joined())
    other.send(Client.ping(1))
    #expect(try fixture.turn { other.lines() == [Client.pong(1)] })
    client.close()
    #expect(try fixture.turn { fixture.server.clientCount == 1 })
  }

  @Test func aClientThatVanishesWithUnreadAnswersLeavesNothing() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    _ = try fill(client, of: fixture)
    client.close()
    #expect(try fixture.turn { fixture.server.clientCount == 0 })
    #expect(fixture.sessionCount == 0)
  }

  @Test func aClientWhoseEndIsReportedBeforeThereIsRoomLeavesNothing() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    _ = try fill(client, of: fixture)
    let peers = fixture.server.peers
    try #require(peers.slots.count == 1 && !peers.slots[0].pendingInput.isEmpty)
    client.close()
    peers.ready(peers.tag(of: 0), .hungUp)
    #expect(try fixture.turn(.seconds(10)) { fixture.server.clientCount == 0 })
    #expect(fixture.sessionCount == 0)
  }

  @Test func aClientThatIsTurnedOutAndNeverReadsIsClosedAtTheDeadline() throws {
    let fixture = try LocalServerFixture {
      $0.limits.stop = .milliseconds(50)
      $0.limits.line = 1_000
    }
    let client = try fixture.connect()
    // A little more than the kernel takes, and much less than what stops the reading.
    let answers = (0..<100).reduce(0) { $0 + Client.pong($1).utf8.count + 1 }
    var arrived = 0
    repeat {
      arrived = client.unread
      client.send((0..<100).map(Client.ping).joined())
      try fixture.settle()
    } while client.unread == arrived + answers
    client.send(String(repeating: "x", count: 5_000))
    try fixture.settle()
    #expect(fixture.server.sessionCount == 1)
    #expect(try fixture.turn { fixture.server.clientCount == 0 })
  }

  @Test func everySubscriberGetsEveryEventInOrder() throws {
    let fixture = try LocalServerFixture()
    let clients = try (0..<50).map { _ in try fixture.connect() }
    try subscribe(clients, in: fixture)
    var received = [[String]](repeating: [], count: clients.count)
    for number in 0..<500 {
      fixture.upstream.emit("tick", "\(number)")
      if number % 50 == 0 { try fixture.loop.turn(sleepingAtMost: .zero) }
    }
    #expect(
      try fixture.turn {
        for (index, client) in clients.enumerated() { received[index] += client.lines() }
        return received.allSatisfy { $0.count == 500 }
      })
    let wanted = (0..<500).map { "\"event\":\"tick\",\"args\":[\($0)]}}" }
    #expect(received.allSatisfy { zip($0, wanted).allSatisfy { $0.hasSuffix($1) } })
  }

  @Test func aSubscriberThatNeverReadsLosesEventsAndHoldsNobodyUp() throws {
    let fixture = try LocalServerFixture { $0.limits.subscriptionQueue = 100 }
    let stuck = try fixture.connect()
    let reader = try fixture.connect()
    try subscribe([stuck, reader], in: fixture)
    let payload = "\"" + String(repeating: "x", count: 1_000) + "\""
    var read: [String] = []
    for _ in 0..<3_000 {
      fixture.upstream.emit("tick", payload)
      try fixture.loop.turn(sleepingAtMost: .zero)
      read += reader.lines()
    }
    #expect(
      try fixture.turn {
        read += reader.lines(); return read.count == 3_000
      })
    var late: [String] = []
    #expect(
      try fixture.turn {
        late += stuck.lines(); return late.last?.contains("\"seq\":3000,") == true
      })
    let gaps = late.filter { $0.contains("\"method\":\"gap\"") }
    #expect(gaps.count == 1 && gaps[0].contains("slow_consumer"))
    #expect(late.count > 200 && late.count < 1_500)
  }

  @Test func aLastLineWithoutItsEndIsAnsweredBehindEventsThatAreNotRead() throws {
    let fixture = try LocalServerFixture()
    let client = try fixture.connect()
    try subscribe([client], in: fixture)
    let payload = "\"" + String(repeating: "x", count: 1_000) + "\""
    for _ in 0..<2_000 { fixture.upstream.emit("tick", payload) }
    try fixture.settle()
    client.send(String(Client.ping(7).dropLast()))
    client.endOutput()
    try fixture.settle()
    var lines: [String] = []
    #expect(
      try fixture.turn {
        lines += client.lines(); return lines.count == 2_001
      })
    #expect(lines.contains(Client.pong(7)))
  }

  /// A turn in which all of them did would last as long as there are clients.
  @Test func theQueuesOfManyClientsDoNotAllMoveUpInOneFlush() throws {
    let fixture = try LocalServerFixture()
    let clients = try (0..<3 * LocalPeers.refillLimit).map { _ in try fixture.connect() }
    try subscribe(clients, in: fixture)
    let payload = "\"" + String(repeating: "x", count: 1_000) + "\""
    for _ in 0..<500 { fixture.upstream.emit("tick", payload) }
    var counts = [Int](repeating: 0, count: clients.count)
    var left: Set<Int> = []
    #expect(
      try fixture.turn {
        left.insert(fixture.server.peers.refills)
        for (index, client) in clients.enumerated() { counts[index] += client.lines().count }
        return counts.allSatisfy { $0 == 500 }
      })
    #expect(left.min() == 0)
  }

  /// The writes that follow an event to thousands of clients are not made in one go, in which nobody else has a turn.
  @Test func manyClientsAreWrittenToInPortionsBetweenWhichOthersHaveTheirTurn() throws {
    let fixture = try LocalServerFixture(flushLimit: 4)
    let clients = try (0..<10).map { _ in try fixture.connect() }
    let other = try fixture.connect()
    try subscribe(clients, in: fixture)
    fixture.upstream.emit("tick", "1")
    var (counts, answeredAt): ([Int], Int?) = ([], nil)
    other.send(Client.ping(1))
    var got = 0
    #expect(
      try fixture.turn {
        got += clients.reduce(0) { $0 + $1.lines().count }
        counts.append(got)
        if answeredAt == nil, other.lines() == [Client.pong(1)] { answeredAt = got }
        return got == 10 && answeredAt != nil
      })
    #expect(counts.contains { (1..<10).contains($0) } && answeredAt.map { $0 < 10 } == true)
    try fixture.settle()
    #expect(clients.allSatisfy { $0.lines().isEmpty } && !fixture.loop.hasWritesLeft)
  }

  @Test func aLongListIsWrittenToItsEndBeforeAStop() throws {
    let fixture = try LocalServerFixture(flushLimit: 4)
    let clients = try (0..<10).map { _ in try fixture.connect() }
    try subscribe(clients, in: fixture)
    fixture.upstream.emit("tick", "1")
    // The loop does not turn any more.
    fixture.server.flush()
    #expect(clients.allSatisfy { $0.lines().count == 1 })
  }

  private func subscribe(_ clients: [Client], in fixture: LocalServerFixture) throws {
    for client in clients {
      client.send(#"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"upstream":"chat"}}"# + "\n")
      #expect(try fixture.turn { client.lines().count == 1 })
    }
    try fixture.settle()
  }

  @Test func aSlotIsNeverMistakenForItsFormerClient() {
    let old = PeerTag(slot: 7, generation: 1)
    let new = PeerTag(slot: 7, generation: 2)
    #expect(PeerTag(old.bits) == old && PeerTag(new.number) == new && old != new)
    #expect(PeerTag(PeerTag(slot: .max - 2_000, generation: .max).number).generation == .max)
    #expect(PeerTag.listener(3).listenerIndex == 3)
    #expect(old.listenerIndex == nil)
  }

  @Test func credentialsAreThoseOfTheClientsProcess() throws {
    let (one, other) = try Descriptors.pair()
    defer { Descriptors.close((one, other)) }
    let peer = try LocalSocket.credentials(of: one)
    #expect(peer.pid == getpid())
    #expect(peer.uid == getuid())
    #expect(peer.gid == getgid())
    var groups = [gid_t](repeating: 0, count: 65_536)
    let count = getgroups(Int32(groups.count), &groups)
    #expect(Set(peer.groups) == Set(groups.prefix(Int(count))))
  }
}
