import Testing

@testable import GatewayCore

/// What a subscriber that was away gets, and what it is told about the rest.
@Suite struct HistoryTests {
  private func harness(_ change: (inout HistorySettings) -> Void = { _ in }) -> (GatewayHarness, HarnessClient, String)
  {
    let harness = GatewayHarness { configuration in
      var settings = UpstreamSettings()
      settings.keep = .always
      change(&settings.history)
      configuration.upstreams["chat"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
    }
    harness.upstream.channel.accept()
    let client = harness.client()
    return (harness, client, epoch(client))
  }

  private func epoch(_ client: HarnessClient) -> String {
    let reply = HarnessClient.values(client.call("history", #"{"upstream":"chat"}"#)).first
    return reply?["result"]?["epoch"]?.stringValue ?? "none"
  }

  /// `event 1`, `gap 1-3 x3 expired`, or `reply` with what it says about the replay.
  private func digest(_ lines: [String]) -> [String] {
    HarnessClient.values(lines).map { value in
      let params = value["params"]
      switch value["method"]?.stringValue {
      case "event": return "event \(params?["seq"]?.integerValue ?? -1)"
      case "gap":
        guard let from = params?["from"]?.integerValue else { return "gap \(params?["reason"]?.stringValue ?? "")" }
        return "gap \(from)-\(params?["to"]?.integerValue ?? -1)"
          + " x\(params?["count"]?.integerValue ?? -1) \(params?["reason"]?.stringValue ?? "")"
      case let other?: return other
      case nil:
        guard let result = value["result"] else { return value["error"]?["data"]?["type"]?.stringValue ?? "error" }
        return "recovered \(result["recovered"] == .bool(true)) x\(result["replayed"]?.integerValue ?? -1)"
      }
    }
  }

  private func subscribe(_ client: HarnessClient, _ more: String) -> [String] {
    digest(client.call("subscribe", #"{"upstream":"chat",\#(more)}"#))
  }

  @Test func whatWasMissedComesInOrderBeforeAnythingNew() {
    let (harness, client, epoch) = harness()
    for number in 1...4 { harness.upstream.channel.emit("e", "\(number)") }
    #expect(
      subscribe(client, #""since":{"epoch":"\#(epoch)","seq":2}"#) == ["recovered true x2", "event 3", "event 4"])
    harness.upstream.channel.emit("e")
    #expect(digest(client.read()) == ["event 5"])
  }

  @Test func aNameThatNoProgramMaySendIsAGapForEverybody() {
    let (harness, client, epoch) = harness()
    client.call("subscribe", #"{"upstream":"chat","events":["e","*x*"],"subscription":"s"}"#)
    harness.upstream.channel.emit("e")
    harness.upstream.channel.emit(String(repeating: "x", count: 2_000_000))
    harness.upstream.channel.emit(String(repeating: "x", count: EventName.limit))
    #expect(digest(client.read()) == ["event 1", "gap 2-2 x1 too_large", "event 3"])
    #expect(
      subscribe(client, #""since":{"epoch":"\#(epoch)","seq":0},"events":["e"]"#)
        == ["recovered false x1", "event 1", "gap 2-2 x1 too_large"])
  }

  @Test func anEventThatCannotBeShownIsAGapForThoseWhoWantItsName() {
    let (harness, client, epoch) = harness()
    client.call("subscribe", #"{"upstream":"chat","events":["e"],"subscription":"some"}"#)
    client.call("subscribe", #"{"upstream":"chat","events":["e","connect"],"subscription":"both"}"#)
    let name = Array(#""connect""#.utf8)
    harness.upstream.channel.emit(DroppedEvent(.undecodable, detail: "a reserved name", name: name))
    let gaps = HarnessClient.values(client.read()).map { $0["params"] }
    #expect(gaps.map { $0?["subscription"]?.stringValue } == ["both"])
    #expect(gaps.first??["detail"]?.stringValue == "a reserved name")
    harness.upstream.channel.emit(DroppedEvent(.undecodable, detail: "no list"))
    #expect(digest(client.read()) == ["gap 2-2 x1 undecodable", "gap 2-2 x1 undecodable"])
    // Also for those who come later.
    #expect(
      subscribe(client, #""since":{"epoch":"\#(epoch)","seq":0},"events":["e"]"#)
        == ["recovered false x0", "gap 2-2 x1 undecodable"])
    #expect(
      subscribe(client, #""since":{"epoch":"\#(epoch)","seq":0},"events":["connect"]"#)
        == ["recovered false x0", "gap 1-1 x1 undecodable", "gap 2-2 x1 undecodable"])
  }

  @Test func namesOfEventsThatCouldNotBeShownCountAsBytes() {
    var history = EventHistory(HistorySettings(), epoch: "e")
    let now = MonotonicInstant(nanoseconds: 0)
    for _ in 0..<3 { history.append(.hole(.tooLarge, name: String(repeating: "n", count: 1_000)), at: now) }
    #expect(history.byteCount == 3_000)
    var settings = HistorySettings()
    settings.bytes = 1_500
    history.adopt(settings, now: now)
    #expect(history.byteCount == 1_000)
    #expect(history.count == 1)
  }

  @Test func aReplayedEventIsByteForByteTheLiveOne() {
    let (harness, client, epoch) = harness()
    client.call("subscribe", #"{"upstream":"chat","subscription":"s"}"#)
    harness.upstream.channel.emit("e", #"1.0,{"b":1,"a":"é"}"#)
    let live = client.read()
    let late = harness.client()
    let again = late.call(
      "subscribe", #"{"upstream":"chat","subscription":"s","since":{"epoch":"\#(epoch)","seq":0}}"#)
    #expect(Array(again.dropFirst()) == live)
  }

  @Test func nothingMissedIsRecovered() {
    let (harness, client, epoch) = harness()
    harness.upstream.channel.emit("e")
    #expect(subscribe(client, #""since":{"epoch":"\#(epoch)","seq":1}"#) == ["recovered true x0"])
  }

  @Test func filtersApplyToThePast() {
    let (harness, client, epoch) = harness()
    for name in ["price.a", "other", "price.b", "pricey"] { harness.upstream.channel.emit(name) }
    #expect(
      subscribe(client, #""events":["price.*"],"since":{"epoch":"\#(epoch)","seq":0}"#)
        == ["recovered true x2", "event 1", "event 3"])
    #expect(subscribe(client, #""events":["other"],"last":1"#) == ["recovered true x1", "event 2"])
  }

  @Test func theLastValueOfAnEventReachesALateSubscriber() {
    let (harness, client, _) = harness()
    for name in ["price", "price", "other", "other"] { harness.upstream.channel.emit(name) }
    #expect(subscribe(client, #""events":["price"],"last":1"#) == ["recovered true x1", "event 2"])
    #expect(subscribe(client, #""events":["price"],"last":9"#) == ["recovered true x2", "event 1", "event 2"])
  }

  @Test func whatIsBeyondTheCountIsAGap() {
    let (harness, client, epoch) = harness { $0.events = 2 }
    for _ in 1...5 { harness.upstream.channel.emit("e") }
    let expected = ["recovered false x2", "gap 2-3 x2 expired", "event 4", "event 5"]
    #expect(subscribe(client, #""since":{"epoch":"\#(epoch)","seq":1}"#) == expected)
    #expect(
      subscribe(client, #""since":{"epoch":"\#(epoch)","seq":3}"#) == ["recovered true x2", "event 4", "event 5"])
    #expect(subscribe(client, #""last":3"#) == ["recovered false x2", "gap 1-3 x3 expired", "event 4", "event 5"])
  }

  @Test func whatIsBeyondTheBytesIsAGap() {
    let (harness, client, epoch) = harness { $0.bytes = 1_024 }
    let large = "\"" + String(repeating: "x", count: 600) + "\""
    for _ in 1...2 { harness.upstream.channel.emit("e", large) }
    #expect(
      subscribe(client, #""since":{"epoch":"\#(epoch)","seq":0}"#)
        == ["recovered false x1", "gap 1-1 x1 expired", "event 2"])
    harness.upstream.channel.emit("e", "\"" + String(repeating: "x", count: 2_000) + "\"")
    #expect(
      subscribe(harness.client(), #""since":{"epoch":"\#(epoch)","seq":1}"#) == [
        "recovered false x0", "gap 2-3 x2 expired",
      ])
  }

  @Test func whatIsTooOldIsAGapAndFreed() {
    let (harness, client, epoch) = harness { $0.age = .seconds(10) }
    harness.upstream.channel.emit("e")
    harness.pass(.seconds(6))
    harness.upstream.channel.emit("e")
    harness.pass(.seconds(6))
    #expect(
      subscribe(client, #""since":{"epoch":"\#(epoch)","seq":0}"#)
        == ["recovered false x1", "gap 1-1 x1 expired", "event 2"])
    harness.pass(.seconds(60))
    #expect(harness.gateway.upstreams.pool.all.first?.stream.history.count == 0)
  }

  @Test func withoutAHistoryEverythingMissedIsAGap() {
    let (harness, client, epoch) = harness { $0.events = 0 }
    for _ in 1...3 { harness.upstream.channel.emit("e") }
    #expect(
      subscribe(client, #""since":{"epoch":"\#(epoch)","seq":1}"#) == ["recovered false x0", "gap 2-3 x2 expired"])
    #expect(subscribe(client, #""since":{"epoch":"\#(epoch)","seq":3}"#) == ["recovered true x0"])
  }

  @Test func aLostLinkBeginsANewEpoch() {
    let (harness, client, epoch) = harness()
    harness.upstream.channel.emit("e")
    harness.upstream.channel.fail(.closed)
    // What is known of the old epoch is still given out until the new one begins.
    #expect(
      subscribe(client, #""subscription":"a","since":{"epoch":"\#(epoch)","seq":0}"#) == [
        "recovered true x1", "event 1",
      ])
    client.call("unsubscribe", #"{"subscription":"a"}"#)
    harness.pass(.seconds(60))
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("e")
    #expect(self.epoch(client) != epoch)
    #expect(
      subscribe(client, #""since":{"epoch":"\#(epoch)","seq":1}"#) == ["recovered false x1", "gap upstream", "event 2"])
  }

  @Test func aRecoveredLinkKeepsTheEpoch() {
    let (harness, client, epoch) = harness()
    client.call("subscribe", #"{"upstream":"chat","state":true,"subscription":"a"}"#)
    harness.upstream.channel.emit("e")
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(60))
    client.read()
    harness.upstream.channel.isRecovered = true
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("e")
    #expect(digest(client.read()) == ["state", "event 2"])
    #expect(self.epoch(client) == epoch)
    let late = harness.client()
    #expect(
      subscribe(late, #""since":{"epoch":"\#(epoch)","seq":0}"#) == ["recovered true x2", "event 1", "event 2"])
  }

  @Test func strictRefusesAndNamesWhatIsThere() {
    let (harness, client, epoch) = harness { $0.events = 2 }
    for _ in 1...5 { harness.upstream.channel.emit("e") }
    let reply = HarnessClient.values(
      client.call("subscribe", #"{"upstream":"chat","strict":true,"since":{"epoch":"\#(epoch)","seq":1}}"#)
    ).first?["error"]?["data"]
    #expect(reply?["type"] == .string("Unrecoverable"))
    #expect(reply?["oldest"]?.integerValue == 4)
    #expect(reply?["epoch"] == .string(epoch))
    #expect(
      subscribe(client, #""strict":true,"since":{"epoch":"\#(epoch)","seq":3}"#)
        == ["recovered true x2", "event 4", "event 5"])
  }

  @Test func eventsThatCannotBeShownAreHolesInThePast() {
    let (harness, client, epoch) = harness()
    harness.upstream.channel.emit("a")
    harness.upstream.channel.emit("huge", "\"" + String(repeating: "x", count: 1 << 20) + "\"")
    harness.upstream.channel.emit("a")
    #expect(
      subscribe(client, #""since":{"epoch":"\#(epoch)","seq":0}"#)
        == ["recovered false x2", "event 1", "gap 2-2 x1 too_large", "event 3"])
    #expect(
      subscribe(client, #""events":["a"],"since":{"epoch":"\#(epoch)","seq":0}"#)
        == ["recovered true x2", "event 1", "event 3"])
  }

  @Test func aReplayIsNoCauseToDropAnything() {
    let (harness, client, epoch) = harness()
    let big = "\"" + String(repeating: "x", count: ClientOutput.directLimit) + "\""
    for _ in 1...6 { harness.upstream.channel.emit("e", big) }
    client.say(
      #"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"upstream":"chat","queue":2,"since":{"epoch":"\#(epoch)","seq":0}}}"#
    )
    for _ in 1...2 { harness.upstream.channel.emit("e", big) }
    #expect(digest(client.read()) == ["recovered true x6"] + (1...8).map { "event \($0)" })
    // The queue's own limit holds again afterwards.
    for _ in 1...6 { harness.upstream.channel.emit("e", big) }
    #expect(digest(client.read()) == ["event 9", "gap 10-12 x3 slow_consumer", "event 13", "event 14"])
  }

  @Test func creditCountsForThePastToo() {
    let (harness, client, epoch) = harness()
    for _ in 1...3 { harness.upstream.channel.emit("e") }
    #expect(
      subscribe(client, #""subscription":"s","credit":1,"since":{"epoch":"\#(epoch)","seq":0}"#)
        == ["recovered true x3", "event 1"])
    harness.upstream.channel.emit("e")
    #expect(
      digest(client.call("credit", #"{"subscription":"s","n":9}"#)).dropFirst() == ["event 2", "event 3", "event 4"])
  }

  @Test func theHistoryMethodPages() {
    let (harness, client, epoch) = harness()
    for number in 1...5 { harness.upstream.channel.emit("e", "\(number).0") }
    func page(_ more: String) -> JSONValue? {
      HarnessClient.values(client.call("history", #"{"upstream":"chat"\#(more)}"#)).first?["result"]
    }
    func numbers(_ page: JSONValue?) -> [Int] {
      page?["events"]?.elements?.compactMap { $0["seq"]?.integerValue } ?? []
    }
    let all = page("")
    #expect(numbers(all) == [1, 2, 3, 4, 5])
    let newest = page(#","limit":2"#)
    #expect(numbers(newest) == [4, 5])
    let first = page(#","limit":2,"since":{"epoch":"\#(epoch)","seq":1}"#)
    #expect(numbers(first) == [2, 3])
    #expect(first?["seq"]?.integerValue == 3)
    #expect(first?["more"] == .bool(true))
    #expect(first?["complete"] == .bool(true))
    #expect(first?["events"]?.elements?.first?["args"] == .array([.number("2.0")]))
    let rest = page(#","since":{"epoch":"\#(epoch)","seq":3}"#)
    #expect(numbers(rest) == [4, 5])
    #expect(rest?["seq"]?.integerValue == 5)
    #expect(rest?["more"] == .bool(false))
    let other = page(#","since":{"epoch":"other","seq":3}"#)
    #expect(other?["complete"] == .bool(false))
    let none = page(#","events":["x"]"#)
    #expect(numbers(none).isEmpty)
  }

  @Test func anAnswerOfTheHistoryFitsIntoALine() {
    let (harness, client, epoch) = harness()
    let large = "\"" + String(repeating: "x", count: 300_000) + "\""
    for _ in 1...5 { harness.upstream.channel.emit("e", large) }
    var position: Int = 0
    var seen: [Int] = []
    while seen.count < 5 {
      let lines = client.call("history", #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":\#(position)}}"#)
      #expect(lines.allSatisfy { $0.utf8.count < 1 << 20 })
      let result = HarnessClient.values(lines).first?["result"]
      let numbers = result?["events"]?.elements?.compactMap { $0["seq"]?.integerValue } ?? []
      guard !numbers.isEmpty else { break }
      seen += numbers
      position = result?["seq"]?.integerValue ?? 0
    }
    #expect(seen == [1, 2, 3, 4, 5])
  }

  @Test func askingTheHistoryUsesNothing() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("history", #"{"upstream":"chat"}"#)
    #expect(harness.upstream.channels.isEmpty)
    harness.pass(.seconds(120))
    #expect(harness.upstream.channels.isEmpty)
  }

  @Test func newBoundsOfAReloadCount() {
    let (harness, client, epoch) = harness()
    for _ in 1...5 { harness.upstream.channel.emit("e") }
    var stream = harness.gateway.upstreams.pool.all.first?.stream.history
    var smaller = HistorySettings()
    smaller.events = 2
    stream?.adopt(smaller, now: harness.time.now)
    #expect(stream?.count == 2 && stream?.oldest == 4)
    _ = (client, epoch)
  }

  @Test func manyEventsThatAreTooOldAtOnceGoInPortionsAndAreNotShownMeanwhile() {
    let (harness, client, _) = harness { settings in
      settings.events = 20_000
      settings.age = .seconds(60)
    }
    let stream = harness.gateway.upstreams.pool.all[0].stream
    for _ in 0..<20_000 { harness.upstream.channel.emit("e") }
    harness.pass(.seconds(50))
    harness.upstream.channel.emit("young")
    harness.pass(.seconds(11))
    #expect(client.call("history", #"{"upstream":"chat","limit":1000}"#).isEmpty)
    #expect(stream.history.count > 20_001 - 2 * EventHistory.portion)
    harness.pass(.zero)
    let events = HarnessClient.values(client.read()).last?["result"]?["events"]?.elements
    #expect(events?.compactMap { $0["event"]?.stringValue } == ["young"])
    #expect(stream.history.count == 1)
  }

  @Test func aHistoryThatAReloadMakesSmallerGoesInPortions() {
    let (harness, _, _) = harness { $0.events = 20_000 }
    let stream = harness.gateway.upstreams.pool.all[0].stream
    for _ in 0..<20_000 { harness.upstream.channel.emit("e") }
    var settings = HistorySettings()
    settings.events = 10
    stream.adopt(settings)
    #expect(stream.history.count == 20_000 - EventHistory.portion)
    harness.pass(.seconds(30))
    #expect(stream.history.count == 10)
  }

  @Test func theNewestAreNotCompleteWhereAllThatCameBeforeTheLinkWasLostIsGone() {
    let (harness, client, _) = harness { $0.age = .seconds(60) }
    for _ in 0..<3 { harness.upstream.channel.emit("price") }
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(90))
    harness.upstream.channel.accept()
    harness.pass(.seconds(30))
    #expect(
      subscribe(client, #""events":["price"],"last":1,"strict":true"#) == ["Unrecoverable"])
    #expect(subscribe(client, #""events":["price"],"last":1"#) == ["recovered false x0", "gap upstream"])
    let page = HarnessClient.values(client.call("history", #"{"upstream":"chat","events":["price"]}"#)).first
    #expect(page?["result"]?["complete"] == .bool(false))
    // The names of what is gone are known, and none of them was asked for.
    #expect(subscribe(client, #""events":["other"],"last":1,"strict":true"#) == ["recovered true x0"])
  }

  @Test func aQuestionForThePastIsNotAnsweredWithAnEmptyOneAsTheDaemonEnds() {
    let store = FakeOutboxStore()
    store.holdsClose = true
    let harness = GatewayHarness(outbox: .open(store, [])) { _ in }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("e")
    harness.gateway.stop(reason: "test") {}
    harness.pass(.seconds(6))
    _ = client.read()
    let answer = HarnessClient.values(client.call("history", #"{"upstream":"chat"}"#)).last
    #expect(answer?["error"]?["data"]?["type"]?.stringValue == "Draining")
  }
}
