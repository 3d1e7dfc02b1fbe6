import Testing

@testable import GatewayCore

/// What `status` says of a fleet.
@Suite struct FleetDocumentTests {
  private let fleet = FleetGateways()

  private func status(_ host: String) -> JSONValue {
    HarnessClient.values(fleet.hosts[host]?.client(uid: 0).call("status") ?? []).last?["result"] ?? .null
  }

  /// The host's connections of that role.
  private func connections(_ host: String, _ role: FleetRole) -> [JSONValue] {
    (status(host)["connections"]?.elements ?? []).filter { $0["fleet"]?["role"]?.stringValue == role.rawValue }
  }

  /// The roles of what a host shows of the upstream when it is asked for it alone.
  private func roles(_ host: String, _ method: String) -> [String?] {
    let answer = HarnessClient.values(fleet.hosts[host]?.client(uid: 0).call(method, #"{"upstream":"chat"}"#) ?? [])
    let shown = answer.last?["result"]?["connections"]?.elements ?? []
    return shown.map { ($0["fleet"] ?? $0)["role"]?.stringValue }
  }

  @Test(arguments: ["status", "stats"])
  func theLinkIsShownWithItsUpstreamAlsoWhereNoProgramUsesThat(_ method: String) {
    fleet.keep = .onDemand
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    #expect(roles("a", method) == ["holder"])
    fleet.hosts["a"]?.client().call("subscribe", #"{"upstream":"chat"}"#)
    #expect(roles("a", method) == ["follower", "holder"])
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    #expect(roles("b", method) == [])
  }

  @Test func aLinkThatIsTakenAgainIsNotSaidToHaveBeenDownSinceItWasGivenAway() throws {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.start("b")
    // It does not reach the server, and neither does the other one, which takes it.
    fleet.turn(by: .seconds(40))
    #expect(connections("a", .holder).map { $0["needed"]?.boolValue } == [false])
    fleet.accept("b")
    let taken = fleet.time.wallMilliseconds
    fleet.hosts["b"]?.client(uid: 0).call("fleet.move", #"{"upstream":"chat","host":"a"}"#)
    fleet.turn(by: .seconds(5))
    let link = try #require(connections("a", .holder).first)
    #expect(link["needed"]?.boolValue == true && link["down_since"]?.integerValue ?? 0 >= taken)
  }

  @Test func aHostWhoseHolderWaitsForItsNextAttemptDoesNotSayThatOneIsUnderWay() throws {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.hosts["a"]?.upstream.channels.last?.fail(.unreachable)
    fleet.turn(by: .milliseconds(100))
    fleet.start("b")
    fleet.turn(by: .seconds(1))
    let shown = try #require(connections("b", .follower).first)
    #expect(shown["state"]?.stringValue == "created" && shown["reason"]?.stringValue == "unreachable")
    #expect(shown["why"]?.stringValue == "Not connected (unreachable); it connects as soon as that is over.")
  }

  @Test func aHostThatDoesNotReachRedisSaysSoOfTheWholeDaemon() {
    fleet.start("a")
    #expect(status("a")["daemon"]?["fleet"]?["redis"]?["state"]?.stringValue == "working")
    fleet.store.stop()
    fleet.turn(by: .seconds(1))
    let shown = status("a")["daemon"]?["fleet"]
    #expect(shown?["host"]?.stringValue == "a" && shown?["redis"]?["state"]?.stringValue == "unreachable")
    #expect(shown?["redis"]?["detail"]?.stringValue == "the link to the store broke")
  }

  @Test func aHistoryIsNotWaitedForWhereRedisWasTriedInVainAndSaysWhy() throws {
    fleet.startTwo()
    fleet.store.stop()
    fleet.turn(by: .seconds(60))
    let program = try #require(fleet.hosts["b"]).client()
    let answer = HarnessClient.values(program.call("history", #"{"upstream":"chat"}"#)).last?["result"]
    #expect(answer?["complete"]?.boolValue == false)
    #expect(answer?["missing"]?.elements?.map(\.stringValue) == ["upstream"])
    #expect(answer?["detail"]?.stringValue == "the fleet's Redis is not reached: the link to the store broke")
  }

  @Test func aHostThatTakesNoPartSaysSoOfTheWholeDaemonAlsoWhileNoProgramUsesTheUpstream() {
    fleet.keep = .onDemand
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.adopt = .seconds(40)
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    #expect(warning("a") == nil)
    #expect(warning("b")?.hasPrefix("b and the fleet disagree about fleet.adopt; ") == true)
  }

  /// What `status` warns of at a host.
  private func warning(_ host: String) -> String? { status(host)["daemon"]?["fleet"]?["warning"]?.stringValue }

  @Test func aHolderThatIsReloadedWithAnotherURLDoesNotAccuseItselfAndTheOthersHearOfItAtOnce() {
    fleet.startTwo()
    let before = fleet.store.text(fleet.place.key(.lease), "config")
    fleet.hosts["a"]?.reload { $0.upstreams["chat"]?.url.host = "other.example" }
    fleet.turn(by: .milliseconds(10))
    #expect(fleet.store.text(fleet.place.key(.lease), "config") != before)
    fleet.accept("a")
    for _ in 0..<30 {
      #expect(warning("a") == nil)
      fleet.turn(by: .milliseconds(100))
    }
    #expect(connections("a", .follower).first?["state"]?.stringValue == "connected")
    #expect(warning("b")?.hasPrefix("b and the fleet disagree about upstream.chat.url; ") == true)
  }

  @Test func aHostThatHeldInAnEarlierProcessWithOtherSettingsDisagreesWithThese() {
    fleet.startTwo()
    fleet.kill("a")
    fleet.adopt = .seconds(40)
    fleet.start("a")
    fleet.turn(by: .seconds(2))
    #expect(warning("a")?.hasPrefix("a and the fleet disagree about fleet.adopt; ") == true)
  }

  @Test func theLinkCountsWhatItCarriesAlsoWithoutProgramsOfItsHost() throws {
    fleet.keep = .onDemand
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    let program = try #require(fleet.hosts["b"]).client()
    program.call("subscribe", #"{"upstream":"chat"}"#)
    fleet.turn(by: .seconds(1))
    for _ in 0..<3 { fleet.hosts["a"]?.upstream.channels.last?.emit("abc", "12") }
    program.call("send", #"{"upstream":"chat","event":"one"}"#)
    fleet.turn(by: .seconds(1))
    #expect(fleet.written("a") == ["one []"])
    for method in ["status", "stats"] {
      let client = try #require(fleet.hosts["a"]).client(uid: 0)
      let answer = HarnessClient.values(client.call(method, #"{"upstream":"chat"}"#)).last?["result"]
      let link = try #require(answer?["connections"]?.elements?.first)
      #expect(link["in"]?["events"]?.integerValue == 3 && link["in"]?["bytes"]?.integerValue == 21, "\(method)")
      #expect(link["out"]?["events"]?.integerValue == 1, "\(method)")
    }
    func metric(_ name: String) -> Substring? {
      let answer = HarnessClient.values(fleet.hosts["a"]?.client(uid: 0).call("metrics") ?? []).last?["result"]
      let line = (answer?["text"]?.stringValue ?? "").split(separator: "\n").first { $0.hasPrefix("gatewayd_\(name){") }
      return line?.split(separator: " ").last
    }
    #expect(metric("fleet_link_received_events_total") == "3" && metric("fleet_link_sent_events_total") == "1")
    #expect(metric("upstream_received_events_total") == "0" && metric("upstream_sent_events_total") == "0")
  }

  @Test func theFiguresOfAnUpstreamDoNotCountTheLinkBesideWhatProgramsUse() throws {
    fleet.startTwo()
    let host = try #require(fleet.hosts["a"])
    host.upstream.channels.last?.fail(.unreachable)
    fleet.turn(by: .milliseconds(100))
    host.client().call("send", #"{"upstream":"chat","event":"e","delivery":"durable"}"#)
    fleet.turn(by: .seconds(1))
    func answer(_ method: String) -> JSONValue? {
      HarnessClient.values(host.client(uid: 0).call(method)).last?["result"]
    }
    let connections = answer("stats")?["connections"]?.elements ?? []
    let outbox = Dictionary(
      uniqueKeysWithValues: connections.map {
        ($0["role"]?.stringValue ?? "", $0["outbox"]?["count"]?.integerValue ?? -1)
      })
    #expect(outbox == ["follower": 1, "holder": 0])
    let families = OpenMetricsReader(answer("metrics")?["text"]?.stringValue ?? "").families
    func sum(_ name: String) -> Double? { families["gatewayd_upstream_\(name)"]?.samples.values.reduce(0, +) }
    #expect(sum("outbox_entries") == 1 && sum("connections") == 1 && sum("connections_down") == 1)
    let follower = try #require(connections.first { $0["role"]?.stringValue == "follower" })
    #expect(sum("attempts") == follower["attempts"]?.integerValue.map(Double.init))
    let down = Double(follower["down"]?["total"]?.integerValue ?? -1) / 1_000
    #expect(abs((sum("downtime_seconds") ?? -1) - down) < 0.01)
  }

  @Test func aHostThatIsCutOffFromRedisDoesNotGoOnSayingThatItHolds() throws {
    fleet.startTwo()
    func holds(_ host: String) -> Bool? { connections(host, .follower).first?["fleet"]?["holds"]?.boolValue }
    func metric(_ host: String) -> Bool {
      let answer = HarnessClient.values(fleet.hosts[host]?.client(uid: 0).call("metrics") ?? []).last?["result"]
      let lines = (answer?["text"]?.stringValue ?? "").split(separator: "\n")
      return lines.contains { $0.hasPrefix("gatewayd_fleet_holds{") && $0.hasSuffix(" 1") }
    }
    #expect(["a", "b"].map(holds) == [true, false] && ["a", "b"].map(metric) == [true, false])
    fleet.store.stop()
    fleet.turn(by: .seconds(4))
    #expect(["a", "b"].map(holds) == [false, false] && ["a", "b"].map(metric) == [false, false])
    let shown = try #require(connections("a", .holder).first?["fleet"])
    #expect(shown["holds"]?.boolValue == false && shown["holder"]?.stringValue == "a" && shown["lease"] == .null)
    // It is confirmed again, and no host may write any longer that another process of Redis knew.
    fleet.store.start()
    fleet.turn(by: .seconds(5))
    #expect(["a", "b"].map(holds) == [true, false])
  }

  @Test func whileRedisIsAwayTheHolderIsNotForgotten() throws {
    fleet.startTwo()
    func list() throws -> JSONValue {
      let program = try #require(fleet.hosts["b"]).client(uid: 0)
      program.call("fleet.list")
      fleet.turn(by: .seconds(1))
      return try #require(program.readValues().last?["result"])
    }
    func shown(_ list: JSONValue) throws -> [JSONValue] {
      let upstream = try #require(list["upstreams"]?.elements?.first)
      return ["holder", "term", "since", "conversation", "open", "epoch", "hosts"].map { upstream[$0] ?? .null }
    }
    let before = try shown(list())
    #expect(before.first?.stringValue == "a" && !before.contains(.null))
    fleet.store.stop()
    fleet.turn(by: .seconds(60))
    let after = try list()
    #expect(after["redis"]?["state"]?.stringValue == "unreachable")
    #expect(try shown(after) == before)
    let hosts = after["hosts"]?.elements ?? []
    #expect(hosts.map { $0["alive"]?.boolValue } == [true, true])
    #expect(hosts.map { $0["upstreams"]?.elements?.first?["holds"]?.boolValue } == [true, false])
    let seen = try #require(connections("b", .follower).first?["fleet"])
    #expect(seen["holder"]?.stringValue == "a" && seen["hosts"]?.integerValue == 2)
  }

  @Test func aHostThatFollowsIsToldWhyTheHolderIsNotConnected() throws {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    let program = fleet.start("b").client()
    fleet.turn(by: .seconds(1))
    program.call("subscribe", #"{"upstream":"chat","state":true}"#)
    fleet.hosts["a"]?.upstream.channels.last?.fail(UpstreamFailure(.tls, "the certificate has expired"))
    fleet.turn(by: .seconds(3))
    let sentence = "a, which has the fleet's link, is not connected: the certificate has expired"
    let seen = try #require(connections("b", .follower).first)
    #expect(seen["reason"]?.stringValue == "tls" && seen["detail"]?.stringValue == sentence)
    let states = HarnessClient.values(program.read()).compactMap { $0["params"] }
    #expect(states.map { $0["detail"]?.stringValue } == [sentence])
    fleet.accept("a")
    fleet.turn(by: .seconds(2))
    let up = try #require(connections("b", .follower).first)
    #expect(up["state"]?.stringValue == "connected" && up["detail"]?.stringValue == nil)
    #expect(fleet.store.text(fleet.place.key(.lease), "why") == "")
  }

  @Test func aHostDoesNotWaitOutItsBackOffWhenRedisIsBack() {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.store.stop()
    fleet.turn(by: .seconds(200))
    // In a long back-off.
    while connections("a", .follower).first?["next"]?.integerValue ?? 0 < 5_000 { fleet.turn(by: .seconds(1)) }
    fleet.store.start()
    fleet.turn(by: .seconds(4.5))
    fleet.accept("a")
    fleet.turn(by: .seconds(0.5))
    #expect(connections("a", .follower).first?["state"]?.stringValue == "connected")
  }

  @Test func anOrderedMoveIsNoFaultInTheLogOfAnyHost() {
    fleet.startTwo()
    for host in fleet.hosts.values { host.facts = [] }
    fleet.hosts["a"]?.client(uid: 0).call("fleet.move", #"{"upstream":"chat","host":"b"}"#)
    fleet.turn(by: .seconds(5))
    for (name, host) in fleet.hosts {
      let ends: [ConnectionFact] = host.facts.compactMap {
        if case .connectionMoved(let connection, _, .disconnected) = $0 { connection } else { nil }
      }
      // The link itself, where it was, is not wanted any more.
      #expect(ends.allSatisfy { $0.isGivenAway || $0.reason == .idle }, "\(name): \(ends)")
      #expect(ends.count { $0.isGivenAway } == 1, "\(name): \(ends)")
    }
  }

  @Test(arguments: [false, true])
  func ofAFleetThatAHostHasLeftByReloadItShowsNoLink(_ hasGivenItAway: Bool) {
    fleet.startTwo()
    if hasGivenItAway {
      fleet.hosts["a"]?.client(uid: 0).call("fleet.move", #"{"upstream":"chat","host":"b"}"#)
      fleet.turn(by: .seconds(5))
      fleet.accept("b")
    }
    fleet.hosts["a"]?.reload { $0.upstreams["chat"]?.settings.fleet = false }
    fleet.turn(by: .seconds(1))
    fleet.accept("a")
    let shown = status("a")["connections"]?.elements ?? []
    #expect(shown.map { $0["state"]?.stringValue } == ["connected"])
    fleet.turn(by: .seconds(5))
    fleet.accept("b")
    #expect(connections("b", .holder).map { $0["state"]?.stringValue } == ["connected"])
  }

  @Test func theLinkThatAnotherHostHasTakenIsNotNeededAnyMore() {
    fleet.startTwo()
    #expect(connections("a", .holder).map { $0["needed"]?.boolValue } == [true])
    fleet.hosts["a"]?.client(uid: 0).call("fleet.move", #"{"upstream":"chat","host":"b"}"#)
    fleet.turn(by: .seconds(5))
    #expect(connections("b", .holder).map { $0["needed"]?.boolValue } == [true])
    let left = connections("a", .holder)
    #expect(left.map { $0["needed"]?.boolValue } == [false] && left[0]["state"]?.stringValue == "disconnected")
  }
}
