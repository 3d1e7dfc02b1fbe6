/// Sends with retries. Each user's form a line: one is under way, the next follows its outcome, so that what is written
/// twice overtakes nothing. Sends without retries go past them.
extension Connection {
  /// Writes a command of a line whose turn has come.
  func tryOut(_ command: Command, on channel: any UpstreamChannel) {
    guard let line = command.retry?.line else { return }
    noteWrite(of: command)
    armDeadline(command)
    let ack = commands.tried(command)
    armAckTimer(line)
    channel.write(command.message, ack: ack)
  }

  /// The outcome of what is under way in a line; the next one follows.
  func finishTry(_ line: UInt32, _ outcome: CommandOutcome) {
    guard let command = land(line) else { return }
    settle(command, outcome)
    advance(line)
  }

  /// The time of the command under way is up.
  func giveUpTry(_ line: UInt32) { finishTry(line, .acknowledgementTimeout) }

  /// The caller of the command under way left.
  func abandonTry(_ line: UInt32) {
    guard let command = land(line) else { return }
    context.timers.cancel(commands.removeDeadline(of: command.id))
    advance(line)
  }

  /// The link is gone: what may be written again waits for the next one, where it stood before.
  func requeueRetries(_ failure: UpstreamFailure) {
    guard !commands.retries.isEmpty else { return }
    let (timers, exhausted) = commands.requeueRetries { report?(self, .tried($0)) }
    for timer in timers { context.timers.cancel(timer) }
    for command in exhausted { settle(command, .acknowledgementLost(failure)) }
    armExpiry()
  }

  private func land(_ line: UInt32) -> Command? {
    guard let flight = commands.land(line) else { return nil }
    context.timers.cancel(flight.timer)
    for ack in flight.acks { channel?.forget(ack: ack) }
    return flight.command
  }

  private func advance(_ line: UInt32) {
    while let channel, state == .connected, let next = commands.takeNext(ofLine: line) {
      writeQueued(next, to: channel)
    }
    if !isOccupied { review() }
  }

  private func armAckTimer(_ line: UInt32) {
    let limit = commands.retries.command(inLine: line)?.ackTimeout ?? Retry.usualAckTimeout
    commands.setAckTimer(
      ofLine: line, context.timers.after(limit) { [weak self] in self?.ackTimerFired(line) })
  }

  private func ackTimerFired(_ line: UInt32) {
    guard let channel, let command = commands.retries.command(inLine: line) else { return }
    let mayWait = command.expires.map { $0 > context.time.now } ?? true
    guard mayWait, command.retry?.mayWrite == true else { return giveUpTry(line) }
    // A server that takes nothing has this command before it already: no further copy, and no try used up.
    guard (try? checkRoom(for: command.message, on: channel)) != nil else { return armAckTimer(line) }
    noteWrite(of: command)
    let ack = commands.triedAgain(line)
    armAckTimer(line)
    channel.write(command.message, ack: ack)
  }
}
