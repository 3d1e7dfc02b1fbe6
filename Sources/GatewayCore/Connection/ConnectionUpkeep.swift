/// What the keeper needs of a connection, and what it may order.
protocol UpkeepOwner: LinkOwner {
  var state: ConnectionState { get }
  /// Whether an attempt runs now.
  var attemptIsUnderWay: Bool { get }
  /// Whether a client, a command or the configuration needs the connection.
  var isOccupied: Bool { get }
  /// It has commands without an outcome.
  var hasCommands: Bool { get }
  /// What waited for it has its end, and was not told of it yet.
  var isEnding: Bool { get }
  /// What an earlier daemon received is not known yet, or a client waits to be told of it.
  var awaitsPast: Bool { get }
  /// The configuration in force wants it up.
  var isKept: Bool { get }
  /// Does what the keeper orders.
  func carryOut(_ action: KeeperAction) throws(IllegalTransition)
  /// The same as `ringing`, for a question: false once the connection is gone.
  func asking(_ body: @escaping () -> Bool) -> () -> Bool
}

/// What the keeper sees of a connection and of the network for it, and when it looks: the leases, what is noted of
/// attempts and failures, whether there is a way to the server, and since when the connection is in its state. What the
/// keeper orders the connection carries out.
final class ConnectionUpkeep {
  /// It alone has this object. Set by the connection, once.
  unowned var connection: (any UpkeepOwner)!
  private let context: ConnectionContext
  private let account: Account
  private var settings: UpstreamSettings
  /// Its upstream has a name in the configuration.
  private var isNamed: Bool
  private(set) var leases = Leases()
  var notes: KeeperNotes
  /// Whether there may be a way to the server.
  private(set) var reach = NetworkReach()
  private(set) var record: ConnectionRecord
  /// What the timer of the next review calls.
  private lazy var nextReview = connection.ringing { [unowned self] in review() }

  init(_ specification: UpstreamSpecification, context: ConnectionContext) {
    self.context = context
    account = specification.requester
    settings = specification.settings
    isNamed = specification.name != nil
    notes = KeeperNotes(specification.settings.reconnect)
    record = ConnectionRecord(context.time)
  }

  // MARK: - Leases

  func lease(_ purpose: Lease.Purpose) -> Lease { leases.take(purpose) }

  /// False for one that was given back before.
  func giveBack(_ lease: Lease) -> Bool { leases.giveBack(lease) }

  /// It is used for a moment: an unused connection lingers from now on.
  func noteUse(at now: MonotonicInstant) { leases.noteUse(at: now) }

  // MARK: - Facts

  /// A state was entered.
  func moved(to state: ConnectionState) {
    let isUnneeded = !connection.isOccupied && notes.lastFailure?.reason.isOrder != true
    record.moved(to: state, isUnneeded: isUnneeded, context.time)
  }

  /// Nothing needs it any more, and it is closed.
  func endedUnneeded() { record.endedUnneeded() }

  /// An attempt starts.
  func attemptStarted() {
    notes.waitsFor = nil
    notes.schedule.started(at: context.time.now)
  }

  /// It goes on, but what it waits for is not there.
  func attemptWaits(for failure: UpstreamFailure) { (notes.lastFailure, notes.waitsFor) = (failure, failure.reason) }

  /// It succeeded, with a server at that address.
  func attemptSucceeded(at address: String?) {
    notes.lastFailure = nil
    reach.lastAddress = address ?? reach.lastAddress
    lookAtNetwork()
    notes.schedule.opened(at: context.time.now)
  }

  /// It failed, or the link was lost later.
  func lost(_ failure: UpstreamFailure) {
    notes.lastFailure = failure
    notes.schedule.failed(
      failure, at: context.time.now, fraction: context.random.fraction(),
      waitsByItself: connection.connector.waitsByItself)
  }

  /// The connection is about to be closed by us; `holding`: and stays down until an administrator says otherwise.
  func closing(_ failure: UpstreamFailure, holding: Bool) {
    if failure.reason.isOrder, notes.lastFailure?.reason.isOrder != true { record.closedByOrder(context.time) }
    notes.lastFailure = failure
    if holding { notes.isRequestedDown = true }
    notes.schedule.endedOnPurpose(at: context.time.now)
  }

  /// An administrator lifts a hold, and starts an attempt.
  func reconnectWasOrdered() {
    (notes.isRequestedDown, notes.isWithdrawn) = (false, false)
    notes.schedule.ordered(context.budget)
  }

  /// The upstream is in the configuration, with other settings.
  func adopt(_ specification: UpstreamSpecification) {
    settings = specification.settings
    isNamed = specification.name != nil
    lookAtNetwork()
    notes.schedule.adopt(settings.reconnect)
    notes.isWithdrawn = false
  }

  /// A command has its outcome. If it was the last use, that changes nothing but the end of the linger time while the
  /// connection is up, and the keeper is going to look by then.
  func noteEnd() {
    if connection.state != .connected || !notes.isTimed || notes.isDraining { review() }
  }

  /// There is nothing to be looked at any more.
  func end() { notes.forgetTimer(context.timers) }

  // MARK: - A review

  /// Lets the keeper look at the connection and has done what it says, until it has nothing more to say.
  func review() {
    guard notes.begin(context.timers) else { return }
    defer { notes.end() }
    leases.look(isUsed: connection.isOccupied, at: context.time.now)
    // Three acts in a row are already more than the five states allow.
    for _ in 0..<4 {
      switch notes.judge(health, by: context.keeper) {
      case .act(let action): carryOut(action)
      case .wait(let until):
        guard let until, connection.state != .released else { return }
        return notes.lookAgain(at: until, context.timers, nextReview)
      }
    }
  }

  /// What the keeper looks at.
  private var health: Health {
    var health = Health(state: connection.state, since: record.since, now: context.time.now, settings: settings)
    health.attemptIsUnderWay = connection.attemptIsUnderWay
    health.attemptsWait = connection.connector.waitsByItself
    health.hasLeases = !leases.isEmpty || connection.hasCommands
    health.isEnding = connection.isEnding
    health.unleasedSince = leases.unusedSince
    health.isConfigured = isNamed && !notes.isWithdrawn
    health.isKeptAlways = connection.isKept
    health.awaitsPast = connection.awaitsPast
    health.networkIsUp = reach.isUp
    notes.describe(to: &health)
    return health
  }

  private func carryOut(_ action: KeeperAction) {
    // While its turn has not come the keeper, asked again, says to wait for it.
    if action == .connect, !hasTurn() { return }
    do { try connection.carryOut(action) } catch { connection.report(.illegal(error)) }
  }

  /// Whether the attempt that the keeper wants has its turn; if not, it waits for one.
  private func hasTurn() -> Bool {
    notes.schedule.hasTurn(context.budget, for: account) { attempt in
      AttemptBudget.Candidate(
        isWanted: connection.asking { [unowned self] in
          notes.schedule.wantsTurn(attempt, isWanted: mayAttempt)
        },
        start: connection.ringing { [unowned self] in
          notes.schedule.turnCame()
          review()
        })
    }
  }

  /// Whether an attempt makes sense now.
  private var mayAttempt: Bool {
    connection.isOccupied && !notes.isHeld && !notes.isDraining && reach.isUp && isIdle
  }

  /// Neither up nor being tried.
  private var isIdle: Bool {
    connection.state == .disconnected || (connection.state == .created && !connection.attemptIsUnderWay)
  }

  /// A client does not want to wait for the back-off. Without an attempt that could be hastened it means nothing.
  func hurry(_ urgency: Urgency) {
    if isIdle { notes.schedule.hasten(urgency) }
    review()
  }

  /// Milliseconds until the next attempt; nil when none is planned.
  var retryIn: Int64? {
    guard connection.state == .disconnected || connection.state == .created, connection.isOccupied else { return nil }
    switch context.keeper.judge(health).verdict {
    case .act(.connect): return 0
    case .wait(let until?): return max(0, (until - context.time.now).milliseconds)
    case .act, .wait: return nil
    }
  }

  // MARK: - The network

  /// Looks for the way to the server; asked when something may have changed, not for every command.
  func lookAtNetwork() { reach.look(at: context.network, hosts: connection.connector.hosts) }

  /// Links, addresses or routes changed.
  func networkChanged(_ change: NetworkChange) {
    let before = reach
    lookAtNetwork()
    guard reach.isUp else {
      // What is waited for from now on is the network, unless the network was not it.
      if connection.state == .disconnected, connection.isOccupied { notes.wayLost(settings) }
      return review()
    }
    let isOtherWay = reach.way != before.way
    if connection.state == .connected, isOtherWay || reach.isTouched(by: change) { connection.channel?.verify() }
    if isOtherWay { hurry(.network) } else { review() }
  }

  /// The machine slept: what became of its links is not known, and waiting may be over.
  func resumed() {
    lookAtNetwork()
    if connection.state == .connected { connection.channel?.verify() }
    hurry(.network)
  }
}
