/// The way of a command through a connection: written at once, or queued until it can be, and settled exactly once.
extension Connection {
  /// Takes a command. With `now: true` it is written now or not at all (`volatile`).
  func submit(_ command: Command, now: Bool = false) throws(SubmissionProblem) -> Submission {
    switch ConnectionStateMachine.admits(.send, in: state) {
    case .illegal: throw .released
    case .keep, .write:
      if let line = command.retry?.line, commands.mustWait(inLine: line) { return try enqueue(command) }
      return try write(command, now: now)
    case .queue:
      guard now else { return try enqueue(command) }
      askForConnection()
      return .dropped
    }
  }

  private func write(_ command: Command, now: Bool) throws(SubmissionProblem) -> Submission {
    guard let channel else { throw .released }
    if now, channel.isCongested { return .dropped }
    if let problem = connector.check(command.message, acknowledged: command.wantsAck) {
      throw .impossible(problem)
    }
    try checkRoom(for: command.message, on: channel)
    writeOut(command, to: channel)
    return .written
  }

  /// A server that stops reading must not make us hoard what it does not take.
  func checkRoom(for message: PreparedMessage, on channel: any UpstreamChannel) throws(SubmissionProblem) {
    let limit = context.limits.sendQueueBytes
    guard channel.unsentBytes + message.byteCount <= limit else {
      throw .queueFull(limit: limit, unit: "bytes", retryAfter: .milliseconds(100))
    }
  }

  private func enqueue(_ command: Command) throws(SubmissionProblem) -> Submission {
    if command.noQueue, state != .created {
      throw .down(lastFailure ?? UpstreamFailure(.idle, "it is not connected"))
    }
    let replaced: Command?
    do { replaced = try commands.append(command) } catch {
      switch error {
      case .count(let limit): throw .queueFull(limit: limit, unit: "sends", retryAfter: retryAfter)
      case .bytes(let limit): throw .queueFull(limit: limit, unit: "bytes", retryAfter: retryAfter)
      }
    }
    armDeadline(command)
    armExpiry()
    if let replaced { settle(replaced, .replaced) }
    hurry(command.owner == .none ? .lease : .request)
    return .queued
  }

  private var retryAfter: Duration { retryIn.map { .milliseconds($0 + 100) } ?? .seconds(1) }

  /// Takes a command out of the queue. Returns whether it was there and was never written.
  @discardableResult
  func takeBack(_ id: String) -> Bool {
    guard let command = commands.takeBack(id) else { return false }
    context.timers.cancel(commands.removeDeadline(of: id))
    review()
    return !command.wasWritten
  }

  /// The caller left: its acknowledgement is not awaited any more.
  func forget(_ id: String) {
    if let line = commands.retries.line(of: id) { return abandonTry(line) }
    guard let (_, ack) = commands.forget(id) else { return }
    context.timers.cancel(commands.removeDeadline(of: id))
    channel?.forget(ack: ack)
    review()
  }

  /// Answers an acknowledgement that the server asked for. False: the token is unknown, answered, or its link is gone.
  func answer(_ token: String, args: RawSpan) throws(SubmissionProblem) -> Bool {
    guard let channel, answers.isPending(token) else { return false }
    let message: PreparedMessage
    do { message = try connector.prepareAnswer(args: args) } catch { throw .impossible(error) }
    if let problem = connector.check(message, acknowledged: true) { throw .impossible(problem) }
    try checkRoom(for: message, on: channel)
    guard let id = answers.take(token) else { return false }
    channel.answer(id, message)
    commands.noteOutgoing(message)
    return true
  }

  /// Writes what queued up, in the order it was accepted; of each line of retries only the first.
  func drainQueue() {
    for place in commands.queue.places {
      guard let channel else { return }
      if let command = commands.takeFree(at: place) { writeQueued(command, to: channel) }
    }
  }

  /// Writes a command that was in the queue, if it still may be.
  func writeQueued(_ command: Command, to channel: any UpstreamChannel) {
    if let expires = command.expires, expires <= context.time.now {
      settle(command, .expired)
    } else if let problem = connector.check(command.message, acknowledged: command.wantsAck) {
      settle(command, .impossible(problem))
    } else {
      writeOut(command, to: channel)
    }
  }

  private func writeOut(_ command: Command, to channel: any UpstreamChannel) {
    guard command.wantsAck else {
      noteWrite(of: command)
      channel.write(command.message, ack: nil)
      return settle(command, .written)
    }
    guard command.retry == nil else { return tryOut(command, on: channel) }
    noteWrite(of: command)
    armAckTimeout(command)
    channel.write(command.message, ack: commands.written(command))
  }

  /// Counts a write.
  func noteWrite(of command: Command) {
    commands.noteOutgoing(command.message)
    noteUse()
  }

  /// The one place where a command ends.
  func settle(_ command: Command, _ outcome: CommandOutcome) {
    context.timers.cancel(commands.removeDeadline(of: command.id))
    report?(self, .settled(command, command.wasWritten ? outcome.afterWriting : outcome))
  }

  // MARK: - Deadlines

  /// A written command waits no longer than its `ackTimeout` from now.
  private func armAckTimeout(_ command: Command) {
    var command = command
    if let limit = command.ackTimeout {
      let due = context.time.now + limit
      if command.deadline.map({ due < $0 }) ?? true {
        context.timers.cancel(commands.removeDeadline(of: command.id))
        command.deadline = due
      }
    }
    armDeadline(command)
  }

  func armDeadline(_ command: Command) {
    guard let deadline = command.deadline, !commands.hasDeadline(command.id) else { return }
    let id = command.id
    commands.setDeadline(of: id, context.timers.at(deadline) { [weak self] in self?.deadlinePassed(id) })
  }

  private func deadlinePassed(_ id: String) {
    if let line = commands.retries.line(of: id) { return giveUpTry(line) }
    if let command = commands.takeBack(id) {
      settle(command, command.wasWritten ? .acknowledgementTimeout : .down(whyNotWritten))
    } else if let (command, ack) = commands.forget(id) {
      channel?.forget(ack: ack)
      settle(command, .acknowledgementTimeout)
    }
    review()
  }

  private var whyNotWritten: UpstreamFailure {
    if state == .connected {
      return UpstreamFailure(.timeout, "an earlier send with retries was not acknowledged in time")
    }
    return lastFailure ?? UpstreamFailure(.timeout, "it was not connected in time")
  }

  func armExpiry() {
    guard let next = commands.queue.nextExpiry else { return }
    if let armed = commands.expiry {
      guard next < armed.due else { return }
      context.timers.cancel(armed.timer)
    }
    commands.expiry = (context.timers.at(next) { [weak self] in self?.expire() }, next)
  }

  private func expire() {
    commands.expiry = nil
    for command in commands.expire(at: context.time.now) { settle(command, .expired) }
    armExpiry()
    review()
  }
}
