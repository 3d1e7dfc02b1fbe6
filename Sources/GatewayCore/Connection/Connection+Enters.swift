/// What is said to the server at every connect, before anything that is queued: the messages that subscriptions hold, by
/// which rooms and feeds are entered, and those of the configuration. Nothing else waits for an acknowledgement of one:
/// it is one program's. Decision 0119.
extension Connection {
  /// Refuses what the server would not take, or has no room for now, before anything is written.
  func check(_ held: [HeldEnter]) throws(SubmissionProblem) {
    guard !held.isEmpty else { return }
    do throws(MessageProblem) {
      guard !connector.confirmsInterests else { throw Self.noEnters }
      for request in held.flatMap(\.requests) { _ = try connector.prepare(request.draft) }
    } catch { throw .impossible(error) }
  }

  /// What a kind says that is asked for each event by its name.
  private static let noEnters = MessageProblem.invalid(
    "this upstream is asked for events by their names and has nothing to be entered: leave `enter` and `leave` out")

  /// Whether the link has room for what a new holder has to say.
  func checkRoom(for held: [HeldEnter], of user: UInt32) throws(SubmissionProblem) {
    guard enters.isOpen, let channel, !held.isEmpty else { return }
    let size = held.reduce(0) { $0 + $1.byteCount }
    try delivery.checkRoom(size, of: .user(user), on: channel)
  }

  /// A subscription holds the ones and wants the others: what the server does not know of is said at once. Returns what
  /// it has to answer for first; nothing while there is no conversation.
  func hold(_ held: [HeldEnter], _ interests: Set<Interest>) -> Set<Wanted> {
    if !held.isEmpty { channel?.checkHeartbeat() }
    let awaited = Set(hold(interests).map { Wanted.interest($0) })
    enters.hold(held)
    for message in enters.unsaid(held) {
      if let problem = say(message) { answered(message, .refused(mayHaveArrived: false), problem) }
    }
    return state == .connected ? awaited.union(enters.awaited(held).map { .enter($0) }) : []
  }

  /// A program may not have said any more what it holds: that is over for it.
  func revoke(leave: EnterRequest, of message: EnterMessage) { enters.forget(leave: leave, of: message) }

  /// A subscription is gone, or may not say them any more: what it was the last to hold is undone.
  func giveBack(_ held: [HeldEnter]) {
    guard !held.isEmpty else { return }
    channel?.checkHeartbeat()
    for ended in enters.giveBack(held) {
      context.timers.cancel(ended.timer)
      if let ack = ended.forgotten { channel?.forget(ack: ack) }
      if let leave = ended.leave { say(leave: leave) }
    }
  }

  /// The server has accepted us: what is held is said, before anything else. Returns what could not be, and why.
  func sayEnters() -> [(message: EnterMessage, problem: UpstreamFailure)] {
    let (leaves, messages) = enters.open(isRecovered: channel?.isRecovered == true)
    leaves.forEach(say(leave:))
    return messages.compactMap { message in say(message).map { (message, $0) } }
  }

  /// Writes one. Returns why it cannot be written.
  private func say(_ message: EnterMessage) -> UpstreamFailure? {
    guard let channel, enters.isOpen, let wantsAck = enters.wantsAck(message) else { return nil }
    let prepared: PreparedMessage
    do { prepared = try connector.prepare(message.draft(isAcknowledged: wantsAck)) } catch {
      return UpstreamFailure(.refused, error.sentence)
    }
    let ack = wantsAck ? delivery.commands.makeAck() : nil
    let timer = ack.map { _ in
      context.timers.after(confirmationLimit) { [weak self] in self?.enterTimedOut(message) }
    }
    enters.said(message, ack: ack, timer: timer)
    delivery.commands.noteOutgoing(prepared)
    channel.write(prepared, ack: ack)
    return nil
  }

  /// What the server answers concerns no program.
  private func say(leave: EnterRequest) {
    guard let channel, enters.isOpen else { return }
    do throws(MessageProblem) {
      let prepared = try connector.prepare(leave.draft)
      do throws(SubmissionProblem) {
        try delivery.checkRoom(prepared.byteCount, of: specification.account, on: channel)
      } catch { return report(leave, "it does not read what is written to it") }
      let ack = leave.wantsAck ? delivery.commands.makeAck() : nil
      delivery.commands.noteOutgoing(prepared)
      channel.write(prepared, ack: ack)
      if let ack { channel.forget(ack: ack) }
    } catch { report(leave, error.sentence) }
  }

  private func report(_ leave: EnterRequest, _ detail: String) {
    report?(self, .refusedInterest(.enter(leave.message), UpstreamFailure(.refused, detail)))
  }

  private func enterTimedOut(_ message: EnterMessage) {
    let limit = confirmationLimit.milliseconds
    answered(
      message, .refused(mayHaveArrived: true),
      UpstreamFailure(.refused, "it did not acknowledge it within \(limit) ms"))
  }

  /// An acknowledgement has come, or the server's error instead. False: none of these messages waits for it.
  func enterAnswered(_ ack: UInt64, _ error: RemoteError? = nil) -> Bool {
    guard let message = enters.message(awaiting: ack) else { return false }
    let refusal = error.map { UpstreamFailure(.refused, $0.name, serverMessage: $0.name) }
    answered(message, refusal == nil ? .said(isAcknowledged: true) : .refused(mayHaveArrived: false), refusal)
    return true
  }

  /// What became of one: those that wait for it go on, and those that hold it are told why it is refused. An
  /// acknowledgement that has not come concerns those alone that asked for it.
  func answered(_ message: EnterMessage, _ answer: EnterTable.Standing, _ refusal: UpstreamFailure?) {
    let (timer, ack, standing) = enters.answered(message, answer)
    context.timers.cancel(timer)
    if refusal != nil, let ack { channel?.forget(ack: ack) }
    let isMissed = standing == .refused(mayHaveArrived: true)
    answered(.enter(message), refusal) { subscription in
      (!isMissed && enters.isConfigured(message))
        || subscription.enters.contains { $0.enter.message == message && ($0.enter.wantsAck || !isMissed) }
    }
  }
}

extension EnterRequest {
  fileprivate var draft: MessageDraft { message.draft(isAcknowledged: wantsAck) }
}

extension MessageProblem {
  /// Why a message is not written, for people.
  var sentence: String {
    switch self {
    case .invalid(let sentence), .outdated(let sentence): sentence
    case .tooLarge(let limit, let size): "it has \(size) bytes, and the server takes at most \(limit)"
    }
  }
}
