import Testing

@testable import GatewayCore

/// The past over lost links: what of an earlier epoch is still given, and where it is said to end.
@Suite struct HistoryEpochTests {
  private final class Scene {
    let harness: GatewayHarness
    let client: HarnessClient

    init(_ change: @escaping (inout HistorySettings) -> Void = { _ in }) {
      harness = GatewayHarness { configuration in
        var settings = UpstreamSettings()
        settings.keep = .always
        change(&settings.history)
        configuration.upstreams["chat"] = ConfiguredUpstream(
          url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
      }
      harness.upstream.channel.accept()
      client = harness.client()
    }

    var epoch: String {
      let reply = HarnessClient.values(harness.client().call("history", #"{"upstream":"chat"}"#)).first
      return reply?["result"]?["epoch"]?.stringValue ?? "none"
    }

    func emit(_ names: String...) { for name in names { harness.upstream.channel.emit(name) } }

    func loseLink() {
      harness.upstream.channel.fail(.closed)
      harness.pass(.seconds(60))
      harness.upstream.channel.accept()
    }

    /// `event 1`, `gap 1-3 x3 expired`, `epoch e2 after 3`, or the answer.
    func subscribe(_ more: String, names: [String: String] = [:]) -> [String] {
      let late = harness.client()
      defer { late.disconnect() }
      return HarnessClient.values(late.call("subscribe", #"{"upstream":"chat",\#(more)}"#)).map { value in
        let params = value["params"]
        let epoch = params?["epoch"]?.stringValue ?? ""
        switch value["method"]?.stringValue {
        case "event": return "event \(params?["seq"]?.integerValue ?? -1)"
        case "gap" where params?["reason"] == .string("upstream"):
          return "epoch \(names[epoch] ?? epoch) after \(params?["seq"]?.integerValue ?? -1)"
        case "gap":
          return "gap \(params?["from"]?.integerValue ?? -1)-\(params?["to"]?.integerValue ?? -1)"
            + " x\(params?["count"]?.integerValue ?? -1) \(params?["reason"]?.stringValue ?? "")"
        case let other?: return other
        case nil: return "recovered \(value["result"]?["recovered"] == .bool(true))"
        }
      }
    }
  }

  @Test func anEarlierEpochIsStillGivenOutAndItsEndIsToldOnce() {
    let scene = Scene()
    let first = scene.epoch
    scene.emit("e", "e", "e")
    scene.loseLink()
    let second = scene.epoch
    scene.emit("e", "e")
    #expect(
      scene.subscribe(#""since":{"epoch":"\#(first)","seq":1}"#, names: [second: "second"]) == [
        "recovered false", "event 2", "event 3", "epoch second after 3", "event 4", "event 5",
      ])
  }

  @Test func everyLostLinkInBetweenIsTold() {
    let scene = Scene()
    let first = scene.epoch
    scene.emit("e")
    scene.loseLink()
    let second = scene.epoch
    scene.loseLink()
    let third = scene.epoch
    scene.emit("e")
    #expect(
      scene.subscribe(#""since":{"epoch":"\#(first)","seq":0}"#, names: [second: "second", third: "third"]) == [
        "recovered false", "event 1", "epoch second after 1", "epoch third after 1", "event 2",
      ])
  }

  /// A program that knows the new epoch from the answer and was stopped in the middle of the old one's events.
  @Test func aReplayThatWasCutShortGoesOnByItsNumber() {
    let scene = Scene()
    scene.emit("e", "e", "e")
    scene.loseLink()
    let second = scene.epoch
    scene.emit("e")
    #expect(
      scene.subscribe(#""since":{"epoch":"\#(second)","seq":1}"#, names: [second: "second"]) == [
        "recovered false", "event 2", "event 3", "epoch second after 3", "event 4",
      ])
  }

  @Test func whatIsGoneOfAnEarlierEpochIsAGapOfIts() {
    let scene = Scene { $0.events = 3 }
    let first = scene.epoch
    scene.emit("e", "e", "e")
    scene.loseLink()
    let second = scene.epoch
    scene.emit("e")
    #expect(
      scene.subscribe(#""since":{"epoch":"\#(first)","seq":0}"#, names: [second: "second"]) == [
        "recovered false", "gap 1-1 x1 expired", "event 2", "event 3", "epoch second after 3", "event 4",
      ])
    scene.emit("e", "e", "e")
    #expect(
      scene.subscribe(#""since":{"epoch":"\#(first)","seq":0}"#, names: [second: "second"]) == [
        "recovered false", "epoch second after 4", "event 5", "event 6", "event 7",
      ])
  }

  @Test func theLastValueOutlivesALostLink() {
    let scene = Scene()
    scene.emit("price", "price", "other")
    scene.loseLink()
    let second = scene.epoch
    #expect(
      scene.subscribe(#""events":["price"],"last":1"#, names: [second: "second"]) == [
        "recovered false", "event 2", "epoch second after 3",
      ])
    scene.emit("price")
    #expect(scene.subscribe(#""events":["price"],"last":1"#) == ["recovered true", "event 4"])
  }

  @Test func aPlaceInAnEpochThatNobodyKnowsGetsAllThatIsKept() {
    let scene = Scene()
    let first = scene.epoch
    scene.emit("e", "e")
    scene.loseLink()
    let second = scene.epoch
    scene.emit("e")
    let names = [first: "first", second: "second"]
    // Whatever number another daemon had come to: nothing of this one's was seen.
    for number in [1, 90] {
      #expect(
        scene.subscribe(#""since":{"epoch":"other","seq":\#(number)}"#, names: names) == [
          "recovered false", "epoch first after 0", "event 1", "event 2", "epoch second after 2", "event 3",
        ])
    }
  }

  @Test func placesBeyondAnyNumberHarmNobody() {
    let scene = Scene()
    let first = scene.epoch
    scene.emit("e")
    scene.loseLink()
    let second = scene.epoch
    let names = [first: "first", second: "second"]
    for epoch in [first, second, "other"] {
      let lines = scene.subscribe(#""since":{"epoch":"\#(epoch)","seq":9007199254740991}"#, names: names)
      let all = epoch == "other" ? ["epoch first after 0", "event 1"] : []
      #expect(lines == ["recovered false"] + all + ["epoch second after 1"])
    }
  }

  @Test func aGapCountsWhatTheSubscriberWouldHaveBeenGiven() {
    let scene = Scene { $0.events = 2 }
    let epoch = scene.epoch
    scene.emit("price", "other", "other", "price", "other", "price", "other")
    let since = #""since":{"epoch":"\#(epoch)","seq":0}"#
    #expect(scene.subscribe(#""events":["price"],\#(since)"#) == ["recovered false", "gap 1-5 x2 expired", "event 6"])
    #expect(scene.subscribe(#""events":["o*"],\#(since)"#) == ["recovered false", "gap 1-5 x3 expired", "event 7"])
    #expect(scene.subscribe(since) == ["recovered false", "gap 1-5 x5 expired", "event 6", "event 7"])
  }

  @Test func whereOnlyOthersAreGoneNothingIsMissing() {
    let scene = Scene { $0.events = 2 }
    let epoch = scene.epoch
    scene.emit("other", "other", "price", "other")
    #expect(
      scene.subscribe(#""events":["price"],"since":{"epoch":"\#(epoch)","seq":0}"#) == ["recovered true", "event 3"])
    #expect(scene.subscribe(#""events":["price"],"last":5"#) == ["recovered true", "event 3"])
  }

  @Test func whoseNamesAreForgottenCounts() {
    let scene = Scene { $0.events = 1 }
    let epoch = scene.epoch
    for _ in 1...2_000 { scene.emit("a", "b") }
    let lines = scene.subscribe(#""events":["b"],"since":{"epoch":"\#(epoch)","seq":0}"#)
    #expect(lines.first == "recovered false" && lines.last == "event 4000")
    let count = Int(lines[1].split(separator: " ")[2].dropFirst()) ?? 0
    // Every second one of those that are known, and all before.
    #expect(lines[1].hasPrefix("gap 1-3999 x") && count > 2_000 && count < 3_999)
  }

  @Test func manyLostLinksStayWithinTheLimit() {
    let scene = Scene { $0.age = .seconds(1_000_000) }
    for _ in 0...EventHistory.epochLimit {
      scene.emit("e")
      scene.loseLink()
    }
    let history = scene.harness.gateway.upstreams.pool.all[0].stream.history
    #expect(history.spans.count == EventHistory.epochLimit && history.oldest == 3)
  }
}
