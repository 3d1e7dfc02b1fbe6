/// What is said to the server of one connection at every connect, before anything that is queued: the messages that
/// subscriptions hold, by which rooms and feeds are entered, and those of the configuration. Nothing else waits for an
/// acknowledgement of one: it is one program's. Decision 0119.
final class Enters {
  /// It alone has this object. Set by the connection, once.
  unowned var connection: (any EntersOwner)!
  private let context: ConnectionContext
  private let account: Account
  private var table = EnterTable()
  /// The subscriptions that hold a message, at the places that are their serials. Different messages are few
  /// (`FilterShares.messages`).
  private var holders: [EnterMessage: TombstoneQueue<Subscription>] = [:]
  /// What is still to be said at this connect, in this order.
  private var unsaid = Ring<Saying>()
  /// Looks for the moment of a suspected message.
  private var trialTimer: Timers.ID?
  /// The end of the time that the link has to outlive one that is tried.
  private var proofTimer: Timers.ID?
  /// When the conversation began.
  private var openedAt: MonotonicInstant?
  /// When the last one was written.
  private var lastSaid: MonotonicInstant?

  private enum Saying {
    case leave(EnterEnding)
    case enter(EnterMessage)
  }

  /// What one turn of the loop says at most: so many messages, and no other one once these are so many bytes.
  static let portion = (count: 128, bytes: 256 << 10)

  init(_ specification: UpstreamSpecification, context: ConnectionContext) {
    self.context = context
    account = specification.account
    table.configure(specification.settings.onConnect, at: context.time.now)
  }

  /// How many messages are held.
  var heldCount: Int { table.heldCount }

  /// Whether what was there at the connect is still being said.
  var areSaid: Bool { unsaid.count == 0 }

  /// Whether the server has none that it was told of a moment ago, and that may be why it will hang up.
  var areProven: Bool {
    guard !table.trials.isUnderWay, areSaid else { return false }
    guard let lastSaid, context.time.now < lastSaid + EnterDoubt.proof else { return true }
    return !table.hasUnproven(at: context.time.now)
  }

  /// Other settings of the same upstream.
  func adopt(_ settings: UpstreamSettings) { table.configure(settings.onConnect, at: context.time.now) }

  // MARK: - Holders

  /// Refuses what the server would not take, before anything is written.
  func check(_ held: [HeldEnter]) throws(SubmissionProblem) {
    guard !held.isEmpty else { return }
    do throws(MessageProblem) {
      guard connection.connector.confirmedInterests != .all else { throw Self.noEnters }
      for request in held.flatMap(\.requests) { _ = try connection.connector.prepare(request.draft) }
    } catch { throw .impossible(error) }
  }

  /// What a kind says that is asked for each event by its name.
  private static let noEnters = MessageProblem.invalid(
    "this upstream is asked for events by their names and has nothing to be entered: leave `enter` and `leave` out")

  /// Whether the link has room for what a new holder has to say.
  func checkRoom(for held: [HeldEnter], of account: Account) throws(SubmissionProblem) {
    guard table.isOpen, let channel = connection.channel, !held.isEmpty else { return }
    let size = held.reduce(0) { $0 + $1.byteCount }
    try connection.delivery.checkRoom(size, of: account, on: channel)
  }

  /// A subscription of a user, which is to be made, holds these: what the server does not know of is said at once.
  /// Returns what it has to acknowledge first; nothing while the connection is not connected.
  func hold(_ held: [HeldEnter], of user: AccessIdentity) -> Set<EnterMessage> {
    guard !held.isEmpty else { return [] }
    connection.channel?.checkHeartbeat()
    table.hold(held, of: user, at: context.time.now)
    for message in table.unsaid(held) {
      // Behind those that are still to be said.
      if !areSaid, table.isUnsaid(message) {
        unsaid.append(.enter(message))
      } else if let problem = say(message) {
        answered(message, .refused(mayHaveArrived: false), problem)
      }
    }
    awaitTrial()
    return connection.state == .connected ? table.awaited(held) : []
  }

  /// The subscription was made: it is told of what it holds.
  func add(_ subscription: Subscription) {
    for held in subscription.enters {
      holders[held.enter.message, default: TombstoneQueue()].insert(subscription, at: subscription.serial)
    }
  }

  /// A subscription of a user is gone: what it was the last to hold is undone.
  func remove(_ subscription: Subscription, of user: AccessIdentity) {
    forget(subscription, subscription.enters)
    giveBack(subscription.enters, of: user)
  }

  private func forget(_ subscription: Subscription, _ held: [HeldEnter]) {
    for one in held {
      holders[one.enter.message]?.remove(at: subscription.serial)
      if holders[one.enter.message]?.isEmpty == true { holders[one.enter.message] = nil }
    }
  }

  /// Nothing of that is held for a user any more: what that was the last to hold is undone.
  func giveBack(_ held: [HeldEnter], of user: AccessIdentity) {
    guard !held.isEmpty else { return }
    connection.channel?.checkHeartbeat()
    for ended in table.giveBack(held, of: user, at: context.time.now, in: context.filters) {
      context.timers.cancel(ended.timer)
      if let ack = ended.forgotten { connection.channel?.forget(ack: ack) }
      let leave = ended.isNamedByLast ? ended.undone?.undoing.leave : ended.undone?.leave(where: may)
      if ended.wasSaid { undo(ended.message, by: leave, for: user.account) }
    }
    awaitTrial()
  }

  /// A subscription's user has other rights: of what it held, these are left, without each `leave` that it may not say.
  /// What was said is undone by the `leave` that it had the right to, where no other subscription holds it.
  func adopt(_ left: [HeldEnter], for subscription: Subscription, of user: AccessIdentity) {
    let kept = Set(left.map(\.enter.message))
    let lost = subscription.enters.filter { !kept.contains($0.enter.message) }
    forget(subscription, lost)
    subscription.adopt(left, lost: lost, epoch: connection.stream.epoch)
    giveBack(lost, of: user)
  }

  /// Whether the configuration in force lets a user have that said.
  private func may(_ request: EnterRequest, _ user: AccessIdentity) -> Bool {
    context.permit(request.right, connection.rules, user).passes(request.message.event.text)
  }

  // MARK: - Saying

  /// The server has accepted us: what is held is said, before anything else, as much of it as one turn may. Returns what
  /// of that could not be, and why.
  func open() -> [(message: EnterMessage, problem: UpstreamFailure)] {
    let channel = connection.channel
    let (leaves, messages) = table.open(
      isRecovered: channel?.isRecovered == true, saysAgain: channel?.sharesEntered == true, at: context.time.now)
    openedAt = context.time.now
    unsaid = Ring()
    for leave in leaves { unsaid.append(.leave(leave)) }
    for message in messages { unsaid.append(.enter(message)) }
    return sayPortion()
  }

  /// Says what one turn may, and has the rest said in later ones.
  private func sayPortion() -> [(message: EnterMessage, problem: UpstreamFailure)] {
    var (count, bytes) = (0, 0)
    var problems: [(EnterMessage, UpstreamFailure)] = []
    while count < Self.portion.count, bytes < Self.portion.bytes, linkHasRoom, let next = unsaid.popFirst() {
      count += 1
      switch next {
      case .leave(let ending):
        guard let leave = ending.leave(where: may) else { break }
        bytes += leave.message.byteCount
        undo(ending.message, by: leave, for: ending.last.account)
      case .enter(let message) where table.isUnsaid(message):
        bytes += message.byteCount
        if let problem = say(message) { problems.append((message, problem)) }
      case .enter: break
      }
    }
    if !areSaid { sayLater() }
    return problems
  }

  /// A server that does not read makes us hoard no more than the queue does.
  private var linkHasRoom: Bool { connection.channel.map { $0.unsentBytes < CommandFlow.byteLimit } ?? true }

  private func sayLater() {
    guard let channel = connection.channel else { return }
    guard linkHasRoom else {
      context.timers.after(
        CommandFlow.pause,
        ringing { [weak channel] enters in
          if let channel, channel === enters.connection.channel { enters.sayLater() }
        })
      return
    }
    let go = ringing { [weak channel] enters in
      if let channel, channel === enters.connection.channel { enters.sayOn() }
    }
    context.sliced.add(for: account) {
      go()
      return true
    }
  }

  private func sayOn() {
    for (message, problem) in sayPortion() { answered(message, .refused(mayHaveArrived: false), problem) }
    if areSaid { connection.interests.concludeOpening() }
    awaitTrial()
  }

  /// What a timer calls: the connection lives until that is done.
  private func ringing(_ body: @escaping (Enters) -> Void) -> () -> Void {
    connection.ringing { [unowned self] in body(self) }
  }

  /// Writes one. Returns why it cannot be written.
  private func say(_ message: EnterMessage) -> UpstreamFailure? {
    guard let channel = connection.channel, table.isOpen, let wantsAck = table.wantsAck(message) else { return nil }
    let prepared: PreparedMessage
    do { prepared = try connection.connector.prepare(message.draft(isAcknowledged: wantsAck)) } catch {
      return UpstreamFailure(.refused, error.clause)
    }
    let delivery = connection.delivery
    let ack = wantsAck ? delivery.commands.makeAck() : nil
    let timer = ack.map { _ in
      context.timers.after(connection.interests.confirmationLimit, ringing { $0.timedOut(message) })
    }
    let now = context.time.now
    lastSaid = now
    if table.said(message, MessageSize(prepared), ack: ack, timer: timer, at: now) { tellAccepted(message) }
    delivery.noteWrite(of: prepared.byteCount, for: table.payer(of: message) ?? account, to: channel)
    channel.enter(prepared, ack: ack, leave: channel.sharesEntered ? undoing(of: message) : nil)
    if ack == nil, let confirmations = channel.confirmations { table.wrote(message, as: confirmations.written) }
    return nil
  }

  /// What undoes a message if this host does not live to say it itself; nil too where that cannot be written, which is
  /// reported when it is to be said.
  private func undoing(of message: EnterMessage) -> PreparedLeave? {
    guard let leave = table.undoing(of: message), let prepared = try? connection.connector.prepare(leave.draft) else {
      return nil
    }
    return PreparedLeave(message: prepared, wantsAck: leave.wantsAck)
  }

  /// Nothing holds a message any more: it is undone. What the server answers concerns no program. Without a `leave` the
  /// others that share the link have to know.
  private func undo(_ message: EnterMessage, by leave: EnterRequest?, for account: Account) {
    guard let channel = connection.channel, table.isOpen else { return }
    let delivery = connection.delivery
    let prepared = leave.flatMap { prepare($0, for: account, on: channel) }
    if let prepared { delivery.noteWrite(of: prepared.message.byteCount, for: account, to: channel) }
    if channel.sharesEntered {
      // What cannot be prepared was not said either.
      let entered = try? connection.connector.prepare(message.draft(isAcknowledged: false))
      if let entered { channel.leave(prepared, of: entered) }
    } else if let prepared {
      let ack = prepared.wantsAck ? delivery.commands.makeAck() : nil
      channel.write(prepared.message, ack: ack)
      if let ack { channel.forget(ack: ack) }
    }
  }

  private func prepare(_ leave: EnterRequest, for account: Account, on channel: any UpstreamChannel) -> PreparedLeave? {
    do throws(MessageProblem) {
      let prepared = try connection.connector.prepare(leave.draft)
      do throws(SubmissionProblem) {
        try connection.delivery.checkRoom(prepared.byteCount, of: account, on: channel)
      } catch {
        report(leave, "it does not read what is written to it")
        return nil
      }
      return PreparedLeave(message: prepared, wantsAck: leave.wantsAck)
    } catch {
      report(leave, error.clause)
      return nil
    }
  }

  private func report(_ leave: EnterRequest, _ detail: String) {
    connection.report(.refusedInterest(.enter(leave.message), UpstreamFailure(.refused, detail)))
  }

  // MARK: - Answers

  private func timedOut(_ message: EnterMessage) {
    let limit = connection.interests.confirmationLimit.milliseconds
    answered(
      message, .refused(mayHaveArrived: true),
      UpstreamFailure(.refused, "it did not acknowledge it within \(limit) ms"))
  }

  /// An acknowledgement has come, or the server's error instead. False: none of these messages waits for it.
  func answered(_ ack: UInt64, _ error: RemoteError? = nil) -> Bool {
    guard let message = table.message(awaiting: ack) else { return false }
    let refusal = error.map { UpstreamFailure(.refused, $0.name, serverMessage: $0.name) }
    answered(message, refusal == nil ? .said(isAcknowledged: true) : .refused(mayHaveArrived: false), refusal)
    return true
  }

  /// What was written has not been given to the server, and will not be. False: it is none of these messages.
  func refused(_ write: UnconfirmedWrite, _ problem: MessageProblem) -> Bool {
    guard let message = table.message(of: write) else { return false }
    answered(message, .refused(mayHaveArrived: false), UpstreamFailure(.refused, problem.clause))
    return true
  }

  /// What became of one: those that wait for it go on, and those that hold it are told why it is refused. An
  /// acknowledgement that has not come concerns those alone that asked for it.
  func answered(_ message: EnterMessage, _ answer: EnterTable.Standing, _ refusal: UpstreamFailure?) {
    let answered = table.answered(message, answer)
    context.timers.cancel(answered.timer)
    if refusal != nil, let ack = answered.ack { connection.channel?.forget(ack: ack) }
    let isMissed = answered.standing == .refused(mayHaveArrived: true)
    var told = answered.isNews ? subscriptions(holding: message) : []
    if isMissed {
      told.removeAll { !$0.enters.contains { $0.enter.message == message && $0.enter.wantsAck } }
    }
    if table.trials.isCurrent(message) { endTrial() }
    connection.interests.answered(.enter(message), refusal, concerning: told)
  }

  /// Those that hold it, the oldest first; what is configured is held for all of them.
  private func subscriptions(holding message: EnterMessage) -> [Subscription] {
    if table.isConfigured(message) { return connection.stream.subscriptions }
    return holders[message].map { Array($0.all) } ?? []
  }

  /// It was refused on an earlier link, and is not any more.
  private func tellAccepted(_ message: EnterMessage) {
    for subscription in subscriptions(holding: message) {
      subscription.note(.enter(message), refusal: nil, epoch: connection.stream.epoch)
    }
  }

  // MARK: - What breaks the link

  /// The link broke: what was said a moment ago may be why. To be called while it still counts as there. Returns what is
  /// not said any more, and why; those that hold it are to be told once the link is gone.
  func blame(_ failure: UpstreamFailure) -> [(message: EnterMessage, problem: UpstreamFailure)] {
    let now = context.time.now
    if let size = failure.refusedSize {
      // The server's own word for it.
      let refused = table.unproven(at: now).compactMap { message in
        table.size(of: message).flatMap(size.problem).map { (message, UpstreamFailure(.refused, $0.clause)) }
      }
      for (message, _) in refused { table.condemn(message) }
      if !refused.isEmpty { return refused }
    }
    guard failure.reason.mayBeCausedByMessage else { return [] }
    return table.blame(at: now).map { ($0, UpstreamFailure(.refused, Self.breakingDetail)) }
  }

  private static let breakingDetail =
    "the link broke each time after it was said, and it is not said any more: mend it or leave it out, and subscribe "
    + "anew to have it said once more"

  /// The link is gone: what is held will be said on the next one.
  func endOfLink() {
    unsaid = Ring()
    lastSaid = nil
    context.timers.cancel(proofTimer)
    proofTimer = nil
    context.timers.cancel(trialTimer)
    trialTimer = nil
    table.endOfLink().forEach(context.timers.cancel)
  }

  /// Looks for the moment of a suspected message, if one waits.
  func awaitTrial() {
    guard trialTimer == nil, connection.state == .connected, areSaid, let next = table.nextTrial, let openedAt else {
      return
    }
    lookForTrial(at: max(next.due, openedAt + EnterDoubt.proof))
  }

  private func lookForTrial(at due: MonotonicInstant) {
    context.timers.cancel(trialTimer)
    trialTimer = context.timers.at(
      due,
      ringing {
        $0.trialTimer = nil
        $0.tryNext()
      })
  }

  /// Says the next suspected message where nothing else is under way that could break the link.
  private func tryNext() {
    let now = context.time.now
    guard !table.trials.isUnderWay, let channel = connection.channel, let next = table.nextTrial else { return }
    guard next.due <= now else { return lookForTrial(at: next.due) }
    let commands = connection.delivery.commands
    let isAlone = areProven && commands.isQuiet && commands.trial == nil && !channel.isAwaitedByOthers
    guard isAlone || next.due + Suspicion.patience <= now else { return lookForTrial(at: now + Suspicion.look) }
    table.begin(EnterTrials.Trial(message: next.message, isAlone: isAlone))
    if let problem = say(next.message) { return answered(next.message, .refused(mayHaveArrived: false), problem) }
    guard table.wantsAck(next.message) == false else { return }
    context.timers.cancel(proofTimer)
    proofTimer = context.timers.after(EnterDoubt.proof, ringing { $0.endTrial() })
  }

  private func endTrial() {
    context.timers.cancel(proofTimer)
    proofTimer = nil
    table.endTrial()
    awaitTrial()
  }
}

extension EnterRequest {
  fileprivate var draft: MessageDraft { message.draft(isAcknowledged: wantsAck) }
}
