import Testing

@testable import GatewayCore

/// Answers that would be longer than a line may be.
@Suite struct StatusLimitTests {
  private static let line = 16 << 10

  private func harness(clients: Int) -> (harness: GatewayHarness, asking: HarnessClient, others: [HarnessClient]) {
    let harness = GatewayHarness { $0.limits.line = Self.line }
    let asking = harness.client()
    return (harness, asking, (0..<clients).map { _ in harness.client() })
  }

  private func listed(_ result: JSONValue?, _ key: String) -> Int { result?[key]?.elements?.count ?? 0 }

  @Test func clientsThatDoNotFitAreCounted() throws {
    let (harness, client, others) = harness(clients: 300)
    for method in ["status", "clients.list"] {
      client.call(method, "{}")
      harness.pass(.zero)
      let text = try #require(client.read().first)
      #expect(text.utf8.count <= Self.line && text.utf8.count > Self.line / 2)
      let result = HarnessClient.values([text]).first?["result"]
      let left = (result?["left_out"]?["clients"] ?? result?["left_out"])?.integerValue ?? -1
      #expect(listed(result, "clients") > 20)
      #expect(listed(result, "clients") + left == 301)
    }
    #expect(others.count == 300)
  }

  @Test func namesOfUpstreamsThatDoNotFitAreCounted() throws {
    let harness = GatewayHarness { configuration in
      configuration.limits.line = Self.line
      let one = configuration.upstreams["chat"]
      for number in 0..<2_000 { configuration.upstreams["upstream-\(number)"] = one }
    }
    let client = harness.client()
    // Two thousand names are asked for in portions, of which others hear nothing.
    #expect(client.call("upstreams.list", "{}").isEmpty && harness.client().call("ping").count == 1)
    harness.pass(.zero)
    let text = try #require(client.read().first)
    #expect(text.utf8.count <= Self.line && text.utf8.count > Self.line / 2)
    let result = HarnessClient.values([text]).first?["result"]
    let names = (result?["upstreams"]?.elements ?? []).compactMap(\.stringValue)
    #expect(Set(names).count == names.count && names.count > 500)
    #expect(names.count + (result?["left_out"]?.integerValue ?? -1) == 2_001)
  }

  @Test func connectionsThatDoNotFitAreCountedToo() throws {
    let (_, client, _) = harness(clients: 3)
    for number in 0..<60 { client.call("send", #"{"url":"http://h\#(number).example","event":"e"}"#) }
    let text = try #require(client.call("status", "{}").first)
    #expect(text.utf8.count <= Self.line)
    let result = HarnessClient.values([text]).first?["result"]
    let left = result?["left_out"]
    #expect(listed(result, "connections") + (left?["connections"]?.integerValue ?? 0) == 60)
    #expect(listed(result, "connections") > 5 && (left?["connections"]?.integerValue ?? 0) > 5)
  }

  @Test func nothingIsLeftOutWhereAllFits() {
    let (_, client, _) = harness(clients: 3)
    let result = HarnessClient.values(client.call("status", "{}")).first?["result"]
    #expect(result?["left_out"]?["connections"]?.integerValue == 0)
    #expect(result?["left_out"]?["clients"]?.integerValue == 0)
  }

  @Test func aLongStatusIsWrittenInTurnsOfItsOwnThatGoRoundOverUsers() {
    let harness = GatewayHarness()
    let (first, second, other) = (harness.client(), harness.client(), harness.client(uid: 2_000))
    for number in 0..<200 { first.call("send", #"{"url":"http://h\#(number).example","event":"e"}"#) }
    let asking = [("a", first), ("b", second), ("c", other)]
    for (_, client) in asking {
      #expect(client.call("status", "{}").isEmpty && client.session?.wantsInput == false)
    }
    #expect(harness.client().call("ping").count == 1)
    var (order, turns) = ("", 0)
    while order.count < 3, turns < 100 {
      harness.timers.fire()
      turns += 1
      for (name, client) in asking {
        guard let result = client.readValues().first?["result"] else { continue }
        #expect(listed(result, "connections") == (name == "c" ? 0 : 200) && client.session?.wantsInput == true)
        order += name
      }
    }
    #expect(order == "acb" && turns >= 3 * 200 / 64)
  }

  @Test func aClientThatLeavesWhileItsStatusIsWrittenIsForgotten() throws {
    let (harness, _, _) = harness(clients: 300)
    weak var gone: LocalSession?
    func ask() throws {
      let peer = PeerCredentials(pid: 1, uid: 1_000, gid: 1_000, groups: [])
      guard case .admitted(let session) = harness.gateway.attach(peer, tag: 0) else { return }
      gone = session
      HarnessClient(session, harness.gateway).call("status")
      harness.timers.fire()
      #expect(!session.wantsInput)
      harness.gateway.detach(session)
    }
    try ask()
    #expect(gone == nil)
    let last = harness.client()
    last.call("status", "{}")
    harness.pass(.zero)
    #expect(last.readValues().count == 1)
  }

  @Test func aStatusThatWaitsForItsTurnHoldsNoListYet() throws {
    let (harness, client, _) = harness(clients: 300)
    client.call("status")
    let newcomer = harness.client()
    harness.pass(.zero)
    let result = client.readValues().first?["result"]
    #expect(listed(result, "clients") + (result?["left_out"]?["clients"]?.integerValue ?? 0) == 302)
    withExtendedLifetime(newcomer) {}
  }

  @Test func noTurnLooksAtMoreClientsThanItWrites() {
    let (harness, client, _) = harness(clients: 1_000)
    var looked = 0
    let numbers = harness.gateway.clients.numbersInTurn()
    var rest = ListRest(
      oneByOne: AnyIterator {
        looked += 1
        return numbers.next()
      })
    var (out, counts) = (JSONWriter(), [looked])
    while !rest.isEmpty, let session = client.session {
      rest.write(256, for: session, into: &out, { $0 }, { $1.number(Double($0)) })
      counts.append(looked)
    }
    #expect(counts == [1, 257, 513, 769, 1_002])
  }

  @Test func clientsAreListedInTheOrderInWhichTheyCameAsFarAsTheyWereThereAtTheQuestionAndStillAre() {
    let harness = GatewayHarness()
    let clients = (0..<600).map { _ in harness.client(uid: 0) }
    clients[3].call("clients.list")
    // The first turn writes the head, the second one a portion.
    harness.timers.fire()
    harness.timers.fire()
    for number in [5, 299, 300, 599] { clients[number].disconnect() }
    let newcomer = harness.client(uid: 0)
    harness.pass(.zero)
    let listed = clients[3].readValues().first?["result"]?["clients"]?.elements ?? []
    // What was written before it left stays.
    let labels = (1...600).filter { ![300, 301, 600].contains($0) }.map { "c\($0)" }
    #expect(listed.compactMap { $0["client"]?.stringValue } == labels)
    withExtendedLifetime(newcomer) {}
  }

  @Test func aLongStatusIsWrittenInTurnsWhileTheGatewayDrains() {
    let (harness, client, _) = harness(clients: 300)
    harness.gateway.drain(within: .zero, while: { true }) { _ in }
    #expect(client.call("status").isEmpty && client.session?.wantsInput == false)
    harness.pass(.zero)
    #expect(client.readValues().first?["result"] != nil && client.session?.wantsInput == true)
  }

  @Test func aStatusThatWaitsWhenTheGatewayStopsIsAnswered() {
    let (harness, client, _) = harness(clients: 300)
    #expect(client.call("status").isEmpty)
    harness.gateway.stop(reason: "test") {}
    let lines = client.read()
    #expect(lines.count == 2 && lines[0].contains(#""id":1"#) && lines[0].contains("Draining"))
    #expect(client.session?.openCallCount == 0)
  }

  @Test func aLongStatusThatIsAskedForAtTheStopIsNotWrittenInOneGo() throws {
    let (harness, client, _) = harness(clients: 300)
    // Something that the stop waits for.
    client.call("send", #"{"upstream":"chat","event":"e"}"#)
    harness.gateway.stop(reason: "test") {}
    client.read()
    let answer = try #require(client.call("status").first)
    #expect(answer.contains("Draining"))
    #expect(client.call("ping", id: 2).count == 1)
  }

  @Test func hostsOfAFleetThatDoNotFitAreCountedAndListedInTurnsOfTheirOwn() throws {
    let fleet = FleetGateways()
    let harness = fleet.start("a")
    fleet.turn(by: .seconds(5))
    let hosts = fleet.place.key(.hosts)
    let row = try #require(fleet.store.rows(of: hosts)["a"])
    let client = harness.client(uid: 0)
    func list() throws -> (text: String, turns: Int) {
      #expect(client.call("fleet.list").isEmpty)
      var turns = 0
      for _ in 0..<1_000 where client.session?.openCallCount == 1 {
        fleet.time.advance(by: .milliseconds(1))
        harness.timers.fire()
        if client.session?.wantsInput == false { turns += 1 }
      }
      return (try #require(client.read().first), turns)
    }
    // What is short is answered as ever.
    let short = try list()
    let all = HarnessClient.values([short.text]).first?["result"]
    #expect(short.turns == 0 && listed(all, "hosts") == 1 && all?["left_out"] == nil)
    for number in 0..<300 { fleet.store.set(hosts, "edge-\(number)", row) }
    harness.reload { $0.limits.line = Self.line }
    fleet.turn(by: .zero)
    let long = try list()
    #expect(long.text.utf8.count <= Self.line && long.text.utf8.count > Self.line / 2)
    #expect(long.turns >= 301 / 64)
    let result = HarnessClient.values([long.text]).first?["result"]
    let names = (result?["hosts"]?.elements ?? []).compactMap { $0["host"]?.stringValue }
    #expect(names.count > 20 && names == names.sorted())
    #expect(names.count + (result?["left_out"]?["hosts"]?.integerValue ?? -1) == 301)
    #expect(listed(result, "upstreams") == 1 && result?["left_out"]?["upstreams"]?.integerValue == 0)
  }

  @Test func theOutboxListsWhatFitsAndSaysThatThereIsMore() throws {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, [])) { $0.limits.line = Self.line }
    let client = harness.client()
    for number in 1...100 {
      client.call("send", #"{"upstream":"chat","event":"e\#(number)","delivery":"durable"}"#)
      store.settle()
      client.read()
    }
    let text = try #require(client.call("outbox.list", "{}").first)
    #expect(text.utf8.count <= Self.line)
    let result = HarnessClient.values([text]).first?["result"]
    #expect(listed(result, "entries") > 20 && listed(result, "entries") < 100)
    #expect(result?["more"]?.boolValue == true)
  }
}
