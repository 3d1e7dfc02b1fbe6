@testable import GatewayCore
import Testing

/// Every combination of what a snapshot can say, with a few instants around each boundary.
@Suite struct KeeperExhaustiveTests {
  static let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
  static let reasons: [DownReason?] = [nil, .unreachable, .refused, .kicked, .offline]
  static let idle: [Duration] = [.seconds(5), .seconds(45), .seconds(90)]

  /// Reads one digit of a number in mixed radix, so that counting it up walks through all combinations.
  struct Digits {
    var rest: Int
    mutating func take<T>(_ choices: [T]) -> T {
      let choice = choices[rest % choices.count]
      rest /= choices.count
      return choice
    }
    mutating func flag() -> Bool { take([false, true]) }
  }

  /// The snapshot of a number; nil when all of that state have been made. What no rule reads in a state stays the same.
  static func snapshot(_ state: ConnectionState, _ number: Int) -> Health? {
    var digits = Digits(rest: number)
    let since = now - digits.take(idle)
    var health = Health(state: state, since: since, now: now, settings: UpstreamSettings())
    health.hasLeases = digits.flag()
    health.isKeptAlways = digits.flag()
    health.isConfigured = digits.flag()
    health.isHeld = digits.flag()
    health.networkIsUp = digits.flag()
    health.isDraining = digits.flag()
    if state == .created { health.attemptIsUnderWay = digits.flag() }
    if state == .created || state == .reconnecting { health.attemptsWait = digits.flag() }
    if state == .disconnected {
      health.isEnding = digits.flag()
      health.reconnectsAfterKick = digits.flag()
      (health.reconnects, health.notBefore, health.turnAt) = digits.take([
        (true, nil, nil), (false, nil, nil), (true, now + .seconds(50), nil), (true, nil, now + .seconds(3)),
      ])
      health.lastReason = digits.take(reasons)
      health.lastAttemptAt = digits.take([nil, now - .milliseconds(200), now - .seconds(100)])
      health.nextAttemptAt = digits.take([nil, now - .seconds(1), now + .seconds(7)])
      health.urgency = digits.take(Urgency.allCases)
    }
    return digits.rest == 0 ? health : nil
  }

  static func forEverySnapshot(_ body: (Health) throws -> Void) rethrows {
    for state in ConnectionState.allCases {
      var number = 0
      while let health = snapshot(state, number) {
        try body(health)
        number += 1
      }
    }
  }

  /// What the machine in the snapshot's state is told when the verdict acts.
  static func event(of action: KeeperAction) -> ConnectionStateMachine.Event {
    switch action {
    case .connect: .connect
    case .disconnect: .disconnect
    case .abandon: .lost
    case .release: .release
    }
  }

  static func machine(_ health: Health) throws -> ConnectionStateMachine {
    let path: [ConnectionStateMachine.Event] =
      switch health.state {
      case .created: health.attemptIsUnderWay ? [.connect] : []
      case .connected: [.connect, .opened]
      case .disconnected: [.connect, .lost]
      case .reconnecting: [.connect, .lost, .connect]
      case .released: [.connect, .lost, .release]
      }
    var machine = ConnectionStateMachine()
    for event in path { _ = try machine.handle(event) }
    return machine
  }

  /// What is wrong with a judgement; nil when it is sound.
  static func complaint(_ health: Health, _ judgement: Judgement, heard: [String]) throws -> String? {
    if judgement.rule != heard.first ?? "rest" { return "not the first rule that applies" }
    if judgement.why.isEmpty { return "no reason told" }
    switch judgement.verdict {
    case .act(let action):
      var machine = try machine(health)
      let before = machine
      guard (try? machine.handle(event(of: action))) != nil else { return "illegal action" }
      if machine == before { return "an action that changes nothing would be ordered for ever" }
      if case .abandon = action, health.state != .created { return "only a created connection is abandoned" }
    case .wait(let until):
      if let until, until <= health.now { return "a wake-up that is not in the future" }
      if until == nil, mustWakeUp(health) { return "forgotten: nothing would ever wake it" }
    }
    return nil
  }

  /// Connections that only time can move on.
  static func mustWakeUp(_ health: Health) -> Bool {
    if health.isDraining || health.isHeld { return false }
    switch health.state {
    case .created where health.attemptIsUnderWay: return !health.isOccupied && health.attemptsWait
    case .created: return health.isOccupied && health.networkIsUp
    case .connected: return !health.isOccupied
    case .disconnected where health.isOccupied:
      let isUnwanted = health.lastReason == .kicked && !health.reconnectsAfterKick
      let isGivenUp = health.lastReason?.isFailure == true && !health.reconnects
      let staysDown = (isUnwanted || isGivenUp) && health.urgency != .order
      return health.networkIsUp && !staysDown
    // The end of what ends is told.
    case .disconnected: return !health.isEnding
    case .reconnecting: return !health.isOccupied && health.attemptsWait
    case .released: return false
    }
  }

  @Test func everySnapshotGetsOneSoundJudgement() throws {
    let keeper = Keeper()
    var complaints: [String] = []
    var rules: Set<String> = []
    try Self.forEverySnapshot { health in
      let judgement = keeper.judge(health)
      let heard = keeper.rules.filter { $0.judge(health) != nil }.map(\.name)
      rules.insert(judgement.rule)
      if let complaint = try Self.complaint(health, judgement, heard: heard) {
        complaints.append("\(complaint): \(judgement) of \(health)")
      }
    }
    #expect(complaints.first == nil)
    #expect(rules == ["drain", "offline", "hold", "disconnect", "reconnect", "release", "rest"])
  }

  @Test func whatIsUnusedIsNeverConnectedAndWhatIsUsedIsNeverLetGo() {
    let keeper = Keeper()
    var wrong: [Health] = []
    Self.forEverySnapshot { health in
      switch keeper.judge(health).verdict {
      case .act(.connect) where !health.isOccupied || health.isHeld || health.isDraining || !health.networkIsUp:
        wrong.append(health)
      case .act(.release) where health.isOccupied || health.isEnding: wrong.append(health)
      case .act(.disconnect(.idle)) where health.isOccupied: wrong.append(health)
      default: break
      }
    }
    #expect(wrong.first == nil)
  }
}
