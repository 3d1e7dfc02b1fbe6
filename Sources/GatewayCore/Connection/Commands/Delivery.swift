/// What the commands of a connection need of it.
protocol DeliveryOwner: PartOwner {
  var connector: any UpstreamConnector { get }
  /// Whose access rules hold for what is sent to it.
  var rules: AccessPlace { get }
  /// Why it is not connected, or why it last was not.
  var lastFailure: UpstreamFailure? { get }
  /// Whether a client, a command or the configuration needs the connection.
  var isOccupied: Bool { get }
  /// Something that was said a moment ago may be why the link will break.
  var doubtsLink: Bool { get }
  /// A command was written: an unused connection lingers from now on.
  func noteUse(at now: MonotonicInstant)
  /// A command had its outcome.
  func noteEnd()
  /// A client does not want to wait for the back-off.
  func hurry(_ urgency: Urgency)
  /// Its use may have changed.
  func review()
}

/// The commands of one connection, from their acceptance to their outcome: written at once, or queued until they can
/// be, and settled exactly once. It knows the channel only while that takes commands.
final class Delivery {
  /// It alone has this object, and what is asked of it comes by way of the connection or of `ringing`: an outcome may
  /// be the end of both. Set by the connection, once.
  unowned var connection: (any DeliveryOwner)!
  private(set) var context: ConnectionContext
  let endings: Endings
  private var settings: UpstreamSettings
  /// Where commands are written; nil while the connection is not connected.
  private(set) var channel: (any UpstreamChannel)?
  /// Those that have no outcome yet.
  var commands: CommandLedger
  let account: Account
  /// Whether those who sent them still may.
  private var rights = SenderRights()
  /// Rights may have changed since something was written that may queue again.
  private var mayQueueUnchecked = false
  /// The turn in which the channel was last asked whether its heartbeat is overdue.
  private var heartbeatChecked: MonotonicInstant?
  /// How far the channel's link comes, where the kernel's word counts and it writes on after it was closed.
  private var progress: (any WriteProgress)?
  /// Whether several users write to it.
  private let isShared: Bool
  /// Whose the bytes are that the channel has not taken, where it does not know that itself.
  private let unsent: UnsentSends

  init(_ specification: UpstreamSpecification, endings: Endings, context: ConnectionContext) {
    self.context = context
    self.endings = endings
    settings = specification.settings
    account = specification.requester
    commands = CommandLedger(limits: context.limits, memory: SharedMemoryHold(context.memory.send))
    isShared = specification.account == .configuration
    unsent = UnsentSends(context.memory.send)
    unsent.watch(context.timers) { [unowned self] in channel?.unsentBytes ?? 0 }
  }

  /// Other settings of the same upstream.
  func adopt(_ settings: UpstreamSettings) { self.settings = settings }

  /// New limits. A queue that is longer than its new limit is emptied as usual.
  func adopt(_ limits: Limits) {
    context.limits = limits
    commands.adopt(limits)
  }

  /// How many of one line of retries may be under way at a time.
  var retryWindow: Int { settings.retryWindow }

  // MARK: - Rights

  /// The rights may have changed: none is written any more that its sender may not send. Returns whether any waits.
  func rightsChanged() -> Bool {
    rights.begin()
    if commands.count > commands.queue.count { mayQueueUnchecked = true }
    return !commands.queue.isEmpty
  }

  /// Whether the sender of a command still may have it written.
  func isAllowed(_ command: Command) -> Bool {
    rights.allow(command) { context.permit($0, connection.rules, $1) }
  }

  // MARK: - The link

  /// The connection is connected: what queued up is written, in its order.
  func begin(on channel: any UpstreamChannel) {
    self.channel = channel
    progress = channel.progress
    commands.beginFlow(rate: settings.flush, now: context.time.now)
    drainQueue()
  }

  /// Longer than any link needs for its goodbye.
  private static let leavingLimit: Duration = .seconds(3)

  /// The gateway is about to close the link itself. The kernel takes the rest of what the link has after that, or it does
  /// not: what it takes was sent, and the next link must not carry it again.
  func linkCloses() {
    if let progress { commands.beginLeaving(by: progress, until: context.time.now + Self.leavingLimit) }
    linkEnded()
  }

  /// The channel takes nothing any more. Nothing is written from now on.
  func linkEnded() {
    let confirmations = channel?.confirmations
    // What somebody else has confirmed, perhaps in the same breath, was sent: the next link must not carry it again.
    if confirmations != nil { for command in takeSent() { settle(command, .written) } }
    channel = nil
    progress = nil
    if confirmations?.isFinal == true, commands.leaving == nil { requeueUnwritten() }
  }

  /// The other end has written nothing of what it has not confirmed: the next link carries that.
  private func requeueUnwritten() {
    let impatient = commands.requeueHandedOver()
    armExpiry()
    guard !impatient.isEmpty else { return }
    let failure = connection.lastFailure ?? .linkGivenAway
    settleAll(impatient) { _ in .down(failure) }
  }

  /// What was under way on the link ends, or queues again.
  func putBack(_ failure: UpstreamFailure) {
    unsent.taken(downTo: 0)
    let unconfirmed = commands.takeUnconfirmed()
    if !unconfirmed.isEmpty { settleAll(unconfirmed) { _ in .acknowledgementLost(failure) } }
    let lost = commands.endOfLink()
    if commands.leaving != nil { settleLeaving() }
    if !commands.handedOver.isEmpty { lookAfterHandedOver(in: CommandFlow.shortestPause) }
    armExpiry()
    endInPortions {
      guard lost.count > 0 else { return nil }
      if let (command, size) = lost.popFirst() { $0.endLost(command, size, failure) }
      return 1
    }
    requeueRetries(failure)
    checkQueuedAgain()
  }

  /// What was under way when rights changed was not looked at with the queue: that is done as soon as the link has ended,
  /// in portions, and not only when there is another one.
  private func checkQueuedAgain() {
    guard mayQueueUnchecked, commands.leaving == nil else { return }
    mayQueueUnchecked = false
    context.timers.after(
      .zero,
      ringing {
        var next: UInt64? = 0
        $0.endInPortions { delivery in
          guard let place = next else { return nil }
          next = delivery.checkSender(from: place)
          return 1
        }
      })
  }

  /// An attempt failed: the queued commands that do not stay end. Those that are left when there is a link leave by it.
  func attemptFailed(_ failure: UpstreamFailure) {
    var failed = commands.queue.failed(refused: failure.isRefusal)
    guard !failed.isOver else { return }
    let outcome: CommandOutcome = failure.reason == .refused ? .refused(failure) : .down(failure)
    endInPortions {
      guard !failed.isOver, $0.channel == nil else {
        $0.connection.noteEnd()
        return nil
      }
      if let command = $0.commands.takeNext(of: &failed) { $0.settle(command, outcome) }
      return 1
    }
  }

  /// What a timer calls: the connection lives until that is done.
  func ringing(_ body: @escaping (Delivery) -> Void) -> () -> Void {
    connection.ringing { [unowned self] in body(self) }
  }

  // MARK: - Taking and writing

  /// Takes a command while the connection is connected. With `now: true` it is written now or not at all.
  func take(_ command: Command, now: Bool) throws(SubmissionProblem) -> Submission {
    if !now, command.isUncommitted || commands.holds(command) { return try enqueue(command) }
    if let line = command.retry?.line, commands.mustWait(inLine: line, window: retryWindow) {
      return try enqueue(command)
    }
    guard let channel else { return now ? .dropped : try enqueue(command) }
    if now, channel.isCongested { return .dropped }
    // A fleet numbers what it is handed, and what an earlier link may still write stands there by its bytes.
    if now, commands.leaving != nil, channel.confirmations != nil { return .dropped }
    if channel.holdsCommands {
      guard !command.noQueue else { throw .down(UpstreamFailure(.fleet, "the fleet takes nothing more for now")) }
      let submission = try enqueue(command)
      // It looks for room from now on.
      flowOn()
      return submission
    }
    // What the connector has just prepared needs no other look.
    try checkRoom(command.message.byteCount, of: .user(command.user), on: channel)
    // By another link it would not be now.
    if now { command.noQueue = true }
    writeOut(command, to: channel)
    return .written
  }

  /// Takes a command that has to wait.
  func enqueue(_ command: Command) throws(SubmissionProblem) -> Submission {
    let replaced = try commands.append(command)
    armDeadline(command)
    if let expires = command.expires { armExpiry(noLaterThan: expires) }
    if let replaced { settle(replaced, .replaced) }
    // What is only on its way to the disk leaves a working connection as it is.
    if channel == nil || !command.isUncommitted { connection.hurry(command.owner == .none ? .lease : .request) }
    return .queued
  }

  /// A server that stops reading must not make us hoard what it does not take.
  /// What one user has waiting there leaves room for another.
  func checkRoom(_ bytes: Int, of account: Account, on channel: any UpstreamChannel) throws(SubmissionProblem) {
    let unsent = channel.unsentBytes
    let own = isShared ? unsentSends(channel).bytes(of: account, ofAll: unsent) : unsent
    let queue = SharedBounds(share: context.limits.sendQueueBytes)
    do {
      try queue.check(bytes, own: own, all: unsent)
      try context.memory.send.check(bytes, for: account)
    } catch {
      try SubmissionProblem.checkFits(bytes, queue: queue.share, memory: context.memory.send.limit.share)
      throw .linkFull(error)
    }
  }

  private func unsentSends(_ channel: any UpstreamChannel) -> UnsentSends { channel.unsentSends ?? unsent }

  /// Counts a message of so many bytes that is about to be written, on an account of its own until the link has taken
  /// it.
  func noteWrite(of bytes: Int, for account: Account, to channel: any UpstreamChannel) {
    commands.noteOutgoing(bytes)
    if isShared { unsentSends(channel).wrote(bytes, for: account) }
  }

  /// The same for a command. Returns when it is written.
  @discardableResult
  func noteWrite(of command: Command, to channel: any UpstreamChannel) -> MonotonicInstant {
    noteWrite(of: command.message.byteCount, for: .user(command.user), to: channel)
    let now = context.time.now
    connection.noteUse(at: now)
    return now
  }

  /// Writes a command that was in the queue, or ends it where it may not be written any more. Returns whether it was
  /// written.
  @discardableResult
  func writeQueued(_ command: Command, to channel: any UpstreamChannel) -> Bool {
    if !isAllowed(command) {
      deny(command)
    } else if let expires = command.expires, expires <= context.time.now {
      settle(command, .expired)
    } else if let problem = connection.connector.check(command.message, acknowledged: command.wantsAck) {
      settle(command, .impossible(problem))
    } else {
      writeOut(command, to: channel)
      return true
    }
    return false
  }

  private func writeOut(_ command: Command, to channel: any UpstreamChannel) {
    guard command.wantsAck else {
      noteWrite(of: command, to: channel)
      say(command, ack: nil, to: channel)
      let confirmations = channel.confirmations
      guard command.isStored || confirmations != nil else { return settle(command, .written) }
      return handOver(command, number: confirmations?.written ?? UInt64(clamping: progress?.given ?? 0))
    }
    guard command.retry == nil else { return tryOut(command, on: channel) }
    let now = noteWrite(of: command, to: channel)
    armAckTimeout(command)
    let ack = commands.written(command, at: now)
    write(command.takeMessage(), of: command, ack: ack, to: channel)
  }

  /// Writes a command that may have to be written once more.
  func say(_ command: Command, ack: UInt64?, to channel: any UpstreamChannel) {
    write(command.message, of: command, ack: ack, to: channel)
  }

  /// The one place where a command is written.
  private func write(
    _ message: PreparedMessage, of command: Command, ack: UInt64?, to channel: any UpstreamChannel
  ) {
    guard command.isStored else { return channel.write(message, ack: ack) }
    channel.write(message, ack: ack, entry: command.number)
  }

  /// What the outbox promised is sent when the kernel has it, and not while it may die with our buffer. A caller that waits
  /// for somebody else's word gives up at its deadline.
  private func handOver(_ command: Command, number: UInt64) {
    armDeadline(command)
    commands.handOver(command, number: number)
    // What one turn writes leaves at the beginning of the next one, before its timers ring.
    if commands.handedOver.count == 1 { lookAfterHandedOver(in: .zero) }
  }

  private func lookAfterHandedOver(in delay: Duration) {
    // One may be left of a link that broke.
    context.timers.cancel(commands.handOverLook)
    commands.handOverLook = context.timers.after(delay, ringing { $0.lookAfterHandedOver(after: delay) })
  }

  private func lookAfterHandedOver(after delay: Duration) {
    guard commands.leaving == nil else { return lookAfterLeaving(after: delay) }
    guard !commands.handedOver.isEmpty else { return }
    // All at once: one whose outcome waited for its turn could be cancelled meanwhile, though it has been sent.
    for command in takeSent() { settle(command, .written) }
    // Soon again: many outcomes at once would hold up the loop and the disk.
    guard commands.handedOver.isEmpty else {
      return lookAfterHandedOver(in: min(max(delay * 2, CommandFlow.shortestPause), CommandFlow.pause))
    }
    if !connection.isOccupied { connection.review() }
  }

  private func lookAfterLeaving(after delay: Duration) {
    settleLeaving()
    guard commands.leaving == nil else {
      return lookAfterHandedOver(in: min(max(delay * 2, CommandFlow.shortestPause), CommandFlow.pause))
    }
    flowOn()
    if !connection.isOccupied { connection.review() }
  }

  /// What a closed link has written by now was sent. When it writes nothing more, the rest queues again.
  private func settleLeaving() {
    for command in takeSent() { settle(command, .written) }
    guard commands.handedOver.isEmpty || commands.leaving?.isOver(at: context.time.now) == true else { return }
    let left = commands.endLeaving()
    checkQueuedAgain()
    guard !left.isEmpty else { return }
    armExpiry()
    reportReturned(left)
  }

  /// The upstream of what waits again may have left the configuration, or come back as another one.
  private func reportReturned(_ left: [Command]) {
    context.timers.after(
      .zero,
      ringing {
        var rest = left[...]
        $0.endInPortions { delivery in
          guard let command = rest.popFirst() else { return nil }
          delivery.report(.returned(command))
          return 1
        }
      })
  }

  private func takeSent() -> [Command] {
    if let leaving = commands.leaving { return commands.takeHandedOver(upTo: UInt64(clamping: leaving.progress.taken)) }
    guard let channel else { return [] }
    if let confirmations = channel.confirmations { return commands.takeHandedOver(upTo: confirmations.confirmed) }
    return channel.unsentBytes == 0 ? commands.takeHandedOver() : []
  }

  // MARK: - The flow of the queue

  /// Writes what queued up, in the order it was accepted, from where the flow stopped; of each line of retries only
  /// what its window has room for. It stops before what is not on disk yet, and pauses when the server would be flooded,
  /// when the channel holds commands, or when many have ended unwritten.
  func drainQueue() {
    checkHeartbeat()
    commands.flow.isPaused = false
    if commands.queue.hasSuspects { awaitTrial() }
    var ended = 0
    while let channel, let place = commands.nextToFlow {
      let unsent = channel.unsentBytes
      if isShared { unsentSends(channel).taken(downTo: unsent) }
      let isAdmitted =
        !channel.holdsCommands
        && commands.flow.admits(
          place, now: context.time.now, unsentBytes: unsent, handedOver: commands.handedOver.count)
      guard isAdmitted, ended < Self.endedAtOnce else { return pauseFlow() }
      commands.flow.next = place + 1
      guard let command = commands.takeFree(at: place, window: retryWindow) else { continue }
      if !writeQueued(command, to: channel) { ended += 1 }
    }
  }

  /// The machine may have slept since the commands came, while the disk had them, the flow paused or a timer waited: to be asked
  /// before whatever is not written for a call or an answer, and asked of the channel once a turn. It may be none any more then.
  func checkHeartbeat() {
    let turn = context.time.received
    guard turn != heartbeatChecked else { return }
    heartbeatChecked = turn
    channel?.checkHeartbeat()
  }

  private func pauseFlow() {
    commands.flow.isPaused = true
    let paused = channel
    context.timers.after(
      CommandFlow.pause,
      ringing { delivery in
        // Another link has begun a flow of its own.
        guard let channel = delivery.channel, channel === paused, delivery.commands.flow.isPaused else { return }
        delivery.drainQueue()
      })
  }

  /// Something in the queue may be written from now on. To be called after every change of a queue that is not a send
  /// of this moment: what stands there unnoticed on a connected connection would be overtaken by the next send.
  func flowOn() {
    if channel != nil, !commands.flow.isPaused { drainQueue() }
  }

  /// A command left the queue that may have held up what is behind it.
  func flowOn(without command: Command) {
    if command.isUncommitted { flowOn() }
    guard command.isSuspected else { return }
    checkHeartbeat()
    advance(behind: command)
  }

  // MARK: - The outcome

  /// The command whose acknowledgement has that id; nil for one that is not awaited.
  func awaiting(_ ack: UInt64) -> Command? { commands.command(awaiting: ack) }

  /// The server has answered a command.
  func finish(_ command: Command, _ outcome: CommandOutcome) {
    if let writtenAt = command.flight?.writtenAt {
      commands.latencies.add(context.time.received.nanoseconds &- writtenAt.nanoseconds)
    }
    conclude(command, outcome)
  }

  /// What was written has not been given to the server, and will not be.
  func refused(_ write: UnconfirmedWrite, _ problem: MessageProblem) {
    switch write {
    case .awaiting(let ack):
      guard let command = awaiting(ack) else { return }
      command.retry?.writes -= 1
      conclude(command, .impossible(problem))
    case .handedOver(let number):
      guard let command = commands.takeHandedOver(number) else { return }
      end(command, .impossible(problem))
      if !connection.isOccupied { connection.review() }
    }
  }

  private func conclude(_ command: Command, _ outcome: CommandOutcome) {
    guard command.retry == nil else { return finishTry(command, outcome) }
    guard commands.land(command) != nil else { return }
    settle(command, outcome)
    connection.noteEnd()
  }

  /// A part of the answer has come.
  func progressed(_ command: Command, _ answer: RemoteAnswer) { report(.progressed(command, answer)) }

  /// A command ends. Of what was written before nothing is certain any more.
  func settle(_ command: Command, _ outcome: CommandOutcome) {
    if command.wasWritten { end(command, outcome.afterWriting) } else { end(command, outcome) }
  }

  /// The one place where a command ends, with what is certain about it.
  func end(_ command: Command, _ outcome: CommandOutcome) {
    commands.deadlines.remove(command)
    report(.settled(command, outcome))
    // Lists that it left may hold it for a while.
    command.dropContent()
    if commands.trial === command { trialEnded() }
  }

  /// The daemon ends: every command gets its outcome.
  func shutDown(_ failure: UpstreamFailure) {
    // What the outbox has stays there for the next daemon, also what a closed link may still write.
    _ = commands.endLeaving()
    for command in commands.takeAll() where !command.isStored { report(.leftOver(command, failure)) }
  }

  func report(_ report: ConnectionReport) { connection.report(report) }
}
