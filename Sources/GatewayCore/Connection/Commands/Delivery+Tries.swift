/// Sends with retries. Each user's form a line: as many as the upstream's `retry_window` are under way, the next
/// follows an outcome. With a window of one, what is written twice overtakes nothing. Sends without retries go past
/// them.
extension Delivery {
  /// Writes a command of a line whose turn has come.
  func tryOut(_ command: Command, on channel: any UpstreamChannel) {
    let now = noteWrite(of: command, to: channel)
    armDeadline(command)
    let ack = commands.written(command, at: now)
    armAckTimer(command)
    say(command, ack: ack, to: channel)
  }

  /// The outcome of a command that is under way; the next one of its line follows.
  func finishTry(_ command: Command, _ outcome: CommandOutcome) {
    guard land(command) else { return }
    settle(command, outcome)
    advance(behind: command)
  }

  /// The time of a command under way is up.
  func giveUpTry(_ command: Command) { finishTry(command, .acknowledgementTimeout) }

  /// Its sender may not have it written once more: one that is kept waits for the right, another one ends.
  private func denyTry(_ command: Command) {
    guard command.isStored else { return giveUpTry(command) }
    guard land(command) else { return }
    deny(command)
    advance(behind: command)
  }

  /// The caller of a command under way left.
  func abandonTry(_ command: Command) {
    guard land(command) else { return }
    commands.deadlines.remove(command)
    command.dropContent()
    advance(behind: command)
  }

  /// Another connection will carry a command, which may be under way. What is behind it stays where it is until
  /// `resume(behind:)`, as it may be about to move as well.
  func handAway(_ command: Command) {
    guard land(command) || commands.takeBack(command) else { return }
    commands.deadlines.remove(command)
  }

  /// All that were to be handed away were: what stood behind them may follow.
  func resume(behind gone: some Sequence<Command>) {
    for command in gone { advance(behind: command) }
    connection.review()
  }

  /// The link is gone: what may be written again waits for the next one, where it stood before.
  func requeueRetries(_ failure: UpstreamFailure) {
    guard commands.flights.hasRetries else { return }
    let (timers, exhausted) = commands.requeueRetries { report(.tried($0)) }
    for timer in timers { context.timers.cancel(timer) }
    settleAll(exhausted) { .acknowledgementLost(failure.suspecting($0)) }
    armExpiry()
  }

  /// False if it is not under way.
  private func land(_ command: Command) -> Bool {
    guard let flight = commands.land(command) else { return false }
    context.timers.cancel(flight.timer)
    for ack in flight.acks { channel?.forget(ack: ack) }
    return true
  }

  /// What stands in the line behind a command that has left it may follow.
  func advance(behind command: Command) {
    guard let line = command.retry?.line else { return }
    while let channel {
      guard !channel.holdsCommands, !commands.awaitsEarlier else {
        commands.flowAgain(fromLine: line)
        return flowOn()
      }
      guard let next = commands.takeNext(ofLine: line, window: retryWindow) else { break }
      writeQueued(next, to: channel)
    }
    if !connection.isOccupied { connection.review() }
  }

  private func armAckTimer(_ command: Command) { armAckTimer(command, command.ackTimeout ?? Retry.usualAckTimeout) }

  private func armAckTimer(_ command: Command, _ limit: Duration) {
    let due = context.time.now + limit
    commands.setAckTimer(of: command, context.timers.at(due, ringing { $0.ackTimerFired(command, due: due) }))
  }

  private func ackTimerFired(_ command: Command, due: MonotonicInstant) {
    guard command.isTried else { return }
    // The machine slept, and the acknowledgement may have come meanwhile.
    guard context.time.now - due < Timers.lateness else {
      return armAckTimer(command, CommandDeadlines.grace)
    }
    checkHeartbeat()
    guard let channel, command.isTried else { return }
    let mayWait = command.expires.map { $0 > context.time.now } ?? true
    guard mayWait, command.retry?.mayWrite == true else { return giveUpTry(command) }
    guard isAllowed(command) else { return denyTry(command) }
    // A server that takes nothing has this command before it already: no further copy, and no try used up.
    let hasRoom = (try? checkRoom(command.message.byteCount, of: .user(command.user), on: channel)) != nil
    guard hasRoom, !channel.holdsCommands else { return armAckTimer(command) }
    let now = noteWrite(of: command, to: channel)
    let ack = commands.written(command, at: now)
    armAckTimer(command)
    say(command, ack: ack, to: channel)
  }
}

/// What was under way when the link broke may be why it did. The server's own word for it counts at once; else whatever
/// was under way twice waits until others have gone, and is tried alone.
extension Delivery {
  /// The link broke. To be called before anything that was under way is put back.
  func blame(_ failure: UpstreamFailure) {
    let trial = commands.takeTrial()
    // It may have been set for another one, which has to wait longer.
    context.timers.cancel(commands.trialTimer)
    commands.trialTimer = nil
    if let size = failure.refusedSize, settleRefused(size) { return }
    guard failure.reason.mayBeCausedByMessage else { return }
    for command in trial.map({ [$0] }) ?? commands.repeatable {
      command.suspicion.linkBroke(at: context.time.now)
      // It outlives the daemon, which the next break may be the end of.
      if command.isStored, command.isSuspected { report(.tried(command)) }
    }
  }

  /// Ends what the server refused as too large: it certainly was not delivered. False if nothing is so large. What has
  /// no retries is told so when it ends with its link.
  private func settleRefused(_ refused: MessageSize) -> Bool {
    let (taken, timers) = commands.takeAll(tooLargeFor: refused)
    for timer in timers { context.timers.cancel(timer) }
    var rest = taken[...]
    endInPortions {
      guard let (command, problem) = rest.popFirst() else { return nil }
      $0.end(command, .impossible(problem))
      return 1
    }
    return !taken.isEmpty || commands.mayHaveLost(refused)
  }

  /// Looks for the moment of a suspected command, if one waits.
  func awaitTrial() {
    guard commands.trialTimer == nil, channel != nil, let due = commands.queue.nextTrial else { return }
    lookForTrial(at: due)
  }

  private func lookForTrial(at due: MonotonicInstant) {
    context.timers.cancel(commands.trialTimer)
    commands.trialTimer = context.timers.at(
      due,
      ringing {
        $0.commands.trialTimer = nil
        $0.tryNext()
      })
  }

  private func tryNext() {
    checkHeartbeat()
    let now = context.time.now
    guard let channel, let next = commands.queue.nextTrial else { return }
    guard next <= now else { return lookForTrial(at: next) }
    let isAlone =
      commands.isQuiet && !connection.doubtsLink && !channel.isAwaitedByOthers && !channel.holdsCommands
    if let command = commands.takeSuspect(at: now, window: retryWindow, isAlone: isAlone) {
      writeQueued(command, to: channel)
    }
    if commands.trialTimer == nil, commands.queue.nextTrial != nil { lookForTrial(at: now + Suspicion.look) }
  }

  /// The command that was tried alone has its outcome: the next one need not wait for a look.
  func trialEnded() {
    _ = commands.takeTrial()
    if channel != nil, commands.queue.nextTrial != nil { lookForTrial(at: context.time.now) }
  }
}

extension UpstreamFailure {
  /// The same, told of a command that was under way each of so many times.
  func suspecting(_ command: Command) -> UpstreamFailure {
    guard command.isSuspected else { return self }
    var failure = self
    failure.detail += "; the link broke \(command.suspicion.breaks) times while this was under way"
    return failure
  }
}
