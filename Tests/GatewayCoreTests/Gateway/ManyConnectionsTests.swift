@testable import GatewayCore
import Testing

/// What concerns all connections at once, where there are very many.
@Suite struct ManyConnectionsTests {
  private static let count = 1_000

  private let harness = GatewayHarness {
    for number in 0..<Self.count {
      var upstream = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "h\(number).example"), settings: UpstreamSettings())
      upstream.settings.keep = .always
      $0.upstreams["u\(number)"] = upstream
    }
  }

  private var connections: [Connection] { harness.gateway.upstreams.pool.all }

  /// How many connections more are as it says after each turn, from this one on.
  private func turns(_ isMeant: (Connection) -> Bool) -> [Int] {
    var (turns, before): ([Int], Int) = ([], 0)
    repeat {
      let count = connections.count(where: isMeant)
      turns.append(count - before)
      before = count
      harness.timers.fire()
    } while turns.last != 0
    return turns.dropLast()
  }

  @Test func connectionsThatAreKeptAreMadeAPortionInEachTurn() {
    #expect(turns { _ in true } == [256, 256, 256, 232])
  }

  @Test func aReloadGivesNewSettingsAPortionInEachTurn() {
    _ = turns { _ in true }
    harness.reload { for name in $0.upstreams.keys { $0.upstreams[name]?.settings.linger = .seconds(77) } }
    #expect(turns { $0.specification.settings.linger == .seconds(77) } == [256, 256, 256, 232])
    // Those that are gone go with it, and what is kept from now on is there.
    harness.reload {
      for number in 0..<Self.count - 1 { $0.upstreams["u\(number)"] = nil }
      $0.upstreams["new"] = $0.upstreams["u\(Self.count - 1)"]
      $0.upstreams["new"]?.url.host = "new.example"
    }
    _ = turns(\.isWithdrawn)
    harness.pass(.milliseconds(1))
    #expect(connections.count { $0.isWithdrawn } == Self.count - 1)
    #expect(connections.contains { $0.specification.name == "new" && !$0.isWithdrawn })
  }

  @Test func aReloadThatFollowsAnotherAtOnceHasTheLastWord() {
    _ = turns { _ in true }
    for seconds in [77, 78] {
      harness.reload { for name in $0.upstreams.keys { $0.upstreams[name]?.settings.linger = .seconds(seconds) } }
    }
    harness.pass(.milliseconds(1))
    #expect(connections.allSatisfy { $0.specification.settings.linger == .seconds(78) })
  }

  @Test func aStopThatComesMeanwhileIsOverAndLeavesNothingUp() {
    _ = turns { _ in true }
    harness.reload { for name in $0.upstreams.keys { $0.upstreams[name]?.settings.linger = .seconds(77) } }
    var isOver = false
    harness.gateway.stop(reason: "test") { isOver = true }
    harness.pass(.seconds(6))
    #expect(isOver && connections.allSatisfy { $0.isDraining && $0.channel == nil })
  }

  @Test func whatTheNetworkDoesIsLookedAtAPortionInEachTurn() {
    _ = turns { _ in true }
    harness.network.goDown()
    #expect(turns { !$0.reach.isUp } == [256, 256, 256, 232])
  }
}
