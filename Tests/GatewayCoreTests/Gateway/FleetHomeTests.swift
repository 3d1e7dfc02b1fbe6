import Testing

@testable import GatewayCore

/// A host that keeps its durable sends in the fleet, over its ends in order and its restarts.
@Suite struct FleetHomeTests {
  private let fleet = FleetGateways()

  /// Host `a` has the link and does not reach the server; `b` keeps its sends in the fleet.
  private func begin(withDisk: Bool = true) {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.durable = .fleet
    // The one that holds would give the link to it otherwise.
    fleet.hold = .never
    start(withDisk: withDisk)
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
  }

  private func start(withDisk: Bool = true) {
    fleet.start("b", withDisk: withDisk)
    fleet.turn(by: .seconds(5))
  }

  @discardableResult
  private func send(_ event: String, _ more: String = "") -> JSONValue? {
    guard let client = fleet.hosts["b"]?.client() else { return nil }
    let atOnce = HarnessClient.values(client.call("send", #"{"upstream":"chat","event":"\#(event)"\#(more)}"#))
    fleet.turn(by: .milliseconds(10))
    return (atOnce + client.readValues()).last?["result"]
  }

  /// Ends `b` in order, and returns what its log says of sends.
  private func stop() -> [String] {
    let host = fleet.hosts["b"]
    var isOver = false
    host?.gateway.stop(reason: "test") { isOver = true }
    fleet.turn(by: .seconds(10))
    #expect(isOver)
    let said = (host?.facts ?? []).compactMap { fact -> String? in
      switch fact {
      case .sendsKept(let count): "kept \(count)"
      case .sendFailed(_, _, let outcome): outcome
      default: nil
      }
    }
    fleet.kill("b")
    return said
  }

  /// A send comes to the disk at an end of `b` in order, and Redis, which was slow, has taken it all the same.
  private func stopWhileRedisIsSlow() throws {
    begin()
    fleet.store.stop()
    fleet.turn(by: .seconds(1))
    send("one")
    _ = stop()
    let entry = try #require(fleet.disk("b")?.stored.first)
    fleet.store.set(fleet.place.key(.box(host: "b")), entry.id, FleetBoxRow.waiting(entry.row).bytes)
    fleet.store.start()
  }

  private var onDisk: [String] { fleet.disk("b")?.stored.map(\.message.event) ?? [] }
  private var box: [String] { fleet.rows(.box(host: "b")) }

  // MARK: - An end in order

  @Test func anEndInOrderWhileTheFleetAnswersLeavesWhatWaitsThere() {
    begin()
    send("one")
    #expect(stop() == ["kept 1"])
    #expect(onDisk == [] && box == ["waiting"])
    start()
    fleet.reachServer("a")
    #expect(fleet.written("a") == ["one []"])
  }

  @Test func anEndInOrderWhileTheFleetIsNotReachedBringsWhatWaitsToTheDisk() {
    begin()
    fleet.store.stop()
    fleet.turn(by: .seconds(1))
    send("one")
    send("two", #","delivery":"durable""#)
    #expect(stop() == ["kept 2"])
    #expect(Set(onDisk) == ["one", "two"])
    fleet.store.start()
    start()
    fleet.reachServer("a")
    #expect(fleet.written("a").sorted() == ["one []", "two []"])
    #expect(box == [])
  }

  @Test func anEndInOrderWhileTheFleetIsNotReachedSaysWhatItCouldNotKeepWithoutADisk() {
    begin(withDisk: false)
    fleet.store.stop()
    fleet.turn(by: .seconds(1))
    send("one")
    let said = stop()
    #expect(said.count == 1)
    #expect(said.first?.hasPrefix("not stored: the fleet's Redis has not taken it in time") == true)
  }

  @Test func anEndInOrderDoesNotCountWhatAFullDiskDidNotTakeEither() {
    begin()
    fleet.store.stop()
    fleet.turn(by: .seconds(1))
    send("one")
    fleet.disk("b")?.problem = StorageProblem(.full, "the disk is full")
    #expect(stop() == ["not stored: the disk is full"])
  }

  @Test func whatTheFleetHasOfASendThatCameToTheDiskAtAnEndInOrderIsThatSend() throws {
    try stopWhileRedisIsSlow()
    start()
    fleet.reachServer("a")
    #expect(fleet.written("a") == ["one []"])
    #expect(box == [])
  }

  @Test func whatOthersWroteOfASendThatCameToTheDiskAtAnEndInOrderIsNotWrittenAgain() throws {
    try stopWhileRedisIsSlow()
    fleet.turn(by: .seconds(60))
    fleet.reachServer("a")
    #expect(fleet.written("a") == ["one []"])
    start()
    fleet.turn(by: .seconds(15))
    #expect(fleet.written("a") == ["one []"])
    #expect(fleet.disk("b")?.stored.map { $0.state.rawValue } == ["sent"])
  }

  // MARK: - Keys

  private static let keyed = #","delivery":"durable","key":"order""#

  @Test func theKeyOfASendThatHasItsOutcomeCountsOverARestart() {
    begin()
    send("one", Self.keyed)
    #expect(onDisk == [])
    fleet.reachServer("a")
    #expect(fleet.written("a") == ["one []"])
    fleet.kill("b")
    start()
    #expect(send("one", Self.keyed)?["duplicate"]?.boolValue == true)
    fleet.turn(by: .seconds(15))
    #expect(fleet.written("a") == ["one []"])
    #expect(box == [])
  }

  @Test func aSendWithoutAKeyComesToNoDiskWithItsOutcome() {
    begin()
    send("one", #","delivery":"durable""#)
    fleet.reachServer("a")
    #expect(fleet.written("a") == ["one []"])
    #expect(fleet.disk("b")?.written == 0)
  }

  @Test func aSendWithAKeyThatIsSentAgainIsNotLostWithADaemonThatDiesBeforeTheDiskKnows() {
    begin()
    send("one", Self.keyed)
    fleet.hosts["b"]?.client().call("outbox.cancel", #"{"upstream":"chat"}"#)
    fleet.turn(by: .milliseconds(10))
    #expect(fleet.disk("b")?.stored.map { $0.state.rawValue } == ["cancelled"])
    fleet.disk("b")?.problem = StorageProblem(.full, "the disk is full")
    fleet.hosts["b"]?.client().call("outbox.retry", #"{"upstream":"chat"}"#)
    fleet.turn(by: .seconds(1))
    #expect(box == ["waiting"] && fleet.disk("b")?.stored.count == 1)
    fleet.kill("b")
    fleet.disk("b")?.problem = nil
    start()
    fleet.reachServer("a")
    #expect(fleet.written("a") == ["one []"])
    #expect(box == [])
  }
}
