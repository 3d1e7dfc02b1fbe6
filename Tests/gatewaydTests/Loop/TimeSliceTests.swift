@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// How long a client is listened to, and how much of a large message is dealt with at a time.
struct TimeSliceTests {
  private typealias Client = LocalClientFixture

  private static func after(_ microseconds: Int64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: microseconds * 1_000)
  }

  @Test func aTurnLastsAHundredMicrosecondsWhenNobodyWaits() {
    var turn = TimeSlice(at: Self.after(0), limit: LocalPeers.turnLimit)
    var questions: [Int] = []
    let ends = (1...30).first { step in
      turn.isOver(at: Self.after(Int64(step) * 5)) {
        questions.append(step)
        return false
      }
    }
    #expect(ends == 20)
    // The kernel is asked early and then once in twenty microseconds, and not when the turn is over anyway.
    #expect(questions == [2, 7, 12, 17])
  }

  @Test func aTurnLastsTenMicrosecondsWhenSomebodyWaits() {
    var turn = TimeSlice(at: Self.after(0))
    #expect((1...30).first { turn.isOver(at: Self.after(Int64($0) * 5)) { true } } == 2)
  }

  @Test func aTurnWithoutALimitLastsUntilSomebodyWaits() {
    var turn = TimeSlice(at: Self.after(0))
    #expect((1...1_000).allSatisfy { !turn.isOver(at: Self.after($0 * 50)) { false } })
    #expect(turn.isOver(at: Self.after(50_050)) { true })
    // It is not asked again.
    #expect(turn.hasEnded)
    #expect(turn.isOver(at: Self.after(50_051)) { false })
  }

  @Test func aShortTurnAsksNothing() {
    var turn = TimeSlice(at: Self.after(0))
    #expect((1...3).allSatisfy { !turn.isOver(at: Self.after($0 * 3)) { true } })
  }

  /// Reading it takes a while, always the same one.
  private final class SlowClock: TimeSource {
    var reading: Int64 = 0
    var now: MonotonicInstant {
      reading += 5_000
      return MonotonicInstant(nanoseconds: reading)
    }
    let wallMilliseconds: Int64 = 0
  }

  /// Clients of a gateway without a loop: the test says when what happens.
  private final class Desk {
    let fixture: LocalServerFixture
    let peers: LocalPeers
    let epoll: Epoll
    var isAnyoneWaiting = false
    /// How often the peers asked to go on.
    var unfinished = 0
    private var ends: [Int32] = []

    init() throws {
      fixture = try LocalServerFixture()
      epoll = try Epoll(of: "a client")
      peers = LocalPeers(gateway: fixture.gateway, epoll: epoll, timers: fixture.loop.timers, time: SlowClock())
      peers.isAnyoneWaiting = { [unowned self] _ in isAnyoneWaiting }
      peers.onUnfinished = { [unowned self] in unfinished += 1 }
    }

    deinit { ends.forEach { close($0) } }

    /// The client's end of a new connection.
    func connect() throws -> Int32 {
      let (own, other) = try Descriptors.pair()
      try peers.admit(own)
      ends.append(other)
      return other
    }

    /// Deals with what is ready now.
    func serve() {
      epoll.wait { tag, readiness in peers.ready(PeerTag(tag), readiness) }
    }

    /// What has arrived at a client's end since the last call.
    func received(_ client: Int32) -> [UInt8] {
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while case let count = read(client, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
      return bytes
    }

    func lines(_ client: Int32) -> [String] {
      String(decoding: received(client), as: UTF8.self).split(separator: "\n").map(String.init)
    }
  }

  private func pings(_ range: Range<Int>) -> String { range.map(Client.ping).joined() }

  @Test func whoHasMoreCallsStepsAsideForOthersAndLosesNone() throws {
    let desk = try Desk()
    let busy = try desk.connect()
    desk.isAnyoneWaiting = true
    Descriptors.write(busy, pings(0..<50))
    desk.serve()
    desk.peers.flush()
    #expect(desk.lines(busy).count == 2)
    #expect(desk.unfinished == 1)
    // Its socket is not looked at meanwhile.
    Descriptors.write(busy, pings(50..<60))
    var isReady = false
    desk.epoll.wait { _, _ in isReady = true }
    #expect(!isReady)
    var answers = 2
    while desk.unfinished > 0 {
      desk.unfinished = 0
      desk.peers.goOn()
      desk.peers.flush()
      let more = desk.lines(busy)
      #expect(more == (answers..<answers + more.count).map(Client.pong))
      answers += more.count
    }
    #expect(answers == 50)
    desk.isAnyoneWaiting = false
    desk.serve()
    desk.peers.flush()
    #expect(desk.lines(busy) == (50..<60).map(Client.pong))
  }

  @Test func memoryStaysWarmForALongLineAndNotForManyShortOnes() throws {
    let desk = try Desk()
    let client = try desk.connect()
    for _ in 0..<8 {
      Descriptors.write(client, pings(0..<300))
      desk.serve()
      while desk.unfinished > 0 {
        desk.unfinished = 0
        desk.peers.goOn()
      }
      desk.peers.flush()
      _ = desk.received(client)
    }
    #expect(!desk.peers.memory.wasUsed)
    for _ in 0..<4 {
      Descriptors.write(client, String(repeating: "x", count: LocalPeers.readLimit))
      desk.serve()
    }
    #expect(desk.peers.memory.wasUsed)
  }

  @Test func aloneItIsHeardForTheWholeTurn() throws {
    let desk = try Desk()
    let busy = try desk.connect()
    Descriptors.write(busy, pings(0..<50))
    desk.serve()
    desk.peers.flush()
    #expect(desk.lines(busy).count == 20)
  }

  @Test func thoseThatHaveYieldedGoOnOneByOneWhileOthersWait() throws {
    let desk = try Desk()
    let clients = try (0..<3).map { _ in try desk.connect() }
    desk.isAnyoneWaiting = true
    for client in clients { Descriptors.write(client, pings(0..<6)) }
    desk.serve()
    desk.peers.flush()
    #expect(clients.map { desk.lines($0).count } == [2, 2, 2])
    var order: [Int] = []
    for _ in 0..<6 {
      desk.peers.goOn()
      desk.peers.flush()
      order += clients.indices.filter { !desk.lines(clients[$0]).isEmpty }
    }
    #expect(order == [0, 1, 2, 0, 1, 2])
  }

  @Test func aLongAnswerIsWrittenInPortions() throws {
    let desk = try Desk()
    let client = try desk.connect()
    // The answers are longer than what is written at a time.
    let discover = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}\n"
    Descriptors.write(client, String(repeating: discover, count: 10))
    desk.serve()
    desk.peers.goOn()
    desk.peers.flush()
    let first = desk.received(client)
    #expect(first.count == LocalPeers.writeLimit)
    desk.peers.flush()
    #expect(desk.received(client).isEmpty)
    desk.serve()
    // What is left is not much any more, and leaves as one.
    let second = desk.received(client).count
    #expect(0 < second && second <= LocalPeers.muchToWrite)
  }

  @Test func manyLongAnswersAreNotWrittenByOneFlush() throws {
    let desk = try Desk()
    let clients = try (0..<12).map { _ in try desk.connect() }
    let discover = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}\n"
    for client in clients { Descriptors.write(client, String(repeating: discover, count: 10)) }
    desk.serve()
    for _ in 0..<20 { desk.peers.goOn() }
    desk.peers.flush()
    let portions = clients.map { desk.received($0).count }
    #expect(portions.reduce(0, +) == LocalPeers.bulkLimit)
    desk.serve()
    #expect(clients.map { desk.received($0).count }.allSatisfy { $0 > 0 })
  }
}
