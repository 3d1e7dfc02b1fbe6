/// Does at the server what calls say, and tells the hosts what becomes of it, in one conversation of the holder. Which
/// calls count, and when each is done, is for `FleetWriter` to say.
final class FleetCalls {
  private let tap: FleetTap
  private let replies: FleetReplies
  /// The fleet's own rows.
  private let carrier: FleetCarrier
  /// What the server has of durable sends, also from conversations before this one.
  private let outcomes: FleetOutcomes
  /// Interests that the server confirms; the others are confirmed here.
  private let confirmed: ConfirmedInterests
  private let check: (PreparedMessage, Bool) -> MessageProblem?
  private var asks = FleetAsks()
  private var unseen = FleetUnseen()
  private var wants = FleetWants()
  private var rooms = FleetRooms()
  private var questions = FleetQuestions()

  /// A row of the fleet has its outcome.
  var onCarried: (String) -> Void = { _ in }

  init(
    _ tap: FleetTap, _ replies: FleetReplies, _ carrier: FleetCarrier, _ outcomes: FleetOutcomes,
    confirmed: ConfirmedInterests, check: @escaping (PreparedMessage, Bool) -> MessageProblem?
  ) {
    self.tap = tap
    self.replies = replies
    self.carrier = carrier
    self.outcomes = outcomes
    self.confirmed = confirmed
    self.check = check
    carrier.onEnd = { [weak self] in self?.conclude($0, $1) }
  }

  /// The server's machine has everything that was written.
  var isQuiet: Bool { unseen.isEmpty }

  /// The link ends: what it has not given to the server's machine by now never gets there.
  func linkEnds() { unseen.end(unsent: tap.unsentBytes) }

  /// The conversation is over. `isBlamed`: what was under way may be why. What is left of that is let go a portion in each turn.
  func close(isBlamed: Bool, _ timers: Timers) {
    carrier.close(isBlamed: isBlamed)
    var (lastUnseen, lastAsks) = (FleetUnseen(), FleetAsks())
    swap(&lastUnseen, &unseen)
    swap(&lastAsks, &asks)
    timers.goOn {
      lastUnseen.dropPortion()
      lastAsks.dropPortion()
      return !lastUnseen.isEmpty || !lastAsks.isEmpty
    }
  }

  // MARK: - What is said

  /// Does what a call says, as far as it is not done already.
  func perform(_ item: FleetCallQueue.Item) {
    if case .adopted(let id) = item.sender {
      // Its host may have said it meanwhile, also under another name.
      if let outcome = outcomes[id] { return conclude(id, outcome.end) }
      guard carrier.admits(id, asks.progress(of: id)) else { return }
    }
    if isWritten(item) { return }
    let before = tap.unsentBytes
    var isAll = true
    switch item.call {
    case .write(let message, let ack, _):
      if let problem = check(message, ack != nil) { return refuse(item, problem) }
      isAll = ack == nil
      let number = asks.begin(item.sender, ack: ack)
      tap.write(message, ack: number)
      if case .adopted(let id) = item.sender { carrier.wrote(id) }
    case .enter(let message, let ack, let leave):
      if let problem = check(message, ack != nil) { return refuse(item, problem) }
      isAll = ack == nil
      enter(message, ack, leave, item.sender)
    case .leave(let leave, let entered): self.leave(entered, by: leave, item.sender)
    case .answer(let id, let message):
      if questions.take(id) != nil { tap.answer(id, message) }
    case .decline(let id, let why):
      if questions.take(id) != nil { tap.decline(id, why) }
    case .forget(let ack):
      switch item.sender {
      case .host(let host, _, _, _):
        let over = asks.forget(ack, of: host)
        for number in over.numbers { tap.forget(ack: number) }
        for id in over.sends { carrier.resume(id) }
      case .holder: tap.forget(ack: ack)
      case .adopted, .gone: break
      }
    case .want(let interest): want(interest, item.sender)
    case .drop(let interest): drop(interest, item.sender)
    }
    unseen.append(FleetUnseen.Write(sender: item.sender, isAll: isAll), bytes: max(0, tap.unsentBytes - before))
  }

  /// Whether a durable send of a host has been written already, for an earlier life or another name of the host, or for the
  /// fleet: what becomes of it is told to the life that says it now. What waits for an answer and is said again in the same
  /// life is a retry, unless the answer is known.
  private func isWritten(_ item: FleetCallQueue.Item) -> Bool {
    guard item.sender.life != nil, case .write(_, let ack, _) = item.call, let id = item.sender.sendID else {
      return false
    }
    if let outcome = outcomes[id] {
      if let ack, let reply = outcome.reply(to: ack) { tell(item.sender, reply, outcome.end) }
    } else {
      guard asks.takeOver(item.sender, ack: ack) else { return false }
      carrier.leave(id, to: item.sender.rowName)
    }
    unseen.append(FleetUnseen.Write(sender: item.sender, isAll: ack == nil))
    return true
  }

  private func want(_ interest: Interest, _ sender: FleetSender) {
    guard case .host(let host, _, _, _) = sender else { return }
    switch wants.want(interest, host) {
    case .ask where confirmed.include(interest): tap.want(interest)
    case .ask: heard(reply: .answered(interest, refusal: nil))
    case .agreed: replies.tell(host, .answered(interest, refusal: nil))
    case .tooMany:
      let refusal = FleetInterestRefusal(
        "a host of a fleet answers by at most \(FleetWants.patternLimit) patterns; name the events")
      replies.tell(host, .answered(interest, refusal: refusal))
    case .wait: break
    }
  }

  private func drop(_ interest: Interest, _ sender: FleetSender) {
    guard let host = sender.hostName, wants.drop(interest, host), confirmed.include(interest) else { return }
    tap.drop(interest)
  }

  /// Written for each host that says it: each waits for its own acknowledgement, with what the server answers, and a server
  /// takes who is in a room already for one who is in it.
  private func enter(_ message: PreparedMessage, _ ack: UInt64?, _ leave: PreparedLeave?, _ sender: FleetSender) {
    guard case .host(let host, _, _, _) = sender else { return }
    rooms.enter(FleetRooms.Entering(message), host, leave: leave)
    tap.write(message, ack: asks.begin(sender, ack: ack))
  }

  /// Written when no other host holds it, nor the link itself. What the server would end the link for is left out: then it
  /// goes on sending what is not heard.
  private func leave(_ entered: PreparedMessage, by leave: PreparedLeave?, _ sender: FleetSender) {
    let entering = FleetRooms.Entering(entered)
    var undoing = leave
    switch sender {
    case .host(let host, _, _, _): undoing = rooms.leave(entering, host, by: leave)
    case .gone(let host):
      guard rooms.isHeld(entering, by: host) else { return }
      undoing = rooms.leave(entering, host, by: leave)
    case .adopted, .holder: return
    }
    guard let undoing, !tap.hasEntered(entering), check(undoing.message, undoing.wantsAck) == nil else { return }
    guard undoing.wantsAck else { return tap.write(undoing.message, ack: nil) }
    let number = asks.nextNumber()
    tap.write(undoing.message, ack: number)
    tap.forget(ack: number)
  }

  private func refuse(_ item: FleetCallQueue.Item, _ problem: MessageProblem) {
    let end = FleetSendEnd(.refused, reason: problem.word)
    switch item.sender {
    case .host(let host, let life, let number, let row):
      replies.tell(host, .refused(number: number, problem), row.map { [$0: end.row] } ?? [:], life: life)
      unseen.append(FleetUnseen.Write(sender: .host(host, life: life, number: number, row: nil), isAll: true))
    case .adopted(let id): conclude(id, end)
    case .gone, .holder: break
    }
  }

  // MARK: - The fleet's own rows

  /// Takes those of the fleet's sends that were not taken before. Returns what is to be done, in its order.
  func take(_ found: [FleetFindings.Item]) -> [FleetCallQueue.Item] {
    found.filter { !isKnown($0.send) && carrier.take($0, asks.progress(of: $0.send.entry.id)) }
      .map { FleetCallQueue.Item($0.send) }
  }

  /// Whether what became of one is known, though its row says nothing of it: then it is noted there once more.
  private func isKnown(_ send: FleetSend) -> Bool {
    guard let end = outcomes[send.entry.id]?.end ?? carrier.end(of: send) else { return false }
    replies.note(end, of: send.name)
    onCarried(send.name)
    return true
  }

  // MARK: - What becomes of it

  /// What the link has taken by now is written, as far as the server's machine has it. Returns of how much that was noted.
  func noteSeen(atMost limit: Int) -> Int { noteSeen(atMost: limit, unsent: tap.unsentBytes) }

  /// The same of what it had when the link ended; of nothing where that was not said.
  func noteLast(atMost limit: Int) -> Int { unseen.lastUnsent.map { noteSeen(atMost: limit, unsent: $0) } ?? 0 }

  private func noteSeen(atMost limit: Int, unsent: Int) -> Int {
    var count = 0
    var numbers: [String: (life: UInt64, last: UInt64)] = [:]
    var ends: [String: [String: FleetBoxRow]] = [:]
    while count < limit, let write = unseen.takeSeen(unsent: unsent) {
      count += 1
      if case .host(let host, let life, let number, let row) = write.sender {
        if life >= numbers[host]?.life ?? 0 { numbers[host] = (life, number) }
        if write.isAll, let row { ends[host, default: [:]][row] = FleetOutcomes.Outcome.written.end.row }
      }
      if write.isAll { conclude(write.sender, .written) }
    }
    for (host, written) in numbers.sorted(by: { $0.key < $1.key }) {
      replies.tell(host, .written(upTo: written.last), ends[host] ?? [:], life: written.life)
    }
    return count
  }

  /// The server has said something about what was written for a host.
  func heard(reply call: FleetReplyEntry.Call) {
    switch call {
    case .acknowledged(let id, let answer):
      if let ask = asks.take(id) { finish(ask, .acknowledged(answer)) }
    case .failed(let id, let error):
      if let ask = asks.take(id) { finish(ask, .failed(error)) }
    case .progressed(let id, let answer):
      if let ask = asks[id] {
        for ask in [ask] + asks.others(than: ask) { tell(ask.sender, .progressed(ask.id, answer)) }
      }
    case .answered(let interest, let refusal):
      for host in wants.answered(interest, isAgreed: refusal == nil) {
        replies.tell(host, .answered(interest, refusal: refusal))
      }
    case .written, .refused, .missing, .withdrew: break
    }
  }

  private func finish(_ ask: FleetAsks.Ask, _ outcome: FleetOutcomes.Outcome) {
    let others = asks.others(than: ask)
    tell(ask, outcome)
    for other in others { tell(other, outcome) }
    conclude(ask.sender, outcome, others.compactMap(\.sender.rowName))
  }

  private func tell(_ ask: FleetAsks.Ask, _ outcome: FleetOutcomes.Outcome) {
    if let reply = outcome.reply(to: ask.id) { tell(ask.sender, reply, outcome.end) }
  }

  /// Tells a host something about a number of its present life, and with it the end of what that was of.
  private func tell(_ sender: FleetSender, _ reply: FleetReplyEntry.Call, _ end: FleetSendEnd? = nil) {
    guard case .host(let host, let life, _, let row) = sender else { return }
    var ends: [String: FleetBoxRow] = [:]
    if let row, let end { ends[row] = end.row }
    replies.tell(host, reply, ends, life: life)
  }

  /// The server has a durable send, or has refused it, which its sender is told.
  /// - Parameter others: names of further rows whose hosts are told.
  private func conclude(_ sender: FleetSender, _ outcome: FleetOutcomes.Outcome, _ others: [String] = []) {
    guard let id = sender.sendID else { return }
    outcomes.note(outcome, of: id)
    conclude(id, outcome.end, told: others + [sender.rowName].compactMap { $0 })
  }

  /// A durable send has its outcome: each row that the fleet has of it says so, also under other names of its host.
  /// - Parameter told: names of rows whose hosts are told by a reply.
  private func conclude(_ id: String, _ end: FleetSendEnd, told: [String] = []) {
    for number in asks.finish(id) { tap.forget(ack: number) }
    for name in carrier.finish(id, end) where !told.contains(name) {
      replies.note(end, of: name)
      onCarried(name)
    }
    for name in told { onCarried(name) }
  }

  // MARK: - Questions of the server

  /// The host that is to answer; nil where none can.
  func ask(_ id: UInt64, named name: String) -> String? { questions.ask(id, of: wants.answerers(of: name)) }

  /// The server does not want that answer any more.
  func heard(withdrawal ack: UInt64) {
    if let host = questions.take(ack) { replies.tell(host, .withdrew(ack)) }
  }

  // MARK: - Hosts that are gone

  /// What a host of an earlier life wanted, entered, asked and was asked is over, but for its durable sends. Returns what is
  /// to be done about it, behind what waits: another host may be about to enter what it had entered.
  func abandon(_ host: String) -> [FleetCallQueue.Item] {
    // At once: nothing more is asked of it.
    for interest in wants.dropAnswers(of: host) where confirmed.include(interest) { tap.drop(interest) }
    let unanswered = questions.open(of: host).map { FleetCallQueue.Item(.holder, .decline($0, .abandoned)) }
    let drops = wants.interests(of: host).map { FleetCallQueue.Item(.gone(host), .drop($0)) }
    let over = asks.abandon(host)
    for id in over.sends { carrier.resume(id) }
    let forgotten = over.numbers.map { FleetCallQueue.Item(.holder, .forget(ack: $0)) }
    let leaves = rooms.held(by: host).map { entering, leave in
      FleetCallQueue.Item(.gone(host), .leave(leave, of: entering.message))
    }
    return unanswered + drops + forgotten + leaves
  }
}
