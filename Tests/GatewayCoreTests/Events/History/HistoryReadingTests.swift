import Testing

@testable import GatewayCore

/// A long history is read beside the loop, and what is long is written in portions.
@Suite struct HistoryReadingTests {
  /// A daemon that died with half a megabyte of history, and the next one, which is reading it.
  private func reading() -> (scene: HistoryScene, epoch: String) {
    let scene = HistoryScene()
    scene.channel.accept()
    let large = "\"" + String(repeating: "x", count: 5_000) + "\""
    for _ in 1...100 { scene.channel.emit("e", large) }
    scene.flush()
    let epoch = scene.position.epoch
    _ = scene.name(epoch)
    scene.store.holdsWork = true
    scene.crash()
    return (scene, epoch)
  }

  private func subscription(_ epoch: String, _ sequence: Int) -> String {
    #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":\#(sequence)}}"#
  }

  @Test func aLongHistoryIsReadBesideTheLoopAndUntilThenNothingIsDialledAndWhoAsksForThePastWaits() {
    let (scene, epoch) = reading()
    let client = scene.harness.client()
    #expect(client.call("subscribe", subscription(epoch, 98)).isEmpty)
    #expect(client.call("history", #"{"upstream":"chat","limit":2}"#, id: 2).isEmpty)
    let other = HarnessClient.values(scene.harness.client().call("status"))[0]["result"]?["connections"]?.elements?
      .first
    #expect(other?["history"]?["disk"] == .string("reading") && other?["rule"] == .string("history"))
    scene.harness.pass(.seconds(60))
    #expect(scene.harness.upstream.channels.isEmpty)
    scene.store.doWork()
    scene.harness.pass(.zero)
    let lines = client.read()
    #expect(scene.digest(Array(lines.prefix(3))) == ["recovered true", "event 99", "event 100"])
    #expect(HarnessClient.values(lines).last?["result"]?["events"]?.elements?.count == 2)
    #expect(scene.harness.upstream.channels.count == 1 && scene.connection.history.disk == .working)
    #expect(scene.position == (epoch, 100) && scene.reports.isEmpty && scene.store.stored.count == 1)
  }

  @Test func whoAsksForTheFutureAloneIsNotToldOfAnEpochThatIsNotThere() {
    let (scene, epoch) = reading()
    let client = scene.harness.client()
    #expect(client.call("subscribe", #"{"upstream":"chat"}"#).isEmpty)
    scene.store.doWork()
    scene.harness.pass(.zero)
    scene.channel.accept()
    let told = client.readValues()
    #expect(told.count == 1 && told[0]["result"]?["seq"]?.integerValue == 100)
    #expect(told[0]["result"]?["epoch"]?.stringValue != epoch)
  }

  @Test func whoeverWaitsMayLeaveAndTheOthersAreAnswered() {
    let (scene, epoch) = reading()
    let (leaving, staying) = (scene.harness.client(), scene.harness.client())
    leaving.call("subscribe", subscription(epoch, 0))
    leaving.call("history", #"{"upstream":"chat"}"#, id: 2)
    leaving.disconnect()
    staying.call("subscribe", subscription(epoch, 99))
    #expect(scene.connection.leaseCount == 1)
    scene.store.doWork()
    scene.harness.pass(.zero)
    #expect(scene.digest(staying.read()) == ["recovered true", "event 100"])
  }

  @Test func aStopWhileItIsReadChangesNothingOnTheDiskAndTellsNobodyOfHalfAPast() {
    let (scene, epoch) = reading()
    let client = scene.harness.client()
    client.call("subscribe", subscription(epoch, 0))
    let before = scene.store.newest
    scene.harness.gateway.stop(reason: "test") {}
    scene.harness.pass(.seconds(30))
    #expect(HarnessClient.values(client.read()).first?["error"]?["message"]?.stringValue?.isEmpty == false)
    while scene.store.doWork() {}
    #expect(scene.store.newest == before && scene.store.stored.count == 1)
    scene.store.holdsWork = false
    scene.crash()
    #expect(scene.position == (epoch, 100) && scene.reports.isEmpty)
  }

  @Test func aReloadThatSwitchesTheDiskOffLetsTheOthersGoOnAndOneThatSwitchesItOnReadsAgain() {
    let (scene, epoch) = reading()
    let client = scene.harness.client()
    client.call("subscribe", subscription(epoch, 99))
    scene.harness.reload { $0.upstreams["chat"]?.settings.history.disk = false }
    scene.harness.pass(.zero)
    #expect(scene.digest(client.read()).first == "recovered false")
    #expect(scene.connection.history.disk == .off && scene.harness.upstream.channels.count == 1)
    scene.harness.reload { $0.upstreams["chat"]?.settings.history.disk = true }
    #expect(scene.connection.history.disk == .reading)
    // The reading that was given up, its end, and the new one.
    scene.store.doWork()
    #expect(scene.connection.history.disk == .reading && scene.store.stored.count == 1)
    while scene.store.doWork() {}
    scene.harness.pass(.seconds(1))
    #expect(scene.position == (epoch, 100) && scene.connection.history.disk == .working)
    #expect(scene.harness.upstream.channels.count == 2)
  }

  @Test func anUpstreamThatLeavesTheConfigurationMeanwhileLeavesItsFileAsItIs() {
    let (scene, epoch) = reading()
    let before = scene.store.newest
    scene.harness.reload { $0.upstreams["chat"] = nil }
    scene.harness.pass(.seconds(1))
    while scene.store.doWork() {}
    scene.harness.pass(.seconds(3_600))
    #expect(scene.harness.gateway.upstreams.pool.all.isEmpty && scene.store.stored.count == 1)
    #expect(scene.harness.upstream.channels.isEmpty && scene.store.newest.count >= before.count)
    scene.store.holdsWork = false
    scene.crash()
    #expect(scene.position == (epoch, 100) && scene.reports.isEmpty)
  }

  @Test func anAdministratorsOrdersWaitForThePastToo() {
    let (scene, _) = reading()
    let administrator = scene.harness.client(uid: 0)
    scene.harness.reload { $0.upstreams["chat"]?.settings.linger = .seconds(7) }
    #expect(scene.connection.state == .disconnected && scene.connection.history.disk == .reading)
    #expect(administrator.call("reconnect", #"{"upstream":"chat"}"#)[0].contains("disconnected"))
    #expect(administrator.call("release", #"{"upstream":"chat"}"#)[0].contains("error"))
    #expect(scene.harness.upstream.channels.isEmpty)
    scene.store.doWork()
    scene.harness.pass(.zero)
    #expect(scene.harness.upstream.channels.count == 1)
  }

  @Test func whatIsDamagedIsSetAsideBesideTheNewFile() {
    let (scene, epoch) = reading()
    scene.store.damage { $0.removeLast(3) }
    scene.store.doWork()
    scene.harness.pass(.zero)
    #expect(scene.position.epoch != epoch && scene.store.aside.count == 1 && scene.store.stored.count == 1)
    let last = scene.position
    scene.store.holdsWork = false
    scene.crash()
    #expect(scene.position == last)
  }

  @Test func noMoreIsReadThanThereIsMemoryFor() {
    let (scene, epoch) = reading()
    // It is read again, when the limit is known.
    scene.harness.reload {
      $0.upstreams["chat"]?.settings.history.disk = false
      $0.limits.historyBytes = 400_000
    }
    scene.harness.reload { $0.upstreams["chat"]?.settings.history.disk = true }
    while scene.store.doWork() {}
    scene.harness.pass(.zero)
    let history = scene.connection.stream.history
    #expect(history.byteCount <= 400_000 && history.count > 10 && scene.position == (epoch, 100))
    #expect(scene.harness.gateway.seams.memory.history.used <= 400_000)
  }

  @Test func aDiskThatWorksAgainIsGivenALongHistoryInPortionsWhileEventsComeIn() {
    let (scene, _) = reading()
    while scene.store.doWork() {}
    scene.harness.pass(.zero)
    scene.channel.accept()
    let epoch = scene.position.epoch
    scene.store.problem = StorageProblem(.full, "cannot write: no space left on device")
    scene.emit("a")
    scene.flush()
    scene.store.problem = nil
    scene.store.largestWrite = 0
    // Up to the tick that tries again, and no further.
    while scene.store.isMaking == false, let next = scene.harness.timers.nextDeadline {
      scene.harness.time.advance(by: max(.zero, next - scene.harness.time.now))
      scene.harness.timers.fire()
    }
    #expect(scene.connection.history.disk == .failing && scene.store.largestWrite < 300_000)
    scene.emit("b")
    scene.flush()
    scene.harness.pass(.zero)
    #expect(scene.connection.history.disk == .working && scene.store.stored.count == 1)
    scene.emit("c")
    scene.flush()
    scene.crash()
    scene.store.doWork()
    scene.harness.pass(.zero)
    #expect(scene.position == (epoch, 103))
    #expect(scene.subscribe(since: epoch, 100) == ["recovered true", "event 101", "event 102", "event 103"])
  }

  @Test func whatExpiresWhileItIsWrittenInPortionsIsSkipped() throws {
    let store = FakeHistoryStore()
    var settings = HistorySettings()
    (settings.events, settings.bytes) = (1_000, 1 << 30)
    var history = EventHistory(settings, epoch: "e1")
    let now = MonotonicInstant(nanoseconds: 0)
    func add(_ count: Int) {
      for _ in 0..<count {
        let text =
          #""seq":\#(history.sequence + 1),"time":1,"event":"e","args":["\#(String(repeating: "x", count: 999))"]}}"#
        history.append(.event(Array((text + "\n").utf8)), at: now)
      }
    }
    add(600)
    history.begin(epoch: "e2")
    history.begin(epoch: "e3", skipping: 7)
    add(300)
    let identity = HistoryLog.Identity(name: "n", upstream: "u", namespace: "/", target: 1)
    let header = HistoryHeader(identity, settings, boot: store.boot, isComplete: true)
    var fresh = try FreshSegment(.init(name: "n", number: 1), header, in: store, now: now, wall: 1_000)
    #expect(try fresh.write(history, upTo: 100_000) == false)
    add(600)
    history.begin(epoch: "e4")
    var portions = 1
    while try fresh.write(history, upTo: 100_000) == false { portions += 1 }
    try fresh.finish(nil, target: 1)
    try fresh.file.publish()
    #expect(portions > 2 && store.largestWrite < 400_000)
    var loader = HistoryLoader(settings, boot: store.boot, now: now, wall: 1_000, checksum: store.checksum)
    for segment in try store.segments(of: "n") { try loader.load(segment, store.content(of: segment)) }
    loader.finish(freshEpoch: "no")
    let found = try #require(loader.history)
    #expect(loader.findings.isEmpty && found.sequence == history.sequence && found.count == history.count)
    #expect(found.oldest == history.oldest && found.current.epoch == "e4")
    #expect(found.content(at: found.oldestPlace) == history.content(at: history.oldestPlace))
  }

  @Test func anEpochThatComesBackIsDamageAndWhatIsBeforeItStays() throws {
    let store = FakeHistoryStore()
    let identity = HistoryLog.Identity(name: "n", upstream: "u", namespace: "/", target: 1)
    let settings = HistorySettings()
    var frame = HistoryWriter()
    frame.write(.header(HistoryHeader(identity, settings, boot: store.boot, isComplete: true)))
    for (epoch, start) in [("e0", 5), ("e1", 6), ("e0", 9)] as [(String, UInt64)] {
      frame.write(.epoch(epoch, start: start))
      frame.write(
        .event(arrival: 900, tail: Array(#""seq":\#(start + 1),"time":1,"event":"e","args":[]}}"#.utf8) + [10]))
    }
    frame.close(store.checksum)
    let segment = HistorySegment(id: .init(name: "n", number: 1), isCut: false, size: frame.bytes.count)
    var loader = HistoryLoader(
      settings, boot: store.boot, now: MonotonicInstant(nanoseconds: 0), wall: 1_000, checksum: store.checksum)
    loader.load(segment, .success(HistoryWriter.prefix + frame.bytes))
    loader.finish(freshEpoch: "fresh")
    #expect(loader.findings.map(\.segment) == [segment.id])
    #expect(loader.history?.spans.map(\.epoch) == ["e0", "e1", "fresh"])
    #expect(loader.history?.count == 2)
  }
}
