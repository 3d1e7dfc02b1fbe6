import Testing

@testable import GatewayCore

/// Files that are not what they should be, and disks that do not take what they should.
@Suite struct HistoryDamageTests {
  /// A history with three events in two epochs, and its epochs.
  private func scene() -> (HistoryScene, first: String, second: String) {
    let scene = HistoryScene()
    scene.channel.accept()
    scene.emit("a", "b")
    let first = scene.position.epoch
    scene.flush()
    scene.channel.fail(.closed)
    scene.harness.pass(.seconds(60))
    scene.channel.accept()
    scene.emit("c")
    scene.harness.upstream.connector?.resumption = Resumption(session: "private", offset: "o")
    scene.flush()
    return (scene, first, scene.position.epoch)
  }

  @Test func truncatedAtAnyByteTheDaemonStartsAndNoNumberComesTwice() {
    let (scene, first, second) = scene()
    let whole = scene.store.newest
    for length in 0..<whole.count {
      let store = scene.store.copy()
      store.damage { $0 = Array($0.prefix(length)) }
      let next = HistoryScene(store, seed: 500)
      let (epoch, sequence) = next.position
      // Cut exactly between two frames it looks like the crash of a daemon that had written no more.
      let looksWhole = [first, second].contains(epoch)
      #expect(looksWhole == next.reports.isEmpty, "\(length)")
      if !looksWhole {
        #expect(sequence == 0 || sequence >= HistoryLoader.safetyDistance, "\(length)")
        #expect(store.aside.values.first == Array(whole.prefix(length)), "\(length)")
        #expect(next.harness.upstream.connector?.resumption == nil, "\(length)")
      }
      next.channel.accept()
      next.emit("d")
      #expect(next.subscribe(since: second, 3).last?.hasPrefix("event") == true, "\(length)")
      // The damage is dealt with: the next start finds nothing wrong.
      next.flush()
      #expect(HistoryScene(store.copy(), seed: 600).reports.isEmpty, "\(length)")
    }
  }

  @Test func aFlippedBitAnywhereIsFound() {
    let (scene, first, second) = scene()
    let whole = scene.store.newest
    for place in whole.indices {
      let store = scene.store.copy()
      store.damage { $0[place] ^= 1 << (place % 8) }
      let next = HistoryScene(store, seed: 500)
      #expect(![first, second].contains(next.position.epoch), "\(place)")
      #expect(next.reports.count == 1 && store.aside.count == 1, "\(place)")
    }
  }

  @Test func aLaterVersionIsSetAside() {
    let (scene, _, _) = scene()
    scene.store.damage { $0[7] = 2 }
    scene.crash()
    #expect(
      scene.reports == [
        .setAside(path: "/aside/1-0", detail: "it was written by a later version (format 2)")
      ])
    #expect(scene.position.sequence == 0)
  }

  @Test func zerosBehindTheEndAreDamage() {
    let (scene, _, second) = scene()
    scene.store.damage { $0 += [UInt8](repeating: 0, count: 64) }
    scene.crash()
    #expect(scene.position.epoch != second && scene.reports.count == 1)
    #expect(scene.position.sequence == 3 + HistoryLoader.safetyDistance)
  }

  @Test func aFullDiskStopsNothingAndIsMadeGoodLater() {
    let (scene, _, second) = scene()
    let client = scene.harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    scene.store.problem = StorageProblem(.full, "cannot write: no space left on device")
    scene.emit("d")
    #expect(scene.digest(client.read()) == ["event 4"])
    #expect(scene.reports == [.failing(StorageProblem(.full, "cannot write: no space left on device"))])
    #expect(scene.connection.history.disk == .failing)
    // Were it to die now, no daemon could take the disk's end for the history's.
    let dead = HistoryScene(scene.store.copy(), seed: 700)
    #expect(dead.position.sequence == 3 + HistoryLoader.safetyDistance && dead.position.epoch != second)
    scene.store.problem = nil
    scene.harness.pass(.seconds(31))
    #expect(scene.reports.last == .working && scene.connection.history.disk == .working)
    scene.crash()
    #expect(scene.position == (second, 4))
    #expect(scene.subscribe(since: second, 3) == ["recovered true", "event 4"])
  }

  @Test func aDiskThatTakesNotEvenTheMarkGetsNoNumberOfItsEpochTwice() {
    let (scene, _, second) = scene()
    scene.harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    let problem = StorageProblem(.readOnly, "read-only file system")
    (scene.store.problem, scene.store.markProblem) = (problem, problem)
    scene.emit("d")
    scene.flush()
    let third = scene.position.epoch
    #expect(third != second)
    scene.emit("e")
    scene.flush()
    #expect(scene.position == (third, 5))
    // The next daemon finds a log that looks whole and is not, on a disk that still takes nothing.
    scene.crash()
    scene.flush()
    #expect(![second, third].contains(scene.position.epoch))
    #expect(scene.subscribe(since: second, 3) == ["recovered false", "epoch A after 3"])
    // It is told once, and ends when the disk works.
    let fourth = scene.position.epoch
    scene.harness.pass(.seconds(61))
    scene.flush()
    #expect(scene.position.epoch == fourth)
    (scene.store.problem, scene.store.markProblem) = (nil, nil)
    scene.harness.pass(.seconds(31))
    scene.emit("f")
    scene.flush()
    let last = scene.position
    scene.crash()
    #expect(scene.position == last)
  }

  @Test(arguments: [true, false]) func nothingComesTwiceFromAnEpochThatTheDiskDoesNotKnow(_ takesNothing: Bool) {
    let (scene, _, second) = scene()
    let problem = StorageProblem(.readOnly, "read-only file system")
    (scene.store.problem, scene.store.markProblem) = (problem, problem)
    scene.emit("d")
    scene.flush()
    let third = scene.position.epoch
    scene.emit("e")
    scene.flush()
    #expect(third != second && scene.position == (third, 5))
    // The log looks whole, and a disk that works again is gone on with in the epoch before.
    if !takesNothing { (scene.store.problem, scene.store.markProblem) = (nil, nil) }
    scene.crash()
    scene.flush()
    #expect((scene.position.epoch == second) == !takesNothing)
    #expect(scene.subscribe(since: third, 5) == ["recovered false", "epoch A after 3"])
    #expect(scene.subscribe(since: second, 4) == ["recovered false", "epoch A after 3"])
    scene.channel.accept()
    scene.emit("f", "g", "h")
    scene.flush()
    let new = ["event 4", "event 5", "event 6"]
    #expect(scene.subscribe(since: third, 5).filter { $0.hasPrefix("event") } == new)
    #expect(scene.subscribe(since: third, 2).filter { $0.hasPrefix("event") } == ["event 3"] + new)
  }

  @Test func aHistoryThatCannotBeListedIsLeftAloneAndReadLater() {
    let (scene, first, second) = scene()
    scene.store.listingProblem = StorageProblem(.failed, "too many open files")
    let whole = scene.store.newest
    scene.crash()
    #expect(scene.connection.history.disk == .failing)
    #expect(scene.store.newest == whole)
    #expect(![first, second].contains(scene.position.epoch))
    scene.store.listingProblem = nil
    scene.harness.pass(.seconds(31))
    #expect(scene.connection.history.disk == .working)
    #expect(scene.reports.last == .working)
    #expect(![first, second].contains(scene.position.epoch))
    #expect(scene.subscribe(since: second, 2).prefix(2) == ["recovered false", "event 3"])
    scene.channel.accept()
    scene.emit("d")
    scene.flush()
    scene.crash()
    #expect(scene.position.sequence == 4)
  }

  @Test func aDiskThatFailsAtTheStartLosesNothingOfWhatIsThere() {
    let (scene, _, second) = scene()
    scene.store.problem = StorageProblem(.readOnly, "cannot write")
    scene.crash()
    #expect(scene.subscribe(since: second, 2) == ["recovered true", "event 3"])
    #expect(scene.connection.history.disk == .failing)
    scene.harness.pass(.seconds(61))
    #expect(scene.reports.count == 1)
    scene.store.problem = nil
    scene.harness.pass(.seconds(31))
    #expect(scene.connection.history.disk == .working)
  }

  @Test func aCrashBetweenTheNewAndTheOldFileLosesNothing() {
    let (scene, _, second) = scene()
    let before = scene.store.copy()
    scene.crash()
    let after = scene.store.copy()
    after.add(before)
    scene.store = after
    scene.crash()
    #expect(scene.position == (second, 3) && scene.reports.isEmpty)
    #expect(scene.store.stored.count == 1)
  }

  @Test func withoutAStateFolderTheStatusSaysSo() {
    let harness = GatewayHarness { configuration in
      var settings = UpstreamSettings()
      settings.keep = .always
      settings.history.disk = true
      configuration.upstreams["chat"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
    }
    let status = HarnessClient.values(harness.client().call("status")).first?["result"]
    let history = status?["connections"]?.elements?.first?["history"]
    #expect(history?["disk"] == .string("unavailable") && history?["reason"] == .string("folder"))
  }

  @Test func historiesThatNobodyWantsGoWhenTheyAreOld() {
    let store = FakeHistoryStore()
    func daemon(_ time: FakeTime, disk: Bool) -> GatewayHarness {
      GatewayHarness(histories: .success(store), time: time) { configuration in
        var settings = UpstreamSettings()
        settings.keep = .always
        settings.history.disk = disk
        configuration.upstreams["chat"] = ConfiguredUpstream(
          url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
      }
    }
    let time = FakeTime()
    let first = daemon(time, disk: true)
    first.upstream.channel.accept()
    first.upstream.channel.emit("e")
    first.gateway.commitHistories()
    store.modified = time.wallMilliseconds
    // Younger than its own age limit of ten minutes it is kept, in case the setting comes back.
    time.advance(by: .seconds(500))
    _ = daemon(time, disk: false)
    #expect(store.stored.count == 1)
    time.advance(by: .seconds(200))
    _ = daemon(time, disk: true)
    #expect(store.stored.count == 1)
    let last = daemon(time, disk: false)
    #expect(store.stored.isEmpty)
    _ = last
  }

  @Test func aNamespaceThatBringsNothingGetsNoFileAndAnUnusedOneLosesItsOwnWhenItIsOld() {
    let store = FakeHistoryStore()
    let time = FakeTime()
    func daemon() -> GatewayHarness {
      GatewayHarness(histories: .success(store), time: time) {
        $0.upstreams["chat"]?.settings.history.disk = true
      }
    }
    let first = daemon()
    let client = first.client()
    for number in 1...50 {
      client.call("send", #"{"upstream":"chat","namespace":"/\#(number)","event":"e"}"#)
    }
    first.gateway.commitHistories()
    #expect(store.stored.isEmpty)
    for channel in first.upstream.channels { channel.accept() }
    for channel in first.upstream.channels.suffix(2) { channel.emit("e") }
    first.gateway.commitHistories()
    #expect(store.stored.count == 2)
    // They are closed and released when no program has used them for long enough; what they had stays until it is too old.
    first.pass(.seconds(300))
    #expect(first.gateway.upstreams.pool.count == 0 && store.stored.count == 2)
    store.modified = 0
    let second = daemon()
    #expect(store.stored.isEmpty)
    _ = second
  }
}
