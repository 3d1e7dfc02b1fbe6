/// What ends commands before their time, or lets them go on: their links, their callers, the disk, the clock, and the
/// rights of their senders.
extension Delivery {
  // MARK: - Very many

  /// What `next` ends goes in portions, behind what ends already. The connection lives until that is done.
  func endInPortions(_ next: @escaping (Delivery) -> Int?) {
    endings.end { [self, connection = connection!] in withExtendedLifetime(connection) { next(self) } }
  }

  /// Commands that are in no table any more end, in order.
  func settleAll(_ ended: [Command], _ outcome: @escaping (Command) -> CommandOutcome) {
    // What one portion has room for, and has nothing in front of it, needs none.
    guard ended.count > Endings.portion || !endings.isEmpty else {
      for command in ended { settle(command, outcome(command)) }
      return
    }
    var rest = ended[...]
    endInPortions {
      guard let command = rest.popFirst() else { return nil }
      $0.settle(command, outcome(command))
      return 1
    }
  }

  /// The link is gone on which a command was written that has no retries.
  func endLost(_ command: Command, _ size: MessageSize, _ failure: UpstreamFailure) {
    if let problem = failure.refusedSize?.problem(with: size) {
      return end(command, .impossible(problem))
    }
    settle(command, .acknowledgementLost(failure))
  }

  // MARK: - Callers

  /// Takes a command out of the queue. Returns whether it was there and was never written.
  @discardableResult
  func takeBack(_ command: Command) -> Bool {
    guard commands.takeBack(command) else { return false }
    commands.deadlines.remove(command)
    command.dropContent()
    flowOn(without: command)
    connection.review()
    return !command.wasWritten
  }

  /// The caller left: its acknowledgement is not awaited any more.
  func forget(_ command: Command) {
    if command.isTried { return abandonTry(command) }
    // Where it turns out not to have been written it is taken back, as what is queued.
    if command.isHandedOver, !command.isStored { command.noQueue = true }
    guard let ack = commands.land(command)?.ack else { return }
    commands.deadlines.remove(command)
    channel?.forget(ack: ack)
    connection.review()
  }

  // MARK: - The outbox

  /// The disk has a command: it may be written when its turn comes, and its caller does not wait for it any more.
  func committed(_ command: Command) {
    let (isQueued, replaced) = commands.committed(command)
    guard isQueued else { return }
    commands.deadlines.remove(command)
    if let replaced { settle(replaced, .replaced) }
    flowOn()
  }

  /// The disk does not take a command, which therefore ends here.
  func reject(_ command: Command, _ problem: StorageProblem) {
    guard commands.takeBack(command) else { return }
    settle(command, .notStored(problem))
    flowOn(without: command)
    connection.review()
  }

  /// Takes over commands that were accepted before, by an earlier life of the daemon or for another connection, in
  /// order. Returns how many later ones had to be queued again behind them.
  func restore(_ stored: some Collection<Command>) -> Int {
    let later = commands.restore(stored)
    armExpiry()
    flowOn()
    connection.hurry(.lease)
    return later
  }

  /// Nothing of the queue is written, and nothing past it, before commands have joined that were accepted earlier.
  func awaitEarlier() { commands.awaitsRestored = true }

  /// All have joined.
  func earlierHaveCome() {
    commands.awaitsRestored = false
    flowOn()
  }

  // MARK: - Rights

  /// Ends or withholds the next command of the queue, from a place on, if its sender may not send it any more. A call is
  /// checked when it is made; what is written later, then and when it is handed to a connection. Returns where to go on; nil at
  /// the end of the queue.
  func checkSender(from place: UInt64) -> UInt64? {
    guard let next = commands.queue.nextPlace(from: place), let command = commands.queue.command(at: next) else {
      guard place > 0 else { return nil }
      flowOn()
      connection.review()
      return nil
    }
    // What is on its way to the disk is looked at when it is there.
    if !command.isUncommitted, !isAllowed(command) { denyQueued(command) }
    return next + 1
  }

  private func denyQueued(_ command: Command) {
    guard commands.takeBack(command) else { return }
    commands.deadlines.remove(command)
    deny(command)
  }

  /// A command that left the queue, and that its sender may not send.
  func deny(_ command: Command) {
    guard command.isStored else { return settle(command, .denied) }
    commands.deadlines.remove(command)
    report(.withheld(command))
  }

  // MARK: - The clock

  /// A written command waits no longer than its `ackTimeout` from now.
  func armAckTimeout(_ command: Command) {
    guard let limit = command.ackTimeout else { return armDeadline(command) }
    let due = context.time.now + limit
    if command.deadline.map({ due < $0 }) ?? true {
      command.deadline = due
      arm(command, due)
    } else {
      armDeadline(command)
    }
  }

  /// A command waits no longer than its caller does.
  func armDeadline(_ command: Command) {
    if let deadline = command.deadline, command.due == nil { arm(command, deadline) }
  }

  private func arm(_ command: Command, _ deadline: MonotonicInstant) {
    commands.deadlines.set(deadline, for: command)
    armTimer(noLaterThan: deadline)
  }

  private func armTimer(noLaterThan deadline: MonotonicInstant) {
    guard commands.deadlines.timer.isLater(than: deadline) else { return }
    commands.deadlines.timer.arm(at: deadline, context.timers, ringing { $0.deadlinesPassed() })
  }

  /// Commands that end together, because their time is up or their sender may not send any more; then others have their
  /// turn.
  static let endedAtOnce = 1_000

  private func deadlinesPassed() {
    commands.deadlines.timer.rang()
    for command in commands.deadlines.takeDue(at: context.time.now, limit: Self.endedAtOnce) { deadlinePassed(command) }
    if let next = commands.deadlines.next() { armTimer(noLaterThan: next) }
  }

  private func deadlinePassed(_ command: Command) {
    // What stands behind it in its line is written when it has ended.
    if command.isTried { checkHeartbeat() }
    if command.isTried { return giveUpTry(command) }
    let hold = commands.hold(of: command)
    if commands.takeBack(command) {
      settle(command, whyNotWritten(command, hold))
      flowOn(without: command)
    } else if case .handedOver(let number) = command.stage, commands.takeHandedOver(number) != nil {
      // It may have been confirmed since it was looked the last time.
      let isSent = channel?.confirmations.map { $0.confirmed >= number } ?? false
      settle(command, isSent ? .written : .acknowledgementTimeout)
    } else if !commands.isLost(command), let ack = commands.land(command)?.ack {
      channel?.forget(ack: ack)
      settle(command, .acknowledgementTimeout)
    }
    connection.review()
  }

  private func whyNotWritten(_ command: Command, _ hold: CommandLedger.Hold?) -> CommandOutcome {
    if command.wasWritten { return .acknowledgementTimeout }
    if command.isUncommitted { return .notStored(.late) }
    guard channel != nil else {
      return .down(connection.lastFailure ?? UpstreamFailure(.timeout, "it was not connected in time"))
    }
    return .down(UpstreamFailure(.timeout, Self.words(for: hold)))
  }

  /// What a command waited for, in words for its sender. Without a hold that is its line.
  private static func words(for hold: CommandLedger.Hold?) -> String {
    switch hold {
    case .earlier: "a reload had not handed over in time what was sent before it"
    case .disk: "what was sent before it was not on the disk in time"
    case .pace: "what was sent before it had not left in time"
    case nil: "an earlier send with retries was not acknowledged in time"
    }
  }

  /// What is queued waits no longer than its time-to-live.
  func armExpiry() {
    if let next = commands.nextExpiry { armExpiry(noLaterThan: next) }
  }

  func armExpiry(noLaterThan next: MonotonicInstant) {
    guard commands.expiry.isLater(than: next) else { return }
    commands.expiry.arm(at: next, context.timers, ringing { $0.expire() })
  }

  private func expire() {
    commands.expiry.rang()
    for command in commands.expire(at: context.time.now, limit: Self.endedAtOnce) {
      settle(command, .expired)
      flowOn(without: command)
    }
    armExpiry()
    connection.review()
  }
}
