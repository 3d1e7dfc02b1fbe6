/// The way of a command through a connection: written at once, or queued until it can be, and settled exactly once.
extension Connection {
  /// Takes a command, whose message the connector has prepared since the last turn of the loop. With `now: true` it is
  /// written now or not at all (`volatile`).
  func submit(_ command: Command, now: Bool = false) throws(SubmissionProblem) -> Submission {
    channel?.checkHeartbeat()
    switch ConnectionStateMachine.admits(.send, in: state) {
    case .illegal: throw .released
    case .keep, .write:
      if !now, !command.isCommitted || commands.holds(command) { return try enqueue(command) }
      if let line = command.retry?.line, commands.mustWait(inLine: line, window: retryWindow) {
        return try enqueue(command)
      }
      return try write(command, now: now)
    case .queue:
      guard now else { return try enqueue(command) }
      askForConnection()
      return .dropped
    }
  }

  /// A volatile command came while nothing could be written: it is dropped, but the next ones shall find a connection.
  private func askForConnection() {
    let lease = lease(.call)
    context.timers.after(.seconds(1)) { [weak self] in self?.giveBack(lease) }
  }

  private func write(_ command: Command, now: Bool) throws(SubmissionProblem) -> Submission {
    guard let channel else { throw .released }
    if now, channel.isCongested { return .dropped }
    // What the connector has just prepared needs no other look.
    try checkRoom(for: command.message, of: .user(command.user), on: channel)
    writeOut(command, to: channel)
    return .written
  }

  /// A server that stops reading must not make us hoard what it does not take.
  /// What one user has waiting there leaves room for another.
  func checkRoom(
    for message: PreparedMessage, of account: Account, on channel: any UpstreamChannel
  ) throws(SubmissionProblem) {
    let unsent = channel.unsentBytes
    let own = isShared ? unsentSends(channel).bytes(of: account, ofAll: unsent) : unsent
    do {
      try SharedBounds(share: context.limits.sendQueueBytes).check(message.byteCount, own: own, all: unsent)
      try context.memory.send.limit.check(message.byteCount, for: account)
    } catch { throw .queueFull(error, unit: "bytes", retryAfter: .milliseconds(100)) }
  }

  private func unsentSends(_ channel: any UpstreamChannel) -> UnsentSends { channel.unsentSends ?? unsent }

  /// Notes whose the bytes are that are written.
  private func noteUnsent(_ command: Command) {
    guard isShared, let channel else { return }
    unsentSends(channel).wrote(command.message.byteCount, for: .user(command.user))
  }

  private func enqueue(_ command: Command) throws(SubmissionProblem) -> Submission {
    if command.noQueue, state != .created, state != .connected {
      throw .down(lastFailure ?? UpstreamFailure(.idle, "it is not connected"))
    }
    let replaced: Command?
    do { replaced = try commands.append(command) } catch {
      switch error {
      case .count(let overrun): throw .queueFull(overrun, unit: "sends", retryAfter: retryAfter)
      case .bytes(let overrun): throw .queueFull(overrun, unit: "bytes", retryAfter: retryAfter)
      }
    }
    armDeadline(command)
    armExpiry()
    if let replaced { settle(replaced, .replaced) }
    // What is only on its way to the disk leaves a working connection as it is.
    if state != .connected || command.isCommitted { hurry(command.owner == .none ? .lease : .request) }
    return .queued
  }

  private var retryAfter: Duration { retryIn.map { .milliseconds($0 + 100) } ?? .seconds(1) }

  /// Takes a command out of the queue. Returns whether it was there and was never written.
  @discardableResult
  func takeBack(_ command: Command) -> Bool {
    guard commands.takeBack(command) else { return false }
    commands.deadlines.remove(command)
    command.dropContent()
    flowOn(without: command)
    review()
    return !command.wasWritten
  }

  /// The caller left: its acknowledgement is not awaited any more.
  func forget(_ command: Command) {
    if command.isTried { return abandonTry(command) }
    guard let ack = commands.land(command)?.ack else { return }
    commands.deadlines.remove(command)
    channel?.forget(ack: ack)
    review()
  }

  /// Answers an acknowledgement that the server asked for. False: the token is unknown, answered, or its link is gone.
  func answer(_ token: String, _ draft: AnswerDraft) throws(SubmissionProblem) -> Bool {
    channel?.checkHeartbeat()
    guard let channel, answers.isPending(token) else { return false }
    let message: PreparedMessage
    do { message = try connector.prepareAnswer(draft) } catch { throw .impossible(error) }
    if let problem = connector.check(message, acknowledged: true) { throw .impossible(problem) }
    try checkRoom(for: message, of: specification.account, on: channel)
    guard let id = answers.take(token) else { return false }
    channel.answer(id, message)
    commands.noteOutgoing(message)
    return true
  }

  /// Writes what queued up, in the order it was accepted, from where the flow stopped; of each line of retries only what
  /// its window has room for. It stops before what is not on disk yet, and pauses when the server would be flooded or when many
  /// have ended unwritten.
  func drainQueue() {
    commands.flow.isPaused = false
    if commands.queue.hasSuspects { awaitTrial() }
    var ended = 0
    while let place = commands.queue.nextPlace(from: commands.flow.next) {
      guard let channel, place < (commands.queue.firstUncommitted ?? UInt64.max) else { return }
      let unsent = channel.unsentBytes
      if isShared { unsentSends(channel).taken(downTo: unsent) }
      let isAdmitted = commands.flow.admits(
        place, now: context.time.now, unsentBytes: unsent, handedOver: commands.handedOver.count)
      guard isAdmitted, ended < Self.endedAtOnce else { return pauseFlow() }
      commands.flow.next = place + 1
      guard let command = commands.takeFree(at: place, window: retryWindow) else { continue }
      if !writeQueued(command, to: channel) { ended += 1 }
    }
  }

  private func pauseFlow() {
    commands.flow.isPaused = true
    let paused = channel
    context.timers.after(CommandFlow.pause) { [weak self] in
      // Another link has begun a flow of its own.
      guard let self, let channel, channel === paused, commands.flow.isPaused else { return }
      drainQueue()
    }
  }

  /// Something in the queue may be written from now on. To be called after every change of a queue that is not a send of
  /// this moment: what stands there unnoticed on a connected connection would be overtaken by the next send.
  private func flowOn() {
    if state == .connected, !commands.flow.isPaused { drainQueue() }
  }

  /// A command left the queue that may have held up what is behind it.
  private func flowOn(without command: Command) {
    if !command.isCommitted { flowOn() }
    if command.isSuspected { advance(behind: command) }
  }

  // MARK: - Commands of the outbox

  /// The disk has a command: it may be written when its turn comes, and nobody waits for it any more.
  func committed(_ command: Command) {
    let (isQueued, replaced) = commands.committed(command)
    guard isQueued else { return }
    commands.deadlines.remove(command)
    if let replaced { settle(replaced, .replaced) }
    flowOn()
  }

  /// The disk does not take a command, which therefore ends here.
  func reject(_ command: Command, _ problem: OutboxProblem) {
    guard commands.takeBack(command) else { return }
    settle(command, .notStored(problem))
    flowOn(without: command)
    review()
  }

  /// Takes over commands that were accepted before, by an earlier life of the daemon or for another connection, in order.
  func restore(_ stored: some Collection<Command>) {
    commands.restore(stored)
    armExpiry()
    flowOn()
    hurry(.lease)
  }

  /// Writes a command that was in the queue, or ends it where it may not be written any more. Returns whether it was written.
  @discardableResult
  func writeQueued(_ command: Command, to channel: any UpstreamChannel) -> Bool {
    if command.isRevoked {
      deny(command)
    } else if let expires = command.expires, expires <= context.time.now {
      settle(command, .expired)
    } else if let problem = connector.check(command.message, acknowledged: command.wantsAck) {
      settle(command, .impossible(problem))
    } else {
      writeOut(command, to: channel)
      return true
    }
    return false
  }

  private func writeOut(_ command: Command, to channel: any UpstreamChannel) {
    guard command.wantsAck else {
      noteWrite(of: command)
      channel.write(command.message, ack: nil)
      return command.isStored ? handOver(command) : settle(command, .written)
    }
    guard command.retry == nil else { return tryOut(command, on: channel) }
    noteWrite(of: command)
    armAckTimeout(command)
    command.writtenSize = MessageSize(command.message)
    channel.write(command.message, ack: commands.written(command))
    command.dropContent()
  }

  /// What the outbox promised is sent when the kernel has it, and not while it may die with our buffer.
  private func handOver(_ command: Command) {
    commands.handOver(command)
    // What one turn writes leaves at the beginning of the next one, before its timers ring.
    if commands.handedOver.count == 1 { lookAfterHandedOver(in: .zero) }
  }

  private func lookAfterHandedOver(in delay: Duration) {
    // One may be left of a link that broke.
    context.timers.cancel(commands.handOverLook)
    commands.handOverLook = context.timers.after(delay) { [weak self] in
      guard let self, !commands.handedOver.isEmpty else { return }
      // Soon again: many outcomes at once would hold up the loop and the disk.
      guard channel?.unsentBytes == 0 else {
        return lookAfterHandedOver(in: min(max(delay * 2, CommandFlow.shortestPause), CommandFlow.pause))
      }
      for command in commands.takeHandedOver() { settle(command, .written) }
      if !isOccupied { review() }
    }
  }

  /// Counts a write.
  func noteWrite(of command: Command) {
    commands.noteOutgoing(command.message)
    noteUnsent(command)
    noteUse()
  }

  /// A command ends. Of what was written before nothing is certain any more.
  func settle(_ command: Command, _ outcome: CommandOutcome) {
    end(command, command.wasWritten ? outcome.afterWriting : outcome)
  }

  /// The one place where a command ends, with what is certain about it.
  func end(_ command: Command, _ outcome: CommandOutcome) {
    commands.deadlines.remove(command)
    report?(self, .settled(command, outcome))
    // Lists that it left may hold it for a while.
    command.dropContent()
    if commands.trial === command { trialEnded() }
  }

  // MARK: - Deadlines

  /// A written command waits no longer than its `ackTimeout` from now.
  private func armAckTimeout(_ command: Command) {
    guard let limit = command.ackTimeout else { return armDeadline(command) }
    let due = context.time.now + limit
    if command.deadline.map({ due < $0 }) ?? true {
      command.deadline = due
      arm(command, due)
    } else {
      armDeadline(command)
    }
  }

  func armDeadline(_ command: Command) {
    if let deadline = command.deadline, command.due == nil { arm(command, deadline) }
  }

  private func arm(_ command: Command, _ deadline: MonotonicInstant) {
    commands.deadlines.set(deadline, for: command)
    armTimer(noLaterThan: deadline)
  }

  private func armTimer(noLaterThan deadline: MonotonicInstant) {
    guard commands.deadlines.timer.isLater(than: deadline) else { return }
    commands.deadlines.timer.arm(at: deadline, context.timers) { [weak self] in self?.deadlinesPassed() }
  }

  /// Commands that end together, because their time is up or their sender may not send any more; then others have their turn.
  static let endedAtOnce = 1_000

  private func deadlinesPassed() {
    commands.deadlines.timer.rang()
    for command in commands.deadlines.takeDue(at: context.time.now, limit: Self.endedAtOnce) { deadlinePassed(command) }
    if let next = commands.deadlines.next() { armTimer(noLaterThan: next) }
  }

  private func deadlinePassed(_ command: Command) {
    if command.isTried { return giveUpTry(command) }
    if commands.takeBack(command) {
      settle(command, whyNotWritten(command))
      flowOn(without: command)
    } else if let ack = commands.land(command)?.ack {
      channel?.forget(ack: ack)
      settle(command, .acknowledgementTimeout)
    }
    review()
  }

  private func whyNotWritten(_ command: Command) -> CommandOutcome {
    if command.wasWritten { return .acknowledgementTimeout }
    if !command.isCommitted { return .notStored(OutboxProblem(.failed, "the disk did not answer in time")) }
    if state == .connected {
      return .down(UpstreamFailure(.timeout, "an earlier send with retries was not acknowledged in time"))
    }
    return .down(lastFailure ?? UpstreamFailure(.timeout, "it was not connected in time"))
  }

  func armExpiry() {
    guard let next = commands.nextExpiry, commands.expiry.isLater(than: next) else { return }
    commands.expiry.arm(at: next, context.timers) { [weak self] in self?.expire() }
  }

  private func expire() {
    commands.expiry.rang()
    for command in commands.expire(at: context.time.now, limit: Self.endedAtOnce) {
      settle(command, .expired)
      flowOn(without: command)
    }
    armExpiry()
    review()
  }
}
