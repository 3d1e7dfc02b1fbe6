import Testing

@testable import GatewayCore

/// Tables that have an element for each subscription, of which there may be hundreds of thousands.
@Suite struct RouterTests {
  /// Members that hash all their keys again in one go when they are full.
  private func tablesThatDouble(_ value: Any) -> [String] {
    Mirror(reflecting: value).children.filter {
      [.dictionary, .set].contains(Mirror(reflecting: $0.value).displayStyle)
    }.compactMap(\.label)
  }

  @Test func noSubscriptionMakesATableGrowInOneGo() {
    // What is remembered of names has a bound.
    #expect(tablesThatDouble(Router(MatchingCost())) == ["matches"])
    #expect(tablesThatDouble(Leases()) == [])
  }

  @Test func aLeaseIsGivenBackOnce() {
    var leases = Leases()
    let held = (0..<1_000).map { leases.take($0.isMultiple(of: 2) ? .call : .subscription) }
    #expect(leases.count == 1_000 && Set(held).count == 1_000)
    #expect(held.allSatisfy { leases.giveBack($0) } && leases.isEmpty)
    #expect(held.allSatisfy { !leases.giveBack($0) })
  }

  @Test func eachThatWantsANameGetsItOnceTheOldestFirst() {
    let harness = GatewayHarness()
    let clients = (0..<3).map { _ in harness.client() }
    for number in 0..<300 {
      let events = [#"["news","other"]"#, #"["ne*","news","n?ws"]"#, #"["n*"]"#, #"["*"]"#, #"["other"]"#][number % 5]
      clients[number % 3].call(
        "subscribe", #"{"upstream":"chat","subscription":"s\#(number)","events":\#(events)}"#)
    }
    for number in stride(from: 0, to: 300, by: 7) {
      clients[number % 3].call("unsubscribe", #"{"subscription":"s\#(number)"}"#)
    }
    harness.upstream.channel.accept()
    for client in clients { client.read() }
    harness.upstream.channel.emit("news")
    for (index, client) in clients.enumerated() {
      let told = client.readValues().compactMap { $0["params"]?["subscription"]?.stringValue }
      let meant = (0..<300).filter { $0 % 3 == index && $0 % 5 != 4 && !$0.isMultiple(of: 7) }
      #expect(told == meant.map { "s\($0)" })
    }
  }
}
