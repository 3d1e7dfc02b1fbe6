import Testing

@testable import GatewayCore

/// Very many calls that wait for the same word of a server.
@Suite struct InterestWaitsTests {
  private static let clientCount = 20
  private static let each = 100

  private let harness = GatewayHarness {
    $0.limits.inflight = 1_000
    $0.limits.subscriptions = 1_000
  }
  private let clients: [HarnessClient]

  /// Each of the clients waits for the server's answer to as many `subscribe` for the same event.
  init() {
    harness.upstream.confirmedInterests = .all
    harness.client().call("subscribe", #"{"upstream":"chat","events":["first"]}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.agree("first")
    clients = (0..<Self.clientCount).map { [harness] _ in harness.client() }
    for client in clients {
      for number in 1...Self.each {
        client.call("subscribe", #"{"upstream":"chat","events":["late"],"subscription":"\#(number)"}"#, id: number)
      }
    }
  }

  /// How many calls were answered in each turn of the loop, from this one on.
  private func answeredByTurn() -> [Int] {
    var (counts, answered): ([Int], [[Int]]) = ([], Array(repeating: [], count: clients.count))
    while answered.contains(where: { $0.count < Self.each }), counts.count < 1_000 {
      var count = 0
      for (index, client) in clients.enumerated() {
        let ids = client.readValues().compactMap { $0["id"]?.integerValue }
        answered[index] += ids
        count += ids.count
      }
      counts.append(count)
      harness.timers.fire()
    }
    // Each client in the order of its calls.
    #expect(answered.allSatisfy { $0 == Array(1...Self.each) })
    return counts
  }

  private func isInPortions(_ counts: [Int]) -> Bool {
    counts.reduce(0, +) == Self.clientCount * Self.each && counts.allSatisfy { $0 <= 100 }
  }

  @Test func whenTheLinkBreaksTheyEndAPortionInEachTurn() {
    harness.upstream.channel.fail(.closed)
    #expect(isInPortions(answeredByTurn()))
    #expect(harness.gateway.upstreams.pool.all[0].stream.subscriptionCount == Self.clientCount * Self.each + 1)
  }

  @Test(arguments: [true, false]) func whenTheServerAnswersTheyGoOnAPortionInEachTurn(_ agrees: Bool) {
    if agrees { harness.upstream.channel.agree("late") } else { harness.upstream.channel.refuse("late") }
    #expect(isInPortions(answeredByTurn()))
    let made = agrees ? Self.clientCount * Self.each : 0
    #expect(harness.gateway.upstreams.pool.all[0].stream.subscriptionCount == made + 1)
  }

  @Test func whatTheNextLinkSaysIsKnownToThoseThatHaveNotEnded() {
    harness.upstream.channel.fail(.closed)
    harness.time.advance(by: .seconds(2))
    for _ in 0..<5 where harness.upstream.channels.count < 2 { harness.timers.fire() }
    harness.upstream.channel.accept()
    harness.upstream.channel.refuse("late")
    // Those whose end had come are told of it as subscriptions, the others at once.
    for _ in 0..<100 { harness.timers.fire() }
    let answers = clients.flatMap { $0.readValues() }
    let (refused, made) = (answers.count { $0["error"] != nil }, answers.count { $0["result"] != nil })
    #expect(refused + made == Self.clientCount * Self.each && refused > 0 && made > 0)
    let told = answers.count { $0["params"]?["detail"]?.stringValue?.contains("refuses") == true }
    #expect(told == made)
  }

  @Test func aRefusalThatThousandsOfSubscriptionsAreToldComesInPortions() {
    harness.upstream.channel.agree("late")
    for _ in 0..<100 { harness.timers.fire() }
    for client in clients { client.read() }
    harness.upstream.channel.refuse("late")
    var turns: [Int] = []
    while turns.count < 2 || turns.last != 0 {
      turns.append(clients.reduce(0) { $0 + $1.read().count })
      harness.timers.fire()
    }
    #expect(turns.reduce(0, +) == Self.clientCount * Self.each)
    #expect(turns.allSatisfy { $0 <= Broadcasts.portion }, "\(turns)")
  }

  @Test func aRefusalLooksAtNoSubscriptionThatWantsSomethingElse() {
    let other = harness.client()
    let own = ["a", "b", "c"]
    for (id, name) in own.enumerated() {
      other.call("subscribe", #"{"upstream":"chat","events":["\#(name)"],"subscription":"\#(name)"}"#, id: id)
    }
    for name in own + ["late"] { harness.upstream.channel.agree(name) }
    for _ in 0..<100 { harness.timers.fire() }
    other.read()
    harness.gateway.seams.work.begin()
    for name in own { harness.upstream.channel.refuse(name) }
    #expect(!harness.gateway.seams.work.isMuch)
    for _ in own { harness.timers.fire() }
    #expect(other.read().count == own.count)
    let stream = harness.gateway.upstreams.pool.all[0].stream
    #expect(stream.subscriptions(wanting: Interest(.name(ExactText("late")))).count == Self.clientCount * Self.each)
  }

  @Test func oneThatLeavesOrWhoseTimeIsUpMeanwhileCostsTheOthersNothing() {
    harness.upstream.channel.fail(.closed)
    clients[10].disconnect()
    clients[11].call("rpc.cancel", #"{"id":50}"#, id: 1_000)
    harness.time.advance(by: .seconds(20))
    for _ in 0..<100 { harness.timers.fire() }
    let answers = clients.enumerated().filter { $0.offset != 10 }.map { $0.element.readValues() }
    #expect(answers.allSatisfy { $0.count { $0["result"] != nil } >= Self.each - 1 })
    #expect(answers.allSatisfy { $0.allSatisfy { $0["error"] == nil || $0["id"] == .number("50") } })
  }

  @Test func aStopThatComesMeanwhileLeavesNoneWithoutAnAnswer() {
    harness.upstream.channel.fail(.closed)
    var isOver = false
    harness.gateway.stop(reason: "test") { isOver = true }
    harness.pass(.seconds(30))
    #expect(isOver)
    for client in clients { #expect(client.readValues().count { $0["id"] != nil } == Self.each) }
  }
}
