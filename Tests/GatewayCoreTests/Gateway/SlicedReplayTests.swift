import Testing

@testable import GatewayCore

/// The past is looked through in slices where names are many and globs are made to cost.
@Suite struct SlicedReplayTests {
  private static let names = (0..<40).map { "\(String(repeating: "a", count: 200))\($0)b" }
  /// None of them fits, and each is found out late.
  private static let costly = (0..<256).map { "*\(String(repeating: "a?", count: 20))*\($0)c" }

  private static func list(_ names: [String]) -> String {
    "[" + names.map { "\"\($0)\"" }.joined(separator: ",") + "]"
  }

  /// A connection with many names in its past.
  private func scene() -> (harness: GatewayHarness, keeper: HarnessClient, epoch: String) {
    let harness = GatewayHarness()
    let keeper = harness.client()
    keeper.call("subscribe", #"{"upstream":"chat","events":["none"]}"#)
    harness.upstream.channel.accept()
    for name in Self.names { harness.upstream.channel.emit(name) }
    return (harness, keeper, harness.gateway.upstreams.pool.all[0].stream.epoch)
  }

  @Test func aHistoryOfManyNamesAndBadGlobsTakesSeveralTurnsAndIsAnsweredWhole() {
    let (harness, keeper, _) = scene()
    let client = harness.client()
    let globs = Self.list(Self.costly + ["*39b"])
    #expect(client.call("history", #"{"upstream":"chat","events":\#(globs)}"#)[0].contains("globs"))
    let wanted = Self.list(Array(Self.costly.dropFirst()) + ["*39b"])
    #expect(client.call("history", #"{"upstream":"chat","events":\#(wanted)}"#).isEmpty)
    // A client that comes meanwhile is answered, and what comes in meanwhile is in the answer.
    #expect(keeper.call("ping").count == 1)
    harness.timers.fire()
    #expect(client.read().isEmpty)
    harness.upstream.channel.emit("x39b")
    harness.pass(.zero)
    let result = client.readValues().first?["result"]
    #expect(result?["events"]?.elements?.map { $0["seq"]?.integerValue } == [40, 41])
    #expect(result?["complete"] == .bool(true) && result?["seq"]?.integerValue == 41)
    #expect(harness.gateway.upstreams.pool.all[0].leaseCount == 1)
  }

  @Test func aSubscriptionBeginsWhenItsPastWasLookedThroughAndMissesNothing() {
    let (harness, _, epoch) = scene()
    let client = harness.client()
    let wanted = Self.list(Array(Self.costly.dropFirst()) + ["*39b"])
    let since = #""since":{"epoch":"\#(epoch)","seq":0}"#
    #expect(client.call("subscribe", #"{"upstream":"chat","events":\#(wanted),\#(since)}"#).isEmpty)
    harness.upstream.channel.emit("x39b")
    harness.timers.fire()
    #expect(client.read().isEmpty)
    harness.pass(.zero)
    harness.upstream.channel.emit("y39b")
    let told = client.readValues()
    #expect(told[0]["result"]?["recovered"] == .bool(true) && told[0]["result"]?["replayed"]?.integerValue == 2)
    #expect(told.dropFirst().map { $0["params"]?["seq"]?.integerValue } == [40, 41, 42])
  }

  @Test(arguments: ["subscribe", "unsubscribe"])
  func aLaterCallForTheSameSubscriptionIsNotOvertakenByAnEarlierOne(_ method: String) {
    let (harness, _, _) = scene()
    let client = harness.client()
    let wanted = Self.list(Array(Self.costly.dropFirst()) + ["*39b"])
    let params = #""upstream":"chat","subscription":"a","events":"#
    #expect(client.call("subscribe", "{\(params)\(wanted),\"last\":40}").isEmpty)
    let later = method == "subscribe" ? #"{\#(params)["new"]}"# : #"{"subscription":"a"}"#
    client.say(#"{"jsonrpc":"2.0","id":2,"method":"\#(method)","params":\#(later)}"#)
    let told = client.read()
    #expect(told.count == 2 && told[0].contains("Cancelled"))
    for _ in 0..<3 { harness.pass(.zero) }
    harness.upstream.channel.emit("x39b")
    #expect(client.read().isEmpty)
  }

  /// What is remembered of a past takes memory: of one user one look at a time has any.
  @Test func ofOneUserOneLongLookIsDoneAfterTheOther() {
    let (harness, _, epoch) = scene()
    let (client, other) = (harness.client(), harness.client(uid: 2_000))
    let wanted = Self.list(Array(Self.costly.dropFirst()) + ["*39b"])
    let params = #"{"upstream":"chat","events":\#(wanted)}"#
    #expect(client.call("history", params, id: 1).isEmpty && client.call("history", params, id: 2).isEmpty)
    #expect(other.call("history", params, id: 3).isEmpty)
    let since = #"{"upstream":"chat","events":\#(wanted),"since":{"epoch":"\#(epoch)","seq":0}}"#
    #expect(client.call("subscribe", since, id: 4).isEmpty)
    var order: [Int?] = []
    while harness.timers.nextDeadline.map({ $0 <= harness.time.now }) ?? false {
      harness.timers.fire()
      for told in client.readValues() + other.readValues() where told["id"] != nil {
        #expect((told["result"]?["events"]?.elements?.count ?? told["result"]?["replayed"]?.integerValue) == 1)
        order.append(told["id"]?.integerValue)
      }
    }
    #expect(order == [1, 3, 2, 4])
  }

  @Test func whatAHistoryHoldsThatIsNotAnsweredYetCountsAsMemoryOfItsUser() {
    let (harness, keeper, _) = scene()
    let (client, memory) = (harness.client(uid: 2_000), harness.gateway.seams.memory.send)
    let before = memory.used
    let wanted = Self.list(Array(Self.costly.dropFirst()) + ["*39b"])
    client.call("history", #"{"upstream":"chat","events":\#(wanted)}"#)
    #expect(memory.limit.used(by: .user(2_000)) > 200 && keeper.call("ping").count == 1)
    client.call("history", #"{"upstream":"chat","events":\#(wanted)}"#, id: 2)
    harness.pass(.zero)
    #expect(client.read().count == 2 && memory.used == before)
  }

  @Test func aHistoryForWhichThereIsNoMemoryIsAShorterPage() {
    let harness = GatewayHarness { $0.limits.sendBytes = 4_096 }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","events":["none"]}"#)
    harness.upstream.channel.accept()
    let large = "\"" + String(repeating: "x", count: 1_000) + "\""
    for _ in 0..<400 { harness.upstream.channel.emit("e", large) }
    let result = HarnessClient.values(client.call("history", #"{"upstream":"chat","limit":400}"#))[0]["result"]
    let count = result?["events"]?.elements?.count ?? 0
    #expect((1..<400).contains(count) && result?["more"] == .bool(true))
    #expect(result?["seq"]?.integerValue == count)
  }

  @Test func whoAsksPageAfterPageSkipsNoEventForWhichThereIsNoMemory() {
    let harness = GatewayHarness { $0.limits.sendBytes = 4_096 }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","events":["none"]}"#)
    harness.upstream.channel.accept()
    let large = "\"" + String(repeating: "x", count: 300_000) + "\""
    for _ in 0..<3 { harness.upstream.channel.emit("e", large) }
    let epoch = harness.gateway.upstreams.pool.all[0].stream.epoch
    var numbers: [Int?] = []
    var last = 0
    for _ in 0..<3 {
      let params = #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":\#(last)}}"#
      let result = HarnessClient.values(client.call("history", params))[0]["result"]
      numbers += (result?["events"]?.elements ?? []).map { $0["seq"]?.integerValue }
      last = result?["seq"]?.integerValue ?? 0
    }
    #expect(numbers == [1, 2, 3])
  }

  @Test func whoLeavesOrCancelsMeanwhileIsForgotten() {
    let (harness, _, epoch) = scene()
    let (leaving, cancelling) = (harness.client(), harness.client())
    let params = #"{"upstream":"chat","events":\#(Self.list(Self.costly)),"since":{"epoch":"\#(epoch)","seq":0}}"#
    leaving.call("subscribe", params)
    leaving.call("history", params, id: 2)
    cancelling.call("history", params)
    #expect(HarnessClient.values(cancelling.call("rpc.cancel", #"{"id":1}"#, id: 2)).count == 2)
    leaving.disconnect()
    harness.pass(.seconds(1))
    #expect(harness.gateway.upstreams.pool.all[0].leaseCount == 1 && cancelling.read().isEmpty)
  }

  @Test func slicesOfSeveralUsersTakeTurns() {
    let time = FakeTime()
    let timers = Timers(time: time)
    let work = SlicedWork(timers)
    var order = ""
    func add(_ name: String, _ user: UInt32, _ count: Int) {
      var left = count
      work.add(for: .user(user)) {
        order += name
        left -= 1
        return left == 0
      }
    }
    add("a", 1, 3)
    add("b", 1, 2)
    add("c", 2, 2)
    var turns = 0
    while timers.nextDeadline != nil {
      timers.fire()
      turns += 1
    }
    #expect(order == "acacabb" && turns == 7)
  }

  // MARK: - Very much of it

  /// A harness whose history has so many events, and its epoch.
  private func long(_ count: Int, limits: (inout Limits) -> Void = { _ in }) -> (GatewayHarness, String) {
    let harness = GatewayHarness { configuration in
      var settings = UpstreamSettings()
      settings.keep = .always
      settings.history.events = 1_000_000
      configuration.upstreams["chat"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
      limits(&configuration.limits)
    }
    harness.upstream.channel.accept()
    for _ in 0..<count { harness.upstream.channel.emit("e") }
    return (harness, harness.gateway.upstreams.pool.all[0].stream.epoch)
  }

  @Test(arguments: [true, false]) func aReplayOfVeryManyEventsTakesSeveralTurns(_ isSince: Bool) {
    let (harness, epoch) = long(20_000)
    let (client, other) = (harness.client(), harness.client())
    let resume = isSince ? #""since":{"epoch":"\#(epoch)","seq":0}"# : #""last":20000"#
    #expect(client.call("subscribe", #"{"upstream":"chat",\#(resume)}"#).isEmpty)
    #expect(other.call("ping").count == 1)
    harness.upstream.channel.emit("e")
    harness.timers.fire()
    #expect(client.read().isEmpty)
    harness.pass(.zero)
    harness.upstream.channel.emit("e")
    let told = client.readValues()
    let first = isSince ? 1 : 2
    #expect(told[0]["result"]?["recovered"] == .bool(true))
    #expect(told[0]["result"]?["replayed"]?.integerValue == 20_002 - first)
    #expect(told.dropFirst().map { $0["params"]?["seq"]?.integerValue } == (first...20_002).map { $0 })
  }

  @Test func aPageOfAVeryLongPastTakesSeveralTurns() {
    let (harness, epoch) = long(20_000)
    let client = harness.client()
    let params = #"{"upstream":"chat","limit":2,"since":{"epoch":"\#(epoch)","seq":3}}"#
    #expect(client.call("history", params).isEmpty)
    harness.pass(.zero)
    let result = client.readValues().first?["result"]
    #expect(result?["events"]?.elements?.map { $0["seq"]?.integerValue } == [4, 5])
    #expect(result?["more"] == .bool(true) && result?["complete"] == .bool(true) && result?["seq"]?.integerValue == 5)
  }

  @Test(arguments: [true, false]) func aPageOfManyEventsIsPutTogetherAPortionInEachTurn(_ isSince: Bool) {
    let (harness, epoch) = long(3_000)
    let client = harness.client()
    let since = isSince ? #","since":{"epoch":"\#(epoch)","seq":0}"# : ""
    #expect(client.call("history", #"{"upstream":"chat","limit":3000\#(since)}"#).isEmpty)
    var turns = 0
    while client.session?.openCallCount == 1, turns < 100 {
      // What comes meanwhile is behind the answer.
      harness.upstream.channel.emit("e")
      harness.timers.fire()
      turns += 1
    }
    // The newest are looked for in a turn of their own, in which one more has come.
    let later = isSince ? 0 : 1
    #expect(turns == 2 + later)
    let result = client.readValues().first?["result"]
    let isEach = result?["events"]?.elements?.map { $0["seq"]?.integerValue } == (1...3_000).map { $0 + later }
    #expect(isEach)
    #expect(result?["more"] == .bool(false) && result?["complete"] == .bool(true))
    #expect(result?["seq"]?.integerValue == 3_000 + later && result?["epoch"]?.stringValue == epoch)
  }

  @Test func aPageThatIsPutTogetherWhenTheRightsBecomeOthersHasWhatTheyLetPass() {
    let (harness, epoch) = long(3_000)
    harness.upstream.channel.emit("other")
    let client = harness.client()
    let params = #"{"upstream":"chat","limit":3001,"since":{"epoch":"\#(epoch)","seq":0}}"#
    #expect(client.call("history", params).isEmpty)
    harness.reload {
      $0.access = [AccessRule(subject: .user(1_000), upstreams: ["chat"], events: ["other"], allow: [.subscribe])]
    }
    harness.pass(.zero)
    let result = client.readValues().first?["result"]
    #expect(result?["events"]?.elements?.map { $0["seq"]?.integerValue } == [3_001])
  }

  @Test func whatHasNoRoomInTheClientsQueueIsOneGapBehindTheRest() {
    let (harness, epoch) = long(20_000) { $0.clientQueueBytes = 400_000 }
    let client = harness.client()
    client.say(
      #"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":0}}}"#
    )
    harness.pass(.zero)
    harness.upstream.channel.emit("e")
    let told = client.readValues()
    #expect(told[0]["result"]?["recovered"] == .bool(true) && told[0]["result"]?["replayed"]?.integerValue == 20_000)
    let numbers = told.dropFirst().dropLast().map { $0["params"]?["seq"]?.integerValue ?? 0 }
    let gap = told.last?["params"]
    #expect(numbers == Array(1...numbers.count) && gap?["reason"]?.stringValue == "slow_consumer")
    #expect(gap?["from"]?.integerValue == numbers.count + 1 && gap?["to"]?.integerValue == 20_001)
    #expect(client.isConnected)
  }

  @Test func whatWasFoundForACallThatEndsCountsNoMore() {
    let (harness, epoch) = long(20_000)
    let client = harness.client()
    let params = #"{"upstream":"chat","subscription":"s","since":{"epoch":"\#(epoch)","seq":0}}"#
    let memory = harness.gateway.seams.memory.send
    client.say(#"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":\#(params)}"#)
    #expect(memory.limit.used > 100_000)
    client.call("rpc.cancel", #"{"id":1}"#, id: 2)
    #expect(memory.limit.used == 0)
    client.say(#"{"jsonrpc":"2.0","id":3,"method":"subscribe","params":\#(params)}"#)
    harness.pass(.zero)
    #expect(memory.limit.used > 100_000)
    client.say(#"{"jsonrpc":"2.0","id":4,"method":"unsubscribe","params":{"subscription":"s"}}"#)
    harness.pass(.zero)
    #expect(memory.limit.used == 0)
  }
}
