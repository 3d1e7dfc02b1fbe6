import Testing

@testable import GatewayCore

/// What of a history outlives the daemon.
@Suite struct HistoryDiskTests {
  @Test func eventsNumbersAndEpochOutliveACrash() {
    let scene = HistoryScene()
    scene.channel.accept()
    scene.emit("a", "b", "c")
    scene.flush()
    let before = scene.position
    scene.crash()
    #expect(scene.position == before)
    #expect(scene.subscribe(since: before.epoch, 1) == ["recovered true", "event 2", "event 3"])
  }

  @Test func whoSubscribedBeforeTheDiskWasSwitchedOnIsToldOfTheEpochThatWasFoundThere() {
    func configuration(disk: Bool) -> Configuration {
      var configuration = Configuration()
      var settings = UpstreamSettings()
      settings.history.disk = disk
      configuration.upstreams["chat"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
      return configuration
    }
    let store = FakeHistoryStore()
    let harness = GatewayHarness(histories: .success(store), seed: 9) { $0 = configuration(disk: false) }
    let client = harness.client()
    let reply = HarnessClient.values(client.call("subscribe", #"{"upstream":"chat"}"#))[0]["result"]
    let scene = HistoryScene(store)
    scene.channel.accept()
    scene.emit("a", "b")
    scene.flush()
    let found = scene.position.epoch
    #expect(reply?["epoch"]?.stringValue != found && reply?["seq"]?.integerValue == 0)
    harness.loader.next = .success(configuration(disk: true))
    harness.client(uid: 0).call("reload")
    let told = client.readValues().map { $0["params"] }
    #expect(told.map { $0?["reason"]?.stringValue } == ["upstream"])
    #expect(told.map { $0?["epoch"]?.stringValue } == [found])
    #expect(told.map { $0?["seq"]?.integerValue } == [2])
  }

  @Test func withoutRecoveryTheOldEpochEndsOnceAndNumbersGoOn() {
    let scene = HistoryScene()
    scene.channel.accept()
    scene.emit("a", "b")
    scene.flush()
    let (first, _) = scene.position
    _ = scene.name(first)
    scene.crash()
    scene.channel.accept()
    scene.emit("c")
    #expect(
      scene.subscribe(since: first, 1) == ["recovered false", "event 2", "epoch B after 2", "event 3"])
    #expect(scene.position.sequence == 3)
  }

  @Test func aSubscriberThatIsBackBeforeTheServerLearnsTheEndOfTheEpochWhenItComes() {
    let scene = HistoryScene()
    scene.channel.accept()
    scene.emit("a")
    scene.flush()
    let (first, _) = scene.position
    _ = scene.name(first)
    scene.crash()
    let client = scene.harness.client()
    let lines = client.call("subscribe", #"{"upstream":"chat","since":{"epoch":"\#(first)","seq":1}}"#)
    #expect(scene.digest(lines) == ["recovered true"])
    scene.channel.accept()
    scene.emit("b")
    #expect(scene.digest(client.read()) == ["epoch B after 1", "event 2"])
  }

  @Test func withRecoveryNothingIsLostAndTheEpochStays() {
    let scene = HistoryScene()
    scene.channel.accept()
    scene.emit("a", "b")
    scene.harness.upstream.connector?.resumption = Resumption(session: "private", offset: "o2")
    scene.flush()
    let (first, _) = scene.position
    scene.crash()
    #expect(scene.harness.upstream.connector?.resumption == Resumption(session: "private", offset: "o2"))
    scene.channel.isRecovered = true
    scene.channel.accept()
    scene.emit("c")
    #expect(scene.subscribe(since: first, 1) == ["recovered true", "event 2", "event 3"])
    #expect(scene.position.epoch == first)
  }

  @Test func theOffsetIsNeverAheadOfItsEvent() {
    let scene = HistoryScene()
    scene.channel.accept()
    scene.emit("a")
    scene.harness.upstream.connector?.resumption = Resumption(session: "private", offset: "o1")
    scene.flush()
    scene.emit("b")
    scene.harness.upstream.connector?.resumption = Resumption(session: "private", offset: "o2")
    // Died before it was handed over, and before anybody was told.
    scene.crash()
    #expect(scene.position.sequence == 1)
    #expect(scene.harness.upstream.connector?.resumption?.offset == "o1")
  }

  @Test func anotherServerOrOtherCredentialsAreNotToldTheSession() {
    let store = FakeHistoryStore()
    func daemon(_ auth: String) -> GatewayHarness {
      GatewayHarness(histories: .success(store)) { configuration in
        var settings = UpstreamSettings()
        settings.keep = .always
        settings.history.disk = true
        settings.auth = .inline(Array(auth.utf8))
        configuration.upstreams["chat"] = ConfiguredUpstream(
          url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
      }
    }
    let first = daemon(#"{"token":"a"}"#)
    first.upstream.channel.accept()
    first.upstream.channel.emit("e")
    first.upstream.connector?.resumption = Resumption(session: "private", offset: "o1")
    first.gateway.commitHistories()
    let other = daemon(#"{"token":"b"}"#)
    #expect(other.gateway.upstreams.pool.all[0].stream.sequence == 1)
    #expect(other.upstream.connector?.resumption == nil)
  }

  @Test func anOrderlyStopLeavesTheServerItsMemoryAndTheDiskATrustworthyEnd() {
    let scene = HistoryScene()
    scene.channel.accept()
    scene.emit("a")
    scene.harness.upstream.connector?.resumption = Resumption(session: "private", offset: "o1")
    let (channel, epoch) = (scene.channel, scene.position.epoch)
    scene.harness.gateway.stop(reason: "test") {}
    scene.harness.pass(.seconds(30))
    #expect(channel.isSuspended && scene.store.syncs == 1)
    // Also over a loss of power.
    scene.store.boot = "boot-2"
    scene.crash()
    #expect(scene.position == (epoch, 1))
    #expect(scene.harness.upstream.connector?.resumption?.offset == "o1")
  }

  @Test func withoutAHistoryOnDiskAStopIsAGoodbye() {
    let scene = HistoryScene { $0.disk = false }
    scene.channel.accept()
    scene.emit("a")
    scene.harness.upstream.connector?.resumption = Resumption(session: "private", offset: "o1")
    let channel = scene.channel
    scene.restart()
    #expect(channel.isClosed && !channel.isSuspended && scene.store.writes == 0)
    #expect(scene.position.sequence == 0)
  }

  @Test func whatALossOfPowerMayHaveTakenEndsTheEpochAndNoNumberComesTwice() {
    let scene = HistoryScene()
    scene.channel.accept()
    scene.emit("a", "b")
    scene.flush()
    let (first, _) = scene.position
    _ = scene.name(first)
    scene.store.boot = "boot-2"
    scene.crash()
    #expect(scene.position.epoch != first && scene.position.sequence == 2 + HistoryLoader.safetyDistance)
    scene.channel.accept()
    scene.emit("c")
    // It had seen more than the disk has kept.
    #expect(scene.subscribe(since: first, 5) == ["recovered false", "epoch B after 10000002", "event 10000003"])
    #expect(
      scene.subscribe(since: first, 1) == [
        "recovered false", "event 2", "epoch B after 10000002", "event 10000003",
      ])
  }

  @Test func oneTurnOfTheLoopIsOneWrite() {
    let scene = HistoryScene()
    scene.channel.accept()
    // With the first one the file begins.
    scene.emit("e")
    scene.flush()
    let before = scene.store.writes
    for _ in 1...50 { scene.emit("e") }
    #expect(scene.store.writes == before)
    scene.flush()
    scene.flush()
    #expect(scene.store.writes == before + 1)
  }

  @Test func nobodyIsToldAnythingThatIsNotWritten() {
    let scene = HistoryScene()
    scene.channel.accept()
    let client = scene.harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    for count in 1...5 {
      scene.emit("e")
      #expect(scene.digest(client.read()) == ["event \(count)"])
      #expect(HistoryScene(scene.store.copy(), seed: 700).position.sequence == UInt64(count))
    }
  }

  @Test func theDiskHoldsAFewTimesWhatTheHistoryMay() {
    let scene = HistoryScene { $0.bytes = 300_000 }
    scene.channel.accept()
    let large = "\"" + String(repeating: "x", count: 5_000) + "\""
    for _ in 1...1_000 {
      scene.channel.emit("e", large)
      scene.flush()
      #expect(scene.store.byteCount < 1_000_000)
    }
    let (epoch, _) = scene.position
    scene.crash()
    let lines = scene.subscribe(since: epoch, 0)
    #expect(lines.count > 50 && lines.last == "event 1000" && lines[1].hasSuffix("expired"))
    #expect(lines.dropFirst(2).enumerated().allSatisfy { $1 == "event \(1_000 - (lines.count - 3) + $0)" })
  }

  @Test func whatIsTooOldLeavesTheDisk() {
    let scene = HistoryScene { $0.age = .seconds(60) }
    scene.channel.accept()
    scene.channel.emit("secret-name")
    scene.flush()
    scene.harness.pass(.seconds(180))
    #expect(scene.position.sequence == 1)
    let all = scene.store.copy()
    #expect(!String(decoding: all.newest, as: UTF8.self).contains("secret-name") && all.stored.count == 1)
    scene.crash()
    #expect(scene.position.sequence == 1)
  }

  @Test func eventsKeepTheirAgeOverARestart() {
    let scene = HistoryScene { $0.age = .seconds(60) }
    scene.channel.accept()
    scene.emit("a")
    scene.harness.pass(.seconds(20))
    scene.emit("b")
    scene.flush()
    scene.crash()
    scene.harness.pass(.seconds(45))
    #expect(scene.connection.stream.replay(.last(9), .all).eventCount == 1)
  }

  @Test func timeDoesNotRunBackwardsOverARestart() {
    let scene = HistoryScene()
    scene.channel.accept()
    scene.emit("a")
    scene.harness.upstream.connector?.resumption = Resumption(session: "private", offset: "o1")
    scene.flush()
    let before = scene.harness.time.wallMilliseconds
    // The administrator sets the clock back meanwhile.
    scene.harness.time.wallMilliseconds -= 60_000
    scene.crash()
    scene.channel.isRecovered = true
    scene.channel.accept()
    let client = scene.harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    scene.emit("b")
    #expect(client.readValues().first?["params"]?["time"]?.integerValue == Int(before))
  }

  @Test func holesAndEpochsAreKeptToo() {
    let scene = HistoryScene()
    scene.channel.accept()
    _ = scene.name(scene.position.epoch)
    scene.emit("a")
    scene.channel.emit("big", "\"" + String(repeating: "x", count: 1 << 20) + "\"")
    let first = scene.position.epoch
    scene.channel.fail(.closed)
    scene.harness.pass(.seconds(60))
    scene.channel.accept()
    scene.emit("b")
    scene.flush()
    let expected = ["recovered false", "event 1", "gap 2-2 too_large", "epoch B after 2", "event 3"]
    #expect(scene.subscribe(since: first, 0) == expected)
    scene.crash()
    #expect(scene.subscribe(since: first, 0) == expected)
  }

  @Test func whatWasKeptBeforeEventsThatWereNotIsSetAsideAndNotDeletedWithoutAWord() {
    let earlier = HistoryScene()
    earlier.channel.accept()
    earlier.emit("a", "b")
    earlier.flush()
    let store = earlier.store.copy()
    store.modified = .max
    let scene = HistoryScene(store, seed: 5) { $0.disk = false }
    scene.channel.accept()
    scene.emit("c")
    let kept = scene.store.stored.count
    scene.harness.reload { $0.upstreams["chat"]?.settings.history.disk = true }
    scene.harness.pass(.zero)
    scene.flush()
    #expect(kept == 1 && scene.store.aside.count == 1)
    #expect(
      scene.reports == [
        .setAside(
          path: "/aside/1-0",
          detail: "events came in before it was read, and have numbers of another epoch")
      ])
    #expect(scene.connection.history.disk == .working && scene.position.sequence == 1)
    // What this daemon has written itself is all in its history.
    scene.harness.reload { $0.upstreams["chat"]?.settings.history.disk = false }
    scene.emit("d")
    scene.harness.reload { $0.upstreams["chat"]?.settings.history.disk = true }
    scene.harness.pass(.zero)
    #expect(scene.store.aside.count == 1 && scene.connection.history.disk == .working)
  }
}
