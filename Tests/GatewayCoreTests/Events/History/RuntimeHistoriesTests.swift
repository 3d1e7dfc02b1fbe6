import Testing

@testable import GatewayCore

/// Without `history.disk` histories are kept where the service manager gives a folder that outlives the daemon.
@Suite struct RuntimeHistoriesTests {
  private static func daemon(
    _ runtime: FakeHistoryStore?, state: FakeHistoryStore = FakeHistoryStore(), time: FakeTime, seed: UInt64 = 1,
    _ change: @escaping (inout UpstreamSettings) -> Void = { _ in }
  ) -> GatewayHarness {
    GatewayHarness(
      histories: .success(state), runtimeHistories: runtime.map { .success($0) }, time: time, seed: seed
    ) {
      var settings = UpstreamSettings()
      settings.keep = .always
      change(&settings)
      $0.upstreams["chat"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
    }
  }

  private static func receive(_ names: String..., by harness: GatewayHarness) {
    harness.upstream.channel.accept()
    for name in names { harness.upstream.channel.emit(name) }
    harness.gateway.commitHistories()
  }

  private static func connection(_ harness: GatewayHarness) -> Connection { harness.gateway.upstreams.pool.all[0] }

  @Test func aSubscriberGoesOnAfterACrashWithoutHistoryDisk() {
    let (store, state, time) = (FakeHistoryStore(), FakeHistoryStore(), FakeTime())
    let first = Self.daemon(store, state: state, time: time)
    Self.receive("a", "b", by: first)
    let epoch = Self.connection(first).stream.epoch
    #expect(Self.connection(first).history.runtime == .working && Self.connection(first).history.disk == .off)
    let second = Self.daemon(store, state: state, time: time, seed: 2)
    let client = second.client()
    let lines = client.call("subscribe", #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":1}}"#)
    let events = HarnessClient.values(lines).compactMap { $0["params"]?["seq"]?.integerValue }
    #expect(events == [2])
    #expect(state.stored.isEmpty)
  }

  @Test func historyDiskDecidesWhereItIsKept() {
    let (store, state, time) = (FakeHistoryStore(), FakeHistoryStore(), FakeTime())
    let on = Self.daemon(store, state: state, time: time) { $0.history.disk = true }
    Self.receive("a", by: on)
    #expect(store.stored.isEmpty && state.stored.count == 1)
    let off = Self.daemon(store, state: FakeHistoryStore(), time: time, seed: 2) { $0.history.disk = false }
    Self.receive("a", by: off)
    #expect(store.stored.isEmpty && Self.connection(off).history.runtime == .off)
    let without = Self.daemon(store, time: time, seed: 3) { $0.history.events = 0 }
    Self.receive("a", by: without)
    #expect(store.stored.isEmpty)
  }

  @Test func whatTheConfigurationWantsNowhereAnyMoreIsNotLeftBehindByARestart() {
    let (store, time) = (FakeHistoryStore(), FakeTime())
    let first = Self.daemon(store, time: time)
    Self.receive("a", by: first)
    #expect(store.stored.count == 1)
    let same = Self.daemon(store, time: time, seed: 2)
    #expect(store.stored.count == 1 && Self.connection(same).history.runtime == .working)
    _ = Self.daemon(store, time: time, seed: 3) { $0.history.disk = false }
    #expect(store.stored.isEmpty)
  }

  @Test func aHistoryThatMovesToTheDiskLeavesNothingBehind() {
    let (store, state, time) = (FakeHistoryStore(), FakeHistoryStore(), FakeTime())
    let harness = Self.daemon(store, state: state, time: time)
    Self.receive("a", by: harness)
    #expect(store.stored.count == 1)
    harness.reload { $0.upstreams["chat"]?.settings.history.disk = true }
    harness.pass(.zero)
    #expect(store.stored.isEmpty && state.stored.count == 1)
    #expect(Self.connection(harness).history.disk == .working)
  }

  @Test func filesOfOneUsersNamespacesLeaveRoomForAnothers() {
    let share = 64 << 10
    let (store, time) = (FakeHistoryStore(), FakeTime())
    let harness = GatewayHarness(runtimeHistories: .success(store), time: time) {
      $0.limits.historyBytes = share
      $0.upstreams["chat"]?.settings.history.age = .seconds(3_600)
    }
    let text = "\"" + String(repeating: "x", count: 1_000) + "\""
    func fill(_ namespaces: ClosedRange<Int>, of user: UInt32) {
      let client = harness.client(uid: user)
      for number in namespaces {
        client.call("subscribe", #"{"upstream":"chat","namespace":"/\#(user)-\#(number)"}"#)
        harness.upstream.channel.accept()
        for _ in 1...30 {
          harness.upstream.channel.emit("e", text)
          harness.gateway.commitHistories()
        }
        client.read()
      }
    }
    fill(1...6, of: 1)
    #expect(store.byteCount <= share && store.byteCount > share / 2)
    let histories = harness.gateway.upstreams.pool.all.map(\.history)
    #expect(histories.contains { $0.runtime == .failing && $0.problem == .noHistoryMemory })
    let first = store.byteCount
    fill(1...1, of: 2)
    #expect(store.byteCount - first > 30_000)
    // What was failing goes on as soon as others have gone.
    for client in harness.gateway.clients.all where client.peer.uid == 1 { client.leave {} }
    harness.pass(.seconds(600))
    #expect(store.byteCount < 40_000)
    fill(7...7, of: 1)
    #expect(harness.gateway.upstreams.pool.all.allSatisfy { $0.history.runtime == .working })
  }

  @Test func aConnectionThatIsLetGoTakesItsHistoryAlong() {
    let (store, time) = (FakeHistoryStore(), FakeTime())
    let harness = Self.daemon(store, time: time) { $0.keep = .onDemand }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    Self.receive("a", by: harness)
    #expect(store.stored.count == 1)
    client.disconnect()
    harness.pass(.seconds(600))
    #expect(harness.gateway.upstreams.pool.count == 0 && store.stored.isEmpty)
  }

  @Test func whatAnEarlierDaemonLeftGoesWhenItIsTooOld() {
    let (store, time) = (FakeHistoryStore(), FakeTime())
    Self.receive("a", by: Self.daemon(store, time: time))
    let second = Self.daemon(store, time: time, seed: 2) { $0.keep = .onDemand }
    #expect(store.stored.count == 1, "a program may come back for it")
    second.pass(.seconds(7_200))
    #expect(store.stored.isEmpty)
  }

  @Test func aFolderThatCannotBeUsedIsTold() {
    let harness = GatewayHarness(
      runtimeHistories: .failure(StorageProblem(.folder, "no room")),
      { $0.upstreams["chat"]?.settings.keep = .always })
    Self.receive("a", by: harness)
    let history = Self.connection(harness).history
    #expect(history.runtime == .unavailable && history.problem?.message == "no room")
  }
}
