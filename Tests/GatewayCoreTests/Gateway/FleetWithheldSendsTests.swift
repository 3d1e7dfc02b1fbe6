import Testing

@testable import GatewayCore

/// Durable sends that Redis alone has, of a host without a disk, while their sender has lost the right to send.
@Suite struct FleetWithheldSendsTests {
  private let fleet = FleetGateways()
  private static let noSending = [RightsOverTimeTests.rule(1_000, "chat", [.status])]

  /// Host `a` has the link and does not reach the server; `b` has no disk, and a durable send that waits.
  private func begin() {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.durable = .fleet
    // The one that holds would give the link to it otherwise.
    fleet.hold = .never
    startB()
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
    fleet.hosts["b"]?.client().call("send", #"{"upstream":"chat","event":"one","delivery":"durable"}"#)
    fleet.turn(by: .milliseconds(10))
    #expect(box == ["waiting"])
  }

  private func startB() {
    fleet.start("b", withDisk: false)
    fleet.turn(by: .seconds(5))
  }

  /// The sender on `b` may not send any more.
  private func begin(withholding access: [AccessRule]) {
    begin()
    fleet.hosts["b"]?.reload { $0.access = access }
    fleet.turn(by: .seconds(1))
  }

  private var box: [String] { fleet.rows(.box(host: "b")) }

  /// Of each send that is listed: event, state and reason.
  private var listed: [String] {
    let lines = fleet.hosts["b"]?.client().call("outbox.list") ?? []
    let entries = HarnessClient.values(lines).last?["result"]?["entries"]?.elements ?? []
    return entries.map { entry in
      ["event", "state", "reason"].compactMap { entry[$0]?.stringValue }.joined(separator: " ")
    }
  }

  @Test func aSendWhoseSenderHadLostTheRightIsThereAfterARestartThatGivesItBack() {
    begin(withholding: Self.noSending)
    #expect(box == ["withheld"] && listed == ["one queued permission"])
    fleet.kill("b")
    startB()
    fleet.reachServer("a")
    #expect(fleet.written("a") == ["one []"])
    #expect(box == [] && listed == ["one sent"])
  }

  @Test func aSendWhoseSenderHasLostTheRightIsWrittenByNoOtherHostWhenItsOwnDies() {
    begin(withholding: Self.noSending)
    fleet.kill("b")
    fleet.turn(by: .seconds(45))
    fleet.reachServer("a")
    #expect(fleet.written("a") == [])
    #expect(fleet.rows(.adopted) == [] && box == ["withheld"])
    startB()
    fleet.turn(by: .seconds(15))
    #expect(fleet.written("a") == ["one []"])
    #expect(box == [])
  }

  @Test func aSendWhoseSenderLosesTheRightWhileItsHostIsAwayStaysUntilItIsGivenBack() {
    begin()
    fleet.kill("b")
    fleet.access = Self.noSending
    startB()
    #expect(box == ["withheld"] && listed == ["one queued permission"])
    fleet.kill("b")
    startB()
    #expect(box == ["withheld"] && listed == ["one queued permission"])
    fleet.hosts["b"]?.reload { $0.access = [] }
    fleet.turn(by: .seconds(1))
    #expect(box == ["waiting"])
    fleet.reachServer("a")
    #expect(fleet.written("a") == ["one []"])
    #expect(box == [])
  }

  @Test func aSendWhoseSenderHasLostTheRightIsGoneWhenItIsCancelled() {
    begin(withholding: Self.noSending)
    fleet.hosts["b"]?.client(uid: 0).call("outbox.cancel", #"{"upstream":"chat"}"#)
    fleet.turn(by: .seconds(2))
    #expect(listed == ["one cancelled"])
    #expect(box == [])
  }

  @Test func aSendWhoseSenderHasLostTheRightStaysWhenItsUpstreamLeavesTheFleetAndComesBack() {
    begin(withholding: Self.noSending)
    fleet.hosts["b"]?.reload { $0.upstreams["chat"]?.settings.fleet = false }
    fleet.turn(by: .seconds(3))
    fleet.hosts["b"]?.reload { $0.upstreams["chat"]?.settings.fleet = true }
    fleet.turn(by: .seconds(5))
    #expect(box == ["withheld"] && listed == ["one queued permission"])
    fleet.hosts["b"]?.reload { $0.access = [] }
    fleet.turn(by: .seconds(1))
    fleet.reachServer("a")
    #expect(fleet.written("a") == ["one []"])
    #expect(box == [])
  }
}
