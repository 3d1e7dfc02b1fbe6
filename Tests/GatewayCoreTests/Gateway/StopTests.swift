@testable import GatewayCore
import Testing

/// When the daemon's orderly end is over.
@Suite struct StopTests {
  /// More connections than are gone through in one turn.
  private let harness = GatewayHarness {
    for number in 0..<600 {
      var upstream = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "h\(number).example"), settings: UpstreamSettings())
      upstream.settings.keep = .always
      $0.upstreams["u\(number)"] = upstream
    }
  }

  init() { harness.pass(.milliseconds(1)) }

  /// Hundreds of users have something under way that never ends, and each piece of it takes a tenth of a second.
  private func occupyTheTurns() {
    for user in 0..<200 as Range<UInt32> {
      harness.gateway.shares.work.add(for: .user(user)) { [harness] in
        harness.time.advance(by: .milliseconds(100))
        return false
      }
    }
  }

  @Test func aStopIsOverInItsTimeWhateverOthersHaveInPortions() {
    occupyTheTurns()
    var isOver = false
    harness.gateway.stop(reason: "test") { isOver = true }
    harness.pass(.seconds(4))
    #expect(isOver)
    #expect(harness.gateway.upstreams.pool.all.allSatisfy { $0.isDraining })
  }

  @Test func aDrainIsOverInItsTimeWhateverOthersHaveInPortions() {
    occupyTheTurns()
    let client = harness.client(uid: 0)
    let answer = client.call("drain", #"{"timeout":4000}"#)
    harness.pass(.seconds(5))
    let answers = HarnessClient.values(answer + client.read())
    #expect(answers.last?["result"]?["left"]?.integerValue == 0)
  }

  @Test(arguments: [false, true]) func aGatewayThatDrainsOrStopsTakesNoOtherConfiguration(_ stops: Bool) {
    if stops {
      harness.gateway.stop(reason: "test") {}
    } else {
      harness.client(uid: 0).call("drain", #"{"timeout":4000}"#)
    }
    let connections = harness.gateway.upstreams.pool.all.count
    harness.reload {
      $0.upstreams["new"] = $0.upstreams["chat"]
      $0.upstreams["new"]?.settings.keep = .always
    }
    #expect(harness.gateway.configuration.upstreams["new"] == nil)
    #expect(harness.gateway.upstreams.pool.all.count == connections)
    #expect(harness.facts.contains { if case .reloadIgnored = $0 { true } else { false } })
  }

  @Test func aStopWithoutTimeGivesNoLastChance() {
    harness.reload { $0.limits.stop = .zero }
    var isOver = false
    harness.gateway.stop(reason: "test") { isOver = true }
    harness.pass(.milliseconds(1))
    #expect(isOver)
  }
}
