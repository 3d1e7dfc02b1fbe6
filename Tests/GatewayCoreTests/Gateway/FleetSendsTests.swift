import Testing

@testable import GatewayCore

/// Durable sends of a fleet's upstream, from the program to the server, over the death of their host.
@Suite struct FleetSendsTests {
  private let fleet = FleetGateways()

  /// Two hosts, of which `a` holds and is connected.
  private func begin() {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.start("b")
    fleet.turn(by: .seconds(1))
  }

  private func send(_ host: String, _ event: String, _ more: String = "", uid: UInt32 = 1_000) -> HarnessClient? {
    let client = fleet.hosts[host]?.client(uid: uid)
    client?.call("send", #"{"upstream":"chat","event":"\#(event)","delivery":"durable"\#(more)}"#)
    fleet.turn(by: .milliseconds(10))
    return client
  }

  /// Of each send that is listed: event, state, reason, and whose it is.
  private func listed(_ host: String, uid: UInt32 = 1_000) -> [String] {
    let lines = fleet.hosts[host]?.client(uid: uid).call("outbox.list") ?? []
    let entries = HarnessClient.values(lines).last?["result"]?["entries"]?.elements ?? []
    return entries.map { entry in
      ["event", "state", "reason", "host"].compactMap { entry[$0]?.stringValue }.joined(separator: " ")
    }
  }

  /// The server is not reached by `a`, which holds; then `b` dies with sends that it has accepted.
  private func leaveSends(_ more: String = "") {
    begin()
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
    _ = send("b", "one", more)
    _ = send("b", "two", more)
    fleet.kill("b")
  }

  /// The server takes the next attempt of a host.
  private func acceptNext(_ host: String) {
    for _ in 1...60 {
      guard let channel = fleet.hosts[host]?.upstream.channels.last, channel.isClosed || channel.isFailed else { break }
      fleet.turn(by: .seconds(1))
    }
    fleet.accept(host)
  }

  @Test func othersAreHeardWhileManyAdoptedSendsAreListed() {
    let count = 600
    for number in 1...count {
      var fields = FleetFields()
      fields.add("i", UInt64(number))
      PreparedMessage(event: "e", body: Array("[]".utf8)).add(to: &fields)
      fleet.store.set(fleet.place.key(.adopted), "b/x-\(number)", FleetBoxRow.waiting(fields).bytes)
    }
    let host = fleet.start("a")
    fleet.turn(by: .seconds(5))
    let (lister, other) = (host.client(uid: 0), host.client())
    #expect(lister.call("outbox.list").isEmpty)
    var (turns, answer) = (0, [String]())
    while answer.isEmpty, turns < 100 {
      #expect(other.call("ping").count == 1)
      host.timers.fire()
      turns += 1
      answer = lister.read()
    }
    #expect(turns > 2)
    let result = HarnessClient.values(answer).first?["result"]
    #expect((result?["entries"]?.elements ?? []).map { $0["id"]?.stringValue } == (1...count).map { "x-\($0)" })
    #expect(result?["more"]?.boolValue == false)
  }

  @Test func aDurableSendIsCopiedAndItsCopyGoesWithItsOutcome() {
    begin()
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
    let client = send("b", "one")
    #expect(client?.read().first?.contains("\"state\":\"durable\"") == true)
    #expect(fleet.rows(.box(host: "b")) == ["waiting"])
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.turn(by: .seconds(2))
    #expect(fleet.written("a") == ["one []"])
    #expect(listed("b") == ["one sent"])
    #expect(fleet.rows(.box(host: "b")) == [])
  }

  @Test func sendsOfAHostThatDiedAreWrittenOnceByTheOneThatHolds() {
    leaveSends()
    fleet.turn(by: .seconds(45))
    #expect(fleet.rows(.adopted) == ["waiting", "waiting"])
    #expect(listed("a", uid: 0) == ["one queued adopted b", "two queued adopted b"])
    #expect(listed("a") == [])
    fleet.accept("a")
    #expect(fleet.written("a") == ["one []", "two []"])
    #expect(fleet.rows(.adopted) == [] && fleet.rows(.box(host: "b")) == ["finished", "finished"])
    #expect(listed("a", uid: 0) == [])
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    #expect(listed("b") == ["one sent", "two sent"])
    #expect(fleet.rows(.box(host: "b")) == [])
    #expect(fleet.written("a") == ["one []", "two []"])
  }

  @Test func sendsThatTheFleetHasUnderTwoNamesOfAHostThatDiedAreWrittenOnce() {
    for name in ["b/x-1", "b/x-2", "b-y/x-1", "b-y/x-2"] {
      var fields = FleetFields()
      fields.add("i", name.hasSuffix("1") ? 1 : 2)
      PreparedMessage(event: "e", body: Array("[]".utf8)).add(to: &fields)
      fleet.store.set(fleet.place.key(.adopted), name, FleetBoxRow.waiting(fields).bytes)
    }
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    #expect(fleet.written("a").count == 2)
    #expect(fleet.rows(.adopted) == [])
    #expect(fleet.rows(.box(host: "b")) == ["finished", "finished"])
    #expect(fleet.rows(.box(host: "b-y")) == ["finished", "finished"])
  }

  @Test func aHostThatComesBackBeforeItsSendsAreWrittenLeavesThemToTheOther() {
    leaveSends()
    fleet.turn(by: .seconds(45))
    // The one that holds would give the link to it otherwise.
    fleet.hold = .never
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    #expect(listed("b") == ["one queued adopted", "two queued adopted"])
    _ = send("b", "three")
    let client = fleet.hosts["b"]?.client()
    client?.call("outbox.cancel", #"{"upstream":"chat"}"#)
    fleet.turn(by: .milliseconds(10))
    #expect(client?.readValues().last?["result"]?["count"]?.integerValue == 1)
    _ = send("b", "four")
    fleet.accept("a")
    fleet.turn(by: .seconds(15))
    #expect(fleet.written("a") == ["one []", "two []", "four []"])
    #expect(listed("b") == ["one sent", "two sent", "three cancelled", "four sent"])
  }

  @Test func whatTheFleetHasLostItsHostSendsItself() {
    leaveSends()
    fleet.turn(by: .seconds(45))
    fleet.start("b")
    fleet.turn(by: .seconds(1))
    fleet.store.flush()
    fleet.turn(by: .seconds(30))
    fleet.accept("a")
    fleet.accept("b")
    fleet.turn(by: .seconds(15))
    #expect(fleet.written("a") + fleet.written("b") == ["one []", "two []"])
    #expect(listed("b") == ["one sent", "two sent"])
  }

  @Test func sendsThatWereTakenBackOrHaveExpiredLeaveTheirCopies() {
    begin()
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
    _ = send("b", "one", #","ttl":5000"#)
    _ = send("b", "two")
    #expect(fleet.rows(.box(host: "b")) == ["waiting", "waiting"])
    fleet.hosts["b"]?.client().call("outbox.cancel", #"{"upstream":"chat"}"#)
    _ = send("b", "three", #","ttl":5000"#)
    fleet.turn(by: .seconds(6))
    #expect(listed("b") == ["one cancelled", "two cancelled", "three expired"])
    #expect(fleet.rows(.box(host: "b")) == [])
  }

  @Test func whatExpiresAfterItsHostHasDiedIsNotWritten() {
    leaveSends(#","ttl":20000"#)
    fleet.turn(by: .seconds(45))
    fleet.accept("a")
    #expect(fleet.written("a") == [])
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    #expect(listed("b") == ["one expired", "two expired"])
  }

  @Test func aSendThatWantsAnAcknowledgementIsTriedAsOftenAsItsHostWould() {
    leaveSends(#","retries":1,"ack_timeout":1000"#)
    fleet.turn(by: .seconds(45))
    fleet.accept("a")
    let channel = fleet.hosts["a"]?.upstream.channel
    let first = FleetTap.firstNumber + 1
    channel?.acknowledge(first, #""yes""#)
    fleet.turn(by: .milliseconds(1_500))
    #expect(channel?.written.map { $0.split(separator: "#")[0] } == ["one []", "two []", "two []"])
    fleet.turn(by: .seconds(2))
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    #expect(listed("b") == ["one acked", "two lost ack_timeout"])
  }

  @Test func sendsAreFoundInTheFleetWhereTheirDiskIsLost() {
    leaveSends()
    fleet.loseDisk("b")
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    #expect(listed("b").count == 2)
    fleet.accept("a")
    fleet.turn(by: .seconds(15))
    #expect(fleet.written("a") == ["one []", "two []"])
    #expect(fleet.rows(.box(host: "b")) == [])
  }

  /// Why the log says that a host cannot keep what the fleet has of it.
  private func unkept(_ host: String) -> [String] {
    (fleet.hosts[host]?.facts ?? []).compactMap { fact -> String? in
      if case .fleet(.unkept(_, _, let detail)) = fact { detail } else { nil }
    }
  }

  @Test func aHostThatComesBackWithoutAnOutboxLosesNoSends() {
    leaveSends()
    // The one that holds would give the link to it otherwise.
    fleet.hold = .never
    fleet.start("b", withDisk: false)
    fleet.turn(by: .seconds(25))
    #expect(fleet.rows(.box(host: "b")) == ["waiting", "waiting"])
    #expect(unkept("b") == [StorageProblem.none.message])
    fleet.kill("b")
    fleet.turn(by: .seconds(45))
    acceptNext("a")
    #expect(fleet.written("a") == ["one []", "two []"])
  }

  @Test func whatAFullDiskDidNotTakeFromTheFleetIsTakenWhenItHasRoom() {
    leaveSends()
    fleet.loseDisk("b", StorageProblem(.full, "the disk is full"))
    fleet.hold = .never
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    #expect(listed("b") == [])
    #expect(fleet.rows(.box(host: "b")) == ["waiting", "waiting"])
    #expect(unkept("b") == ["the disk is full"])
    fleet.disk("b")?.problem = nil
    fleet.turn(by: .seconds(25))
    #expect(listed("b").count == 2)
    acceptNext("a")
    fleet.turn(by: .seconds(15))
    #expect(fleet.written("a") == ["one []", "two []"])
    #expect(fleet.rows(.box(host: "b")) == [])
  }

  private static let noSending = [RightsOverTimeTests.rule(1_000, "chat", [.status])]

  @Test func whatAnotherHostHasWrittenIsToldThoughItsUserHasLostTheRightToSend() {
    leaveSends()
    fleet.turn(by: .seconds(45))
    fleet.accept("a")
    fleet.access = Self.noSending
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    #expect(listed("b") == ["one sent", "two sent"])
    #expect(fleet.rows(.box(host: "b")) == [])
    fleet.hosts["b"]?.reload { $0.access = [] }
    fleet.turn(by: .seconds(15))
    #expect(fleet.written("a") == ["one []", "two []"])
  }

  @Test func whatAnotherHostWritesLaterIsToldThoughItsUserHasLostTheRightToSend() {
    leaveSends()
    fleet.turn(by: .seconds(45))
    fleet.access = Self.noSending
    // The one that holds would give the link to it otherwise.
    fleet.hold = .never
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    #expect(listed("b") == ["one queued adopted", "two queued adopted"])
    fleet.accept("a")
    fleet.turn(by: .seconds(15))
    #expect(fleet.written("a") == ["one []", "two []"])
    #expect(listed("b") == ["one sent", "two sent"])
  }

  @Test func noOtherHostWritesWhatItsUserMayNotSendAnyMore() {
    begin()
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
    _ = send("b", "one")
    fleet.hosts["b"]?.reload { $0.access = Self.noSending }
    fleet.turn(by: .seconds(1))
    #expect(listed("b") == ["one queued permission"])
    #expect(fleet.rows(.box(host: "b")) == [])
    fleet.hosts["b"]?.reload { $0.access = [] }
    fleet.turn(by: .seconds(1))
    #expect(fleet.rows(.box(host: "b")) == ["waiting"])
  }

  @Test func anUpstreamThatLeavesTheFleetLeavesNoCopies() {
    begin()
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
    _ = send("b", "one")
    fleet.hosts["b"]?.reload { $0.upstreams["chat"]?.settings.fleet = false }
    fleet.turn(by: .seconds(1))
    #expect(fleet.rows(.box(host: "b")) == [])
    fleet.accept("b")
    #expect(fleet.written("b") == ["one []"])
  }

  @Test func manySendsThatWaitWhenTheirUpstreamComesIntoTheFleetAreCopiedInPortions() throws {
    begin()
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    let host = try #require(fleet.hosts["b"])
    host.reload { $0.upstreams["chat"]?.settings.fleet = false }
    fleet.turn(by: .seconds(1))
    let client = host.client()
    let count = OutboxRelay.copiedAtOnce * 2 + 1
    for number in 1...count {
      client.call("send", #"{"upstream":"chat","event":"e","delivery":"durable"}"#, id: number)
      if number.isMultiple(of: 100) { fleet.turn(by: .milliseconds(10)) }
    }
    fleet.turn(by: .milliseconds(10))
    let numbers = host.gateway.relay.outbox.unfinished.map(\.entry.number)
    #expect(numbers.count == count)
    host.reload { $0.upstreams["chat"]?.settings.fleet = true }
    let box = try #require(host.gateway.upstreams.fleet?.link(of: fleet.place)?.box)
    func copied() -> Int { numbers.count { box.name(of: $0) != nil } }
    var portions: [Int] = []
    for _ in 0..<100 where copied() < count {
      let before = copied()
      host.timers.fire()
      if copied() > before { portions.append(copied() - before) }
    }
    #expect(portions == [OutboxRelay.copiedAtOnce, OutboxRelay.copiedAtOnce, 1])
    fleet.turn(by: .seconds(2))
    #expect(fleet.rows(.box(host: "b")).count == count)
  }

  @Test func aSendOfAnUpstreamThatLeavesTheFleetWhileThatIsNotReachedIsWrittenOnce() {
    begin()
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
    _ = send("b", "one")
    fleet.store.stop()
    fleet.turn(by: .seconds(1))
    fleet.hosts["b"]?.reload { $0.upstreams["chat"]?.settings.fleet = false }
    fleet.turn(by: .seconds(1))
    fleet.accept("b")
    #expect(fleet.written("b") == ["one []"])
    #expect(fleet.rows(.box(host: "b")) == ["waiting"])
    fleet.store.start()
    fleet.turn(by: .seconds(60))
    fleet.accept("a")
    fleet.turn(by: .seconds(15))
    #expect(fleet.rows(.box(host: "b")) + fleet.rows(.adopted) == [])
    #expect(fleet.written("a") == [])
  }

  // MARK: - Without a disk

  /// As `begin`, with a host `b` that has no disk.
  private func beginWithoutDisk() {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.durable = .fleet
    fleet.start("b", withDisk: false)
    fleet.turn(by: .seconds(1))
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
  }

  @Test func withoutADiskASendIsAnsweredWhenTheFleetHasIt() {
    beginWithoutDisk()
    let client = send("b", "one")
    #expect(client?.read().first?.contains("\"state\":\"durable\"") == true)
    #expect(fleet.rows(.box(host: "b")) == ["waiting"])
    #expect(fleet.disk("b")?.stored == [])
    fleet.accept("a")
    fleet.turn(by: .seconds(15))
    #expect(listed("b") == ["one sent"])
    #expect(fleet.rows(.box(host: "b")) == [])
  }

  @Test func aHostWithoutADiskFindsItsSendsInTheFleet() {
    beginWithoutDisk()
    _ = send("b", "one")
    _ = send("b", "two")
    fleet.kill("b")
    fleet.start("b", withDisk: false)
    _ = send("b", "three")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.turn(by: .seconds(15))
    #expect(Set(fleet.written("a")) == ["one []", "two []", "three []"])
    #expect(fleet.written("a").count == 3)
    #expect(Set(listed("b")) == ["one sent", "two sent", "three sent"])
    #expect(fleet.rows(.box(host: "b")) == [])
  }

  @Test func aHostWithoutADiskThatComesBackWhileRedisIsFullLosesNoSends() {
    beginWithoutDisk()
    _ = send("b", "one")
    fleet.kill("b")
    fleet.store.isBoxFull = true
    fleet.start("b", withDisk: false)
    fleet.turn(by: .seconds(5))
    #expect(fleet.rows(.box(host: "b")) == ["waiting"])
    #expect(listed("b").count == 1)
    fleet.accept("a")
    fleet.turn(by: .seconds(15))
    #expect(fleet.written("a") == ["one []"])
    #expect(fleet.rows(.box(host: "b")) == [])
  }

  /// A host `b` that keeps its sends in the fleet has one there, and shares the upstream no longer, without reaching the server.
  private func leaveWithASendInTheFleet(withDisk: Bool, _ problem: StorageProblem? = nil) {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.durable = .fleet
    fleet.start("b", withDisk: withDisk)
    fleet.turn(by: .seconds(1))
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
    _ = send("b", "one")
    #expect(fleet.rows(.box(host: "b")) == ["waiting"])
    #expect(fleet.disk("b")?.stored == [])
    fleet.disk("b")?.problem = problem
    fleet.hosts["b"]?.reload { $0.upstreams["chat"]?.settings.fleet = false }
    fleet.turn(by: .seconds(3))
  }

  @Test func aSendOfAnUpstreamThatLeavesTheFleetWhichAloneHasItComesToTheDisk() {
    leaveWithASendInTheFleet(withDisk: true)
    #expect(fleet.disk("b")?.stored.map(\.message.event) == ["one"])
    #expect(fleet.rows(.box(host: "b")) == [])
    acceptNext("b")
    #expect(fleet.written("b") == ["one []"])
    fleet.turn(by: .seconds(2))
    #expect(fleet.disk("b")?.stored.map { $0.state.rawValue } == ["sent"])
  }

  @Test func aSendOfAnUpstreamThatLeavesTheFleetStaysThereUntilAFullDiskHasIt() {
    leaveWithASendInTheFleet(withDisk: true, StorageProblem(.full, "the disk is full"))
    #expect(fleet.rows(.box(host: "b")) == ["waiting"])
    fleet.disk("b")?.problem = nil
    fleet.turn(by: .seconds(10))
    #expect(fleet.disk("b")?.stored.map(\.message.event) == ["one"])
    #expect(fleet.rows(.box(host: "b")) == [])
  }

  @Test func aSendOfAnUpstreamThatLeavesTheFleetStaysThereWithoutADiskUntilItsOutcome() {
    leaveWithASendInTheFleet(withDisk: false)
    #expect(fleet.rows(.box(host: "b")) == ["waiting"])
    acceptNext("b")
    fleet.turn(by: .seconds(3))
    #expect(fleet.written("b") == ["one []"])
    #expect(fleet.rows(.box(host: "b")) == [])
  }

  @Test func whileTheFleetIsNotReachedNothingIsPromisedWithoutADisk() {
    beginWithoutDisk()
    fleet.store.stop()
    fleet.turn(by: .seconds(1))
    let client = send("b", "one")
    #expect(client?.read() == [])
    fleet.turn(by: .seconds(11))
    let error = client?.readValues().last?["error"]
    #expect(
      error?["message"]?.stringValue
        == "The send was not taken, because the outbox cannot keep it: the fleet's Redis has not taken it in time"
        + " (the link to the store broke); 'gatewayctl doctor chat' says what to do.")
    fleet.store.start()
    fleet.turn(by: .seconds(5))
    #expect(listed("b") == [])
    #expect(fleet.rows(.box(host: "b")) == [])
  }

  @Test func whatBecameOfSendsOfAHostWithoutADiskIsNotKeptForEver() {
    beginWithoutDisk()
    _ = send("b", "one")
    fleet.kill("b")
    fleet.turn(by: .seconds(45))
    fleet.accept("a")
    #expect(fleet.rows(.adopted) == [] && fleet.rows(.box(host: "b")) == ["finished"])
    fleet.start("b", withDisk: false)
    fleet.turn(by: .seconds(5))
    #expect(fleet.rows(.box(host: "b")) == [])
    #expect(fleet.written("a") == ["one []"])
  }
}
