import Testing

@testable import GatewayCore

/// Very many calls that end with one link, or with one attempt.
@Suite struct LostFlightsTests {
  private static let clientCount = 5
  private static let each = 500

  private let harness = GatewayHarness {
    $0.limits.inflight = 1_000
    $0.limits.sendQueue = 10_000
    $0.upstreams["chat"]?.settings.retryWindow = 10
  }
  private let clients: [HarnessClient]

  init() { clients = (0..<Self.clientCount).map { [harness] _ in harness.client() } }

  private var commands: CommandLedger { harness.gateway.upstreams.pool.all[0].delivery.commands }
  private var channel: FakeChannel { harness.upstream.channel }

  /// Each of the clients makes as many calls.
  private func ask(
    _ method: String = "request", _ more: String = #""timeout":600000"#, numbers: ClosedRange<Int> = 1...each
  ) {
    for client in clients {
      for number in numbers {
        client.say(
          #"{"jsonrpc":"2.0","id":\#(number),"method":"\#(method)","params":{"upstream":"chat","event":"e",\#(more)}}"#)
      }
    }
  }

  /// The types of the errors that were told in each turn of the loop, from this one on, until there are no more.
  private func endedByTurn() -> [[String]] {
    var (turns, ids): ([[String]], [[Int]]) = ([], Array(repeating: [], count: clients.count))
    repeat {
      var turn: [String] = []
      for (index, client) in clients.enumerated() where client.isConnected {
        for value in client.readValues() {
          guard let id = value["id"]?.integerValue, let error = value["error"] else { continue }
          ids[index].append(id)
          turn.append(error["data"]?["type"]?.stringValue ?? "")
        }
      }
      turns.append(turn)
      harness.timers.fire()
    } while turns.last?.isEmpty == false
    // Each client in the order of its calls.
    #expect(ids.allSatisfy { $0 == $0.sorted() })
    return turns.dropLast()
  }

  private func connect() {
    clients[0].call("send", #"{"upstream":"chat","event":"hi"}"#)
    channel.accept()
    clients[0].read()
  }

  @Test func requestsThatTheServerOwesEndAPortionInEachTurnWhenItHangsUp() {
    connect()
    ask()
    channel.fail(.closed)
    #expect(commands.isIdle)
    let turns = endedByTurn()
    #expect(turns.map(\.count) == [1_000, 1_000, 500])
    #expect(turns.allSatisfy { $0.allSatisfy { $0 == "AckLost" } })
  }

  @Test func requestsThatWereTooLargeAndOthersEndAPortionInEachTurn() {
    connect()
    for (index, client) in clients.enumerated() {
      let args = index < 3 ? "1" : #""a long one""#
      for number in 1...Self.each {
        client.say(
          #"{"jsonrpc":"2.0","id":\#(number),"method":"request","params":{"upstream":"chat","event":"e","args":[\#(args)]}}"#
        )
      }
    }
    var failure = UpstreamFailure(.closed, "too big", status: 1009)
    failure.refusedSize = MessageSize(body: 10, attachment: 10)
    channel.fail(failure)
    let turns = endedByTurn()
    #expect(turns.map(\.count) == [1_000, 1_000, 500])
    #expect(turns.joined().count { $0 == "AckLost" } == 1_500)
    #expect(turns.joined().count { $0 == "PayloadTooLarge" } == 1_000)
  }

  @Test(arguments: ["request", "send"])
  func whatMayNotWaitEndsAPortionInEachTurnWhenTheServerRefuses(_ method: String) {
    ask(method, method == "send" ? #""no_queue":true,"delivery":"sent""# : #""timeout":600000"#)
    #expect(commands.count == Self.clientCount * Self.each)
    channel.fail(.refused)
    let turns = endedByTurn()
    #expect(turns.map(\.count) == [1_000, 1_000, 500])
    #expect(turns.allSatisfy { $0.allSatisfy { $0 == "UpstreamRefused" } })
    #expect(commands.isIdle)
  }

  @Test func whatIsLeftOfARefusedAttemptLeavesByTheNextLink() {
    ask()
    ask(numbers: Self.each + 1...2 * Self.each)
    channel.fail(.refused)
    harness.time.advance(by: .seconds(120))
    for _ in 0..<3 where harness.upstream.channels.count < 2 { harness.timers.fire() }
    channel.accept()
    let refused = endedByTurn().joined().count
    #expect(refused >= 1_000 && refused % 1_000 == 0 && refused < 2 * Self.clientCount * Self.each)
    #expect(!channel.written.isEmpty && commands.count == 2 * Self.clientCount * Self.each - refused)
  }

  @Test func retriesKeepTheirPlacesOnALinkThatOpensMeanwhile() {
    connect()
    ask()
    let other = harness.client(uid: 2)
    func send(_ number: Int) {
      other.say(
        #"{"jsonrpc":"2.0","id":\#(number),"method":"request","params":{"upstream":"chat","event":"r","args":[\#(number)],"#
          + #""retries":3,"ack_timeout":60000,"timeout":600000}}"#)
    }
    for number in 1...15 { send(number) }
    harness.time.advance(by: .seconds(5))
    channel.fail(.closed)
    send(16)
    #expect(harness.upstream.channels.count == 2)
    channel.accept()
    #expect(channel.written.map { String($0.prefix { $0 != "#" }) } == (1...10).map { "r [\($0)]" })
    let acks = channel.written.compactMap { $0.split(separator: "#").last.flatMap { UInt64($0) } }
    // An old number is that of nothing any more.
    channel.acknowledge(0)
    for ack in acks { channel.acknowledge(ack) }
    #expect(channel.written.map { String($0.prefix { $0 != "#" }) } == (1...16).map { "r [\($0)]" })
    #expect(endedByTurn().joined().count { $0 == "AckLost" } == Self.clientCount * Self.each)
    #expect(other.readValues().compactMap { $0["id"]?.integerValue } == Array(1...10))
  }

  @Test func oneThatLeavesMeanwhileCostsTheOthersNothing() {
    connect()
    ask()
    channel.fail(.closed)
    clients[3].disconnect()
    clients[4].call("rpc.cancel", #"{"id":500}"#, id: 1_000)
    let turns = endedByTurn()
    #expect(turns.joined().count { $0 == "AckLost" } == 4 * Self.each - 1)
    #expect(commands.isIdle && harness.gateway.upstreams.pool.all[0].endings.isEmpty)
  }

  @Test func aStopThatComesMeanwhileWaitsForThosePortions() {
    connect()
    ask()
    channel.fail(.closed)
    var isOver = false
    harness.gateway.stop(reason: "test") { isOver = true }
    #expect(!isOver)
    #expect(endedByTurn().map(\.count) == [1_000, 1_000, 500])
  }

  @Test func aConnectionIsNotForgottenBeforeEverybodyKnowsTheEnd() {
    harness.reload { $0.upstreams["chat"]?.settings.retain = .zero }
    connect()
    ask()
    channel.fail(.closed)
    let administrator = harness.client(uid: 0)
    let answer = HarnessClient.values(administrator.call("release", #"{"upstream":"chat"}"#)).last
    #expect(answer?["error"]?["message"]?.stringValue?.contains("is being told") == true)
    #expect(harness.gateway.upstreams.pool.count == 1)
    #expect(endedByTurn().map(\.count) == [1_000, 1_000, 500])
    // Then it goes, and nothing has to look for it.
    #expect(harness.gateway.upstreams.pool.count == 0)
  }

  @Test func aStopThatComesMeanwhileLeavesNoneWithoutAnOutcome() {
    connect()
    ask()
    channel.fail(.closed)
    var isOver = false
    harness.gateway.stop(reason: "test") { isOver = true }
    let turns = endedByTurn()
    harness.pass(.seconds(30))
    #expect(isOver && turns.joined().count { $0 == "AckLost" } == Self.clientCount * Self.each)
  }
}
