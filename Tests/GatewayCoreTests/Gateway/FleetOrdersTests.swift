import Testing

@testable import GatewayCore

/// What an administrator orders on the host that has the link of a fleet.
@Suite struct FleetOrdersTests {
  private let fleet = FleetGateways()

  /// The state that an order leads to, or the type of the error.
  private func order(_ host: String, _ method: String) -> String? {
    let answer = HarnessClient.values(fleet.hosts[host]?.client(uid: 0).call(method, #"{"upstream":"chat"}"#) ?? [])
    return answer.last?["result"]?["state"]?.stringValue ?? answer.last?["error"]?["message"]?.stringValue
  }

  private func shown(_ host: String, _ role: FleetRole) -> JSONValue? {
    let answer = HarnessClient.values(fleet.hosts[host]?.client(uid: 0).call("status") ?? [])
    let connections = answer.last?["result"]?["connections"]?.elements ?? []
    return connections.first { $0["fleet"]?["role"]?.stringValue == role.rawValue }
  }

  private func attempts(_ host: String) -> Int { fleet.hosts[host]?.upstream.channels.count ?? 0 }

  @Test(arguments: [false, true])
  func reconnectDoesNotWaitForTheBackOffOfTheLink(_ isUsed: Bool) {
    fleet.keep = .onDemand
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    if isUsed { fleet.hosts["a"]?.client().call("subscribe", #"{"upstream":"chat"}"#) }
    for _ in 0..<300 where shown("a", .holder)?["next"]?.integerValue ?? 0 < 5_000 {
      if let attempt = fleet.hosts["a"]?.upstream.channels.last, !attempt.isFailed { attempt.fail(.unreachable) }
      fleet.turn(by: .seconds(1))
    }
    let before = attempts("a")
    #expect(order("a", "reconnect") == "reconnecting")
    #expect(attempts("a") == before + 1)
    fleet.accept("a")
    fleet.turn(by: .seconds(2))
    #expect(order("a", "reconnect") == "The connection is connected already.")
  }

  @Test func anOrderThatIsNotDoneYetFailsForAProgramThatLosesItsRight() throws {
    fleet.startTwo()
    let host = try #require(fleet.hosts["a"])
    host.reload { $0.access = [AccessRule(subject: .user(1_000), upstreams: [], allow: [.admin, .status])] }
    let program = host.client(uid: 1_000)
    #expect(program.call("fleet.leave").isEmpty)
    host.reload { $0.access = [] }
    #expect(program.readValues().last?["error"]?["data"]?["type"]?.stringValue == "PermissionDenied")
  }

  @Test func disconnectClosesTheLinkUntilReconnect() {
    fleet.keep = .onDemand
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    #expect(order("a", "disconnect") == "disconnected")
    #expect(fleet.hosts["a"]?.upstream.channels.last?.isClosed == true)
    let before = attempts("a")
    fleet.turn(by: .seconds(60))
    #expect(attempts("a") == before && shown("a", .holder)?["reason"]?.stringValue == "requested")
    #expect(order("a", "reconnect") == "reconnecting")
    #expect(attempts("a") == before + 1)
  }

  @Test func reconnectLeavesALinkAloneThatAnotherHostHasMeanwhile() {
    fleet.startTwo()
    #expect(order("a", "disconnect") == "disconnected")
    fleet.turn(by: .seconds(30))
    fleet.accept("b")
    fleet.turn(by: .seconds(2))
    #expect(shown("b", .follower)?["state"]?.stringValue == "connected")
    #expect(shown("a", .follower)?["reason"]?.stringValue == "requested")
    let before = attempts("a")
    _ = order("a", "reconnect")
    fleet.turn(by: .seconds(5))
    #expect(attempts("a") == before && shown("a", .holder)?["reason"]?.stringValue == "idle")
    #expect(shown("a", .follower)?["state"]?.stringValue == "connected")
  }

  @Test func theLinkThatThisHostHasIsNotReleased() {
    fleet.keep = .onDemand
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.hosts["a"]?.upstream.channels.last?.fail(.unreachable)
    #expect(
      order("a", "release") == "This host has the link for its fleet; 'fleet.move' gives that to another one.")
  }

  @Test func aLinkIsMovedAlsoByTheURLOfItsUpstream() throws {
    fleet.startTwo()
    let host = try #require(fleet.hosts["b"])
    let url = try #require(host.gateway.configuration.upstreams["chat"]?.url.fullText)
    let program = host.client(uid: 0)
    program.call("fleet.move", #"{"upstream":"\#(url)","host":"b"}"#)
    fleet.turn(by: .seconds(10))
    let answer = try #require(program.readValues().last)
    #expect(answer["result"]?["holder"]?.stringValue == "b" && answer["result"]?["upstream"]?.stringValue == "chat")
  }

  /// What of an order to leave, and of a return, is for the log.
  private func noted(_ host: GatewayHarness) -> [GatewayFact] {
    host.facts.filter { fact in
      switch fact {
      case .fleetLeaveOrdered, .fleetLeaveFailed, .fleet(.left), .fleet(.returned): true
      default: false
      }
    }
  }

  @Test func ofAHostThatLeavesItsFleetAndReturnsTheLogHasALine() throws {
    fleet.startTwo()
    let host = try #require(fleet.hosts["a"])
    host.client(uid: 0).call("fleet.leave")
    guard case .fleetLeaveOrdered(let client)? = noted(host).first else {
      Issue.record("no line about the order")
      return
    }
    #expect(client.uid == 0 && client.pid == 1)
    fleet.turn(by: .seconds(10))
    #expect(noted(host).dropFirst() == [.fleet(.left(["chat"]))])
    host.reload { _ in }
    host.reload { _ in }
    #expect(noted(host).dropFirst(2) == [.fleet(.returned)])
  }

  @Test func ofAnOrderToLeaveThatFailsTheLogSaysWhyAlsoWhereTheClientIsGone() throws {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    let host = try #require(fleet.hosts["a"])
    let program = host.client(uid: 0)
    program.call("fleet.leave")
    program.disconnect()
    fleet.turn(by: .seconds(10))
    guard case .fleetLeaveFailed(let client, "chat", let detail)? = noted(host).last else {
      Issue.record("no line about the failure")
      return
    }
    #expect(client.uid == 0 && detail.hasPrefix("No other host may have the link of 'chat'"))
    #expect(noted(host).count == 2)
  }

  @Test(arguments: [false, true])
  func aReloadWhileTheHostLeavesTakesItsLinksAgainAndTheOrderSaysSo(_ hasGone: Bool) throws {
    fleet.startTwo()
    let host = try #require(fleet.hosts["a"])
    let program = host.client(uid: 0)
    program.call("fleet.leave")
    for _ in 0..<1_000 where hasGone && !(host.gateway.upstreams.fleet?.abstains ?? true) {
      fleet.turn(by: .milliseconds(5))
    }
    #expect(host.gateway.upstreams.fleet?.abstains == hasGone)
    host.reload { _ in }
    let answer = try #require(program.readValues().last)
    #expect(
      answer["error"]?["message"]?.stringValue
        == "A reload has told this host meanwhile to take links again, that of 'chat' too; see what 'gatewayctl fleet' says, and order it again."
    )
    fleet.turn(by: .seconds(30))
    #expect(program.readValues().isEmpty && host.gateway.upstreams.fleet?.abstains == false)
  }
}
