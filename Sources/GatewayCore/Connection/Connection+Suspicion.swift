/// What was under way when the link broke may be why it did. The server's own word for it counts at once; else whatever was
/// under way twice waits until others have gone, and is tried alone.
extension Connection {
  /// The link broke. To be called before anything that was under way is put back.
  func blame(_ failure: UpstreamFailure) {
    let trial = commands.takeTrial()
    // It may have been set for another one, which has to wait longer.
    context.timers.cancel(commands.trialTimer)
    commands.trialTimer = nil
    if let size = failure.refusedSize, settleRefused(size) { return }
    for command in trial.map({ [$0] }) ?? commands.repeatable {
      command.suspicion.linkBroke(at: context.time.now)
      // It outlives the daemon, which the next break may be the end of.
      if command.isStored, command.isSuspected { report?(self, .tried(command)) }
    }
  }

  /// Ends what the server refused as too large: it certainly was not delivered. False if nothing is so large.
  private func settleRefused(_ refused: MessageSize) -> Bool {
    let (commands, timers) = self.commands.takeAll(tooLargeFor: refused)
    for timer in timers { context.timers.cancel(timer) }
    for (command, problem) in commands { end(command, .impossible(problem)) }
    return !commands.isEmpty
  }

  /// Looks for the moment of a suspected command, if one waits.
  func awaitTrial() {
    guard commands.trialTimer == nil, state == .connected, let due = commands.queue.nextTrial else { return }
    lookForTrial(at: due)
  }

  private func lookForTrial(at due: MonotonicInstant) {
    context.timers.cancel(commands.trialTimer)
    commands.trialTimer = context.timers.at(due) { [weak self] in
      guard let self else { return }
      commands.trialTimer = nil
      tryNext()
    }
  }

  private func tryNext() {
    let now = context.time.now
    guard let channel, state == .connected, let next = commands.queue.nextTrial else { return }
    guard next <= now else { return lookForTrial(at: next) }
    let isAlone = commands.isQuiet && !channel.isAwaitedByOthers
    if let command = commands.takeSuspect(at: now, window: retryWindow, isAlone: isAlone) {
      writeQueued(command, to: channel)
    }
    if commands.trialTimer == nil, commands.queue.nextTrial != nil { lookForTrial(at: now + Suspicion.look) }
  }

  /// The command that was tried alone has its outcome: the next one need not wait for a look.
  func trialEnded() {
    _ = commands.takeTrial()
    if state == .connected, commands.queue.nextTrial != nil { lookForTrial(at: context.time.now) }
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
