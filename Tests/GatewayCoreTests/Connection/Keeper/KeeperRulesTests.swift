@testable import GatewayCore
import Testing

@Suite struct KeeperRulesTests {
  let keeper = Keeper()
  let settings = UpstreamSettings()
  let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)

  func health(_ state: ConnectionState, ago: Duration = .zero, _ change: (inout Health) -> Void = { _ in }) -> Health {
    var health = Health(state: state, since: now - ago, now: now, settings: settings)
    change(&health)
    return health
  }

  func verdict(_ state: ConnectionState, ago: Duration = .zero, _ change: (inout Health) -> Void = { _ in }) -> Verdict
  {
    keeper.judge(health(state, ago: ago, change)).verdict
  }

  @Test func theNamesOfTheRulesAreStable() {
    #expect(
      Keeper.standardRules.map(\.name) == ["drain", "offline", "hold", "history", "disconnect", "reconnect", "release"])
    #expect(keeper.judge(health(.released)).rule == "rest")
  }

  @Test func aRuleSlotsInByPositionAndSilencesThoseBehindIt() {
    let quiet = KeeperRule(name: "night") { _ in (.wait(until: nil), "It is night.") }
    let chain = Keeper(rules: [quiet] + Keeper.standardRules)
    let wanted = health(.disconnected) { $0.hasLeases = true }
    #expect(chain.judge(wanted) == Judgement(rule: "night", verdict: .wait(until: nil), why: "It is night."))
    #expect(keeper.judge(wanted).rule == "reconnect")
  }

  @Test func theFirstLeaseStartsTheFirstAttempt() {
    #expect(verdict(.created) { $0.hasLeases = true } == .act(.connect))
    #expect(verdict(.created) { $0.isKeptAlways = true } == .act(.connect))
  }

  @Test func aFirstAttemptUnderWayIsLeftAlone() {
    let judgement = keeper.judge(
      health(.created) {
        $0.hasLeases = true
        $0.attemptIsUnderWay = true
      })
    #expect(judgement == Judgement(rule: "rest", verdict: .wait(until: nil), why: "An attempt is under way."))
  }

  @Test func anAttemptThatWaitsForSomethingElseIsNotSaidToBeUnderWay() {
    let judgement = keeper.judge(
      health(.reconnecting) {
        $0.hasLeases = true
        $0.waitsFor = .unreachable
      })
    #expect(judgement.verdict == .wait(until: nil))
    #expect(judgement.why == "Not connected (unreachable); it connects as soon as that is over.")
  }

  @Test func aUsedConnectionThatWorksIsLeftAlone() {
    let judgement = keeper.judge(health(.connected, ago: .seconds(3_600)) { $0.hasLeases = true })
    #expect(judgement == Judgement(rule: "rest", verdict: .wait(until: nil), why: "The connection is used and works."))
  }

  @Test func lastLeaseLeavingStartsLinger() {
    let judgement = keeper.judge(health(.connected, ago: .seconds(100)) { $0.unleasedSince = now })
    #expect(judgement.rule == "disconnect")
    #expect(judgement.verdict == .wait(until: now + .seconds(30)))
  }

  @Test func lingerEndsWithADisconnect() {
    let left = now - .seconds(30)
    #expect(verdict(.connected, ago: .seconds(100)) { $0.unleasedSince = left } == .act(.disconnect(.idle)))
  }

  @Test func aConnectionThatOpensForNobodyLingersFromThen() {
    let judgement = keeper.judge(health(.connected) { $0.unleasedSince = now - .seconds(100) })
    #expect(judgement.verdict == .wait(until: now + .seconds(30)))
  }

  @Test func anAttemptThatWouldWaitForEverIsGivenUpAfterTheLingerTimeWhenNobodyUsesIt() {
    func verdict(_ state: ConnectionState, unusedFor: Duration?, waits: Bool = true) -> Verdict {
      self.verdict(state, ago: .seconds(100)) {
        ($0.attemptIsUnderWay, $0.attemptsWait) = (true, waits)
        ($0.hasLeases, $0.unleasedSince) = (unusedFor == nil, unusedFor.map { now - $0 })
      }
    }
    for state in [ConnectionState.created, .reconnecting] {
      #expect(verdict(state, unusedFor: nil) == .wait(until: nil))
      #expect(verdict(state, unusedFor: .seconds(10)) == .wait(until: now + .seconds(20)))
      #expect(verdict(state, unusedFor: .seconds(30), waits: false) == .wait(until: nil))
    }
    #expect(verdict(.created, unusedFor: .seconds(30)) == .act(.abandon(.idle)))
    #expect(verdict(.reconnecting, unusedFor: .seconds(30)) == .act(.disconnect(.idle)))
  }

  @Test func aKeptConnectionNeverLingers() {
    #expect(verdict(.connected, ago: .seconds(9_999)) { $0.isKeptAlways = true } == .wait(until: nil))
  }

  @Test func aConnectionForNobodyIsNotDialled() {
    #expect(verdict(.created) == .act(.abandon(.idle)))
  }

  @Test func aLostConnectionWaitsForItsBackoff() {
    let judgement = keeper.judge(
      health(.disconnected) {
        $0.hasLeases = true
        $0.lastReason = .unreachable
        $0.attempts = 3
        $0.nextAttemptAt = now + .seconds(4)
      })
    #expect(
      judgement
        == Judgement(
          rule: "reconnect", verdict: .wait(until: now + .seconds(4)),
          why: "Not connected (unreachable); attempt 4 waits for the back-off."))
  }

  @Test func theBackoffEndsWithAnAttempt() {
    for next in [now, now - .seconds(1)] {
      #expect(
        verdict(.disconnected) {
          $0.hasLeases = true
          $0.lastReason = .closed
          $0.nextAttemptAt = next
        } == .act(.connect))
    }
  }

  @Test func aKickedConnectionReconnectsUnlessItIsToStayDown() {
    func verdict(reconnects: Bool, urgency: Urgency) -> Verdict {
      self.verdict(.disconnected) {
        $0.hasLeases = true
        $0.lastReason = .kicked
        $0.reconnectsAfterKick = reconnects
        $0.urgency = urgency
      }
    }
    #expect(verdict(reconnects: true, urgency: .none) == .act(.connect))
    for urgency: Urgency in [.none, .network, .lease, .request] {
      #expect(verdict(reconnects: false, urgency: urgency) == .wait(until: nil))
    }
    #expect(verdict(reconnects: false, urgency: .order) == .act(.connect))
  }

  /// urgency × whether the last attempt was refused → when the attempt starts, with the back-off ending in a minute and
  /// the last attempt 400 ms ago.
  @Test func urgencyShortensTheWaitAtMostOnceASecond() {
    let table: [(Urgency, unreachable: Duration, refused: Duration)] = [
      (.none, .seconds(60), .seconds(60)), (.network, .milliseconds(600), .seconds(60)),
      (.lease, .milliseconds(600), .seconds(60)), (.request, .milliseconds(600), .milliseconds(600)),
      (.order, .zero, .zero),
    ]
    #expect(table.map(\.0) == Urgency.allCases)
    for (urgency, unreachable, refused) in table {
      for (reason, wait) in [(DownReason.unreachable, unreachable), (.refused, refused)] {
        let verdict = verdict(.disconnected) {
          $0.hasLeases = true
          $0.lastReason = reason
          $0.lastAttemptAt = now - .milliseconds(400)
          $0.nextAttemptAt = now + .seconds(60)
          $0.urgency = urgency
        }
        #expect(verdict == (wait == .zero ? .act(.connect) : .wait(until: now + wait)), "\(urgency) \(reason)")
      }
    }
  }

  @Test func urgencyNeverDelaysAScheduledAttempt() {
    #expect(
      verdict(.disconnected) {
        $0.hasLeases = true
        $0.lastReason = .unreachable
        $0.lastAttemptAt = now - .milliseconds(400)
        $0.nextAttemptAt = now + .milliseconds(100)
        $0.urgency = .request
      } == .wait(until: now + .milliseconds(100)))
  }

  @Test func withoutANetworkEverythingGoesDownAndNothingIsTried() {
    let used: (inout Health) -> Void = {
      $0.hasLeases = true
      $0.networkIsUp = false
      $0.urgency = .order
    }
    #expect(verdict(.created, used) == .act(.abandon(.offline)))
    #expect(verdict(.connected, used) == .act(.disconnect(.offline)))
    #expect(verdict(.reconnecting, used) == .act(.disconnect(.offline)))
    #expect(verdict(.disconnected, used) == .wait(until: nil))
  }

  @Test func aConnectionThatWentOfflineIsTriedWhenTheNetworkIsBack() {
    #expect(
      verdict(.disconnected) {
        $0.hasLeases = true
        $0.lastReason = .offline
        $0.lastAttemptAt = now - .seconds(100)
      } == .act(.connect))
  }

  @Test func aHoldKeepsAUsedConnectionDown() {
    let held: (inout Health) -> Void = {
      $0.hasLeases = true
      $0.isHeld = true
      $0.urgency = .request
    }
    #expect(verdict(.connected, held) == .act(.disconnect(.requested)))
    #expect(verdict(.reconnecting, held) == .act(.disconnect(.requested)))
    #expect(keeper.judge(health(.disconnected, ago: .seconds(9_999), held)).rule == "hold")
    #expect(verdict(.disconnected, ago: .seconds(9_999), held) == .wait(until: nil))
    let offline = health(.disconnected) {
      held(&$0)
      $0.networkIsUp = false
    }
    #expect(keeper.judge(offline).rule == "hold", "the network's return would not help")
  }

  @Test func theHoldOfAConfiguredUpstreamOutlivesItsUsers() {
    #expect(
      verdict(.disconnected, ago: .seconds(9_999)) {
        $0.isHeld = true
        $0.isConfigured = true
      } == .wait(until: nil))
    #expect(verdict(.disconnected, ago: .seconds(9_999)) { $0.isHeld = true } == .act(.release))
  }

  @Test func anUnusedClosedConnectionStaysListedForAWhile() {
    #expect(verdict(.disconnected) == .wait(until: now + .seconds(60)))
    #expect(verdict(.disconnected, ago: .seconds(59)) == .wait(until: now + .seconds(1)))
    #expect(verdict(.disconnected, ago: .seconds(60)) == .act(.release))
    #expect(
      verdict(.disconnected, ago: .seconds(600)) { $0.unleasedSince = now - .seconds(20) }
        == .wait(until: now + .seconds(40)))
  }

  @Test func drainingTakesEverythingDown() {
    let draining: (inout Health) -> Void = {
      $0.isDraining = true
      $0.hasLeases = true
    }
    #expect(verdict(.created, draining) == .act(.abandon(.draining)))
    #expect(verdict(.connected, draining) == .act(.disconnect(.draining)))
    #expect(verdict(.reconnecting, draining) == .act(.disconnect(.draining)))
    #expect(verdict(.disconnected, draining) == .wait(until: nil))
  }

  @Test func endlessLingerNeverEnds() {
    let verdict = verdict(.connected) { $0.linger = .seconds(Int64.max) }
    #expect(verdict == .wait(until: MonotonicInstant(nanoseconds: .max)))
  }
}
