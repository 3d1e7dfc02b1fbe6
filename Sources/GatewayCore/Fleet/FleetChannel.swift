/// What a connection of a fleet upstream speaks to: one conversation of the fleet, as this host takes part in it.
final class FleetChannel {
  enum State: Equatable {
    /// Everything up to now is being read, or the engine is not reached. May become `waiting`, `open`, `ended`.
    case reaching
    /// The fleet has no conversation. May become `open`, `ended`.
    case waiting
    /// It takes part in this one. May become `away`, `ended`.
    case open(UInt64)
    /// The engine is lost, or what was missed meanwhile is being read. May become `open`, `ended`.
    case away(UInt64)
    case ended
  }

  /// What becomes of an owner's wish to be told what there is.
  private enum Past {
    /// The owner has heard it, or never asked. May become `asked`.
    case told
    /// Everything up to now is being read. May become `read`.
    case asked
    /// It was read. May become `proving`, or `asked` where the engine is lost.
    case read
    /// The engine is asked whether its server is the one that counts. May become `told`, `read`, `asked`.
    case proving
  }

  private let link: FleetLink
  private weak var owner: (any UpstreamChannelOwner)?
  private(set) var state = State.reaching
  /// The engine is reached, and everything up to now was read.
  private(set) var isCurrent = false
  /// What this host said last, in the conversation before, stands: whoever holds goes on in the same session of the
  /// server, and nothing of it may be lost. Whether events are missing is said by their places.
  private(set) var isRecovered = false
  /// The conversation has ended in order, and this host has heard how far its calls were written.
  private var isSettled = false
  /// How far what there is has been told since the owner asked for it.
  private var past = Past.told
  private var wanted = FleetWanted()
  /// What was said of it since the last turn that goes on with that; after a whole portion one comes.
  private var saidInTurn = 0
  /// Why the fleet has no conversation, as it was told last.
  private var toldTrouble: UpstreamFailure?
  /// A program has come that is told it as well, in a later turn.
  private var isHurried = false
  private var timer: Timers.ID?

  /// Interests of which something is said in one turn.
  static let interestPortion = 512
  /// Where it is not known whether the engine's server is the one that counts it is asked again after that.
  private static let proofPause: Duration = .seconds(1)

  init(_ link: FleetLink, owner: any UpstreamChannelOwner) {
    self.link = link
    self.owner = owner
  }

  var isOpen: Bool { if case .open = state { true } else { false } }

  /// Whether it takes part in a conversation.
  var isInConversation: Bool {
    switch state {
    case .open, .away: true
    case .reaching, .waiting, .ended: false
    }
  }

  /// The attempt starts.
  func begin() { endAfter(link.settings.handshake, UpstreamFailure.fleetNotReached.detail) }

  // MARK: - The course of a conversation

  /// A conversation has begun, of which this one takes no part yet, or has ended.
  func take(_ marker: FleetMarker) {
    // The replies are read before it.
    if case .open(let conversation) = state, marker.settled == conversation {
      isSettled = link.hearing.isSure(of: conversation)
    }
    switch (state, marker.kind) {
    case (.open, .take), (.away, .take): end(UpstreamFailure(.fleet, "another host of the fleet took the link over"))
    // A holder has closed its link by itself, and the next one opens it: no attempt has failed.
    case (.waiting, .down(DownReason.fleet.rawValue, let detail, _)): tellTrouble(UpstreamFailure(.fleet, detail))
    case (.open, .down(let reason, let detail, _)), (.away, .down(let reason, let detail, _)),
      (.waiting, .down(let reason, let detail, _)):
      end(UpstreamFailure(DownReason(rawValue: reason) ?? .closed, detail))
    case (.reaching, .open), (.waiting, .open):
      // An epoch counts also where nothing was heard in it: a program may come back with a place in it.
      tellPlace()
      advance()
    case (.open, .open), (.away, .open), (.reaching, .take), (.reaching, .down), (.waiting, .take), (.ended, _): break
    }
  }

  /// Everything up to now was read.
  func reachedEnd() {
    isCurrent = true
    advance()
    guard past != .told else { return }
    past = .read
    provePast()
  }

  func lifeBegan() {
    advance()
    provePast()
  }

  /// The engine refuses what a conversation would need, which is asked for again without another attempt.
  func refused(_ failure: UpstreamFailure) {
    if state == .waiting { tellTrouble(failure) }
  }

  func lostEngine(_ failure: UpstreamFailure) {
    isCurrent = false
    if past != .told { past = .asked }
    switch state {
    case .reaching, .waiting:
      state = .reaching
      toldTrouble = nil
      endAfter(link.settings.handshake, failure.detail)
    case .open(let conversation):
      state = .away(conversation)
      endAfter(link.settings.grace, failure.detail)
    // The time goes on from when it was lost first.
    case .away, .ended: break
    }
  }

  /// What is said to this host is refused to it: as where the engine is away, though that is reached.
  func cannotRead(_ failure: UpstreamFailure) {
    if isCurrent { lostEngine(failure) }
    missesEngine()
  }

  /// The holder has cut its link, if it lives, and no marker says so.
  func holderIsSilent() {
    switch state {
    case .open, .away: if let silence = link.silence { end(silence) }
    case .reaching, .waiting: tellTrouble()
    case .ended: break
    }
  }

  /// The engine is not reached, for a reason that may be known by now and may not be the one of before.
  func missesEngine() {
    if state == .reaching { tellTrouble() }
  }

  func end(_ failure: UpstreamFailure) {
    guard state != .ended else { return }
    finish()
    owner?.channelEnded(self, failure)
  }

  private func advance() {
    guard isCurrent else { return }
    switch state {
    case .reaching, .waiting:
      stopTimer()
      guard let part = link.part else {
        state = .waiting
        return tellTrouble()
      }
      guard link.speech.mayTake(part) else {
        state = .waiting
        return link.lives.renew()
      }
      open(part)
    case .away(let conversation):
      guard link.maySpeak else { return }
      stopTimer()
      // Nothing new goes out before what was said before.
      link.speech.sayAgain()
      state = .open(conversation)
    case .open, .ended: break
    }
  }

  private func open(_ part: FleetSpeech.Part) {
    isRecovered = link.speech.stands(in: part.epoch)
    link.speech.take(part)
    state = .open(part.conversation)
    sayWanted()
    // What was said before and is not kept there any more is missing, and the epoch is known, before anything is said.
    tellPlace()
    owner?.channelOpened(self)
  }

  private func tellPlace() {
    if let place = link.hearing.nextPlace { owner?.channel(self, at: place) }
  }

  /// It goes on waiting: the holder tries again by itself. Where the engine refuses several things in turn it is told one of
  /// them, the same each time.
  private func tellTrouble(_ refusal: UpstreamFailure? = nil) {
    let refused = (link.trouble ?? link.silence ?? refusal).map { UpstreamFailure(.fleet, $0.detail) }
    let trouble = refused ?? (link.hearing.present == nil ? link.roster.record?.trouble?.failure : nil)
    guard trouble != toldTrouble else { return }
    toldTrouble = trouble
    if let trouble { owner?.channel(self, waitsFor: trouble) }
  }

  /// The program hears the refusal that is known, and the holder, where that is this host, tries once more.
  private func tellRefusal() {
    isHurried = false
    guard state == .waiting, let toldTrouble, toldTrouble.isRefusal else { return }
    link.onHurry()
    owner?.channel(self, waitsFor: toldTrouble)
  }

  /// A master that was replaced does not have all that there is, and does not know it.
  private func provePast() {
    guard past == .read, link.life != nil else { return }
    past = .proving
    link.lives.proveServer { [weak self] isProven in
      guard let self, past == .proving else { return }
      guard isProven else {
        past = .read
        link.timers.after(Self.proofPause) { [weak self] in self?.provePast() }
        return
      }
      past = .told
      owner?.channelToldPast(self)
    }
  }

  /// What is wanted, and what is not any more: as much as the turn may, and the rest in later ones.
  private func sayWanted() {
    while isInConversation, saidInTurn < Self.interestPortion, let call = wanted.next() {
      link.speech.say(call)
      saidInTurn += 1
      guard saidInTurn == Self.interestPortion else { continue }
      link.timers.after(.zero) { [weak self] in
        self?.saidInTurn = 0
        self?.sayWanted()
      }
    }
  }

  private func endAfter(_ delay: Duration, _ sentence: String) {
    link.timers.cancel(timer)
    timer = link.timers.after(delay) { [weak self] in
      guard let self else { return }
      // What failed last says more than what failed first.
      end(UpstreamFailure(.fleet, link.trouble?.detail ?? sentence))
    }
  }

  private func stopTimer() {
    link.timers.cancel(timer)
    timer = nil
  }

  private func finish() {
    state = .ended
    stopTimer()
    link.ended(self)
  }

  // MARK: - Hearing

  func take(_ entry: FleetEntry, at position: FleetPosition, epoch: String?) {
    guard let owner, let epoch else { return }
    switch entry {
    case .marker: break
    case .event(let event):
      owner.channel(self, at: place(event.head, position, epoch))
      let question = question(event.head, position)
      owner.channel(
        self, receivedEvent: event.name.span.bytes, arguments: event.arguments.span.bytes,
        kwargs: event.kwargs?.span.bytes, ack: question)
    case .tooLong(let head, let name, let size):
      owner.channel(self, at: place(head, position, epoch))
      owner.channel(self, receivedEvent: name.span.bytes, tooLong: size, ack: question(head, position))
    case .dropped(let head, var event):
      owner.channel(self, at: place(head, position, epoch))
      event.ack = question(head, position)
      owner.channel(self, dropped: event)
    }
  }

  func take(_ reply: FleetReplyEntry.Call) {
    guard let owner else { return }
    switch state {
    case .open, .away: break
    case .reaching, .waiting, .ended: return
    }
    switch reply {
    case .written(let number): link.speech.confirm(upTo: number)
    case .acknowledged(let id, let answer): acknowledged(id, answer, owner)
    case .progressed(let id, let answer):
      if answer.isOmitted {
        owner.channel(self, answered: id, tooLong: answer.byteCount, isPart: true)
      } else {
        owner.channel(
          self, progressed: id, arguments: answer.args.span.bytes, kwargs: answer.kwargs?.span.bytes)
      }
    case .failed(let id, let error): owner.channel(self, failed: id, error)
    case .refused(let number, let problem):
      switch link.speech[number] {
      case .write(_, let ack, _), .enter(_, let ack, _):
        owner.channel(self, refused: ack.map { .awaiting(ack: $0) } ?? .handedOver(number: number), problem)
      case .leave, .answer, .decline, .forget, .want, .drop, nil: break
      }
    case .missing(let number): link.speech.sayAgain(from: number)
    case .answered(let interest, let refusal):
      owner.channel(self, answered: interest, refusal?.failure)
    case .withdrew(let id): owner.channel(self, withdrew: id)
    }
  }

  private func place(_ head: FleetEvent.Head, _ position: FleetPosition, _ epoch: String) -> EventPlace {
    EventPlace(epoch: epoch, sequence: position.number, time: head.time)
  }

  /// The question of an event, if this host is asked and the server still waits.
  private func question(_ head: FleetEvent.Head, _ position: FleetPosition) -> UInt64? {
    guard let question = head.question, question.host == link.host else { return nil }
    switch state {
    case .open(position.conversation), .away(position.conversation): return question.id
    case .open, .away, .reaching, .waiting, .ended: return nil
    }
  }

  private func acknowledged(_ id: UInt64, _ answer: RemoteAnswer, _ owner: any UpstreamChannelOwner) {
    if answer.isOmitted {
      owner.channel(self, answered: id, tooLong: answer.byteCount, isPart: false)
    } else if answer.isReadable {
      owner.channel(self, acknowledged: id, arguments: answer.args.span.bytes, kwargs: answer.kwargs?.span.bytes)
    } else {
      owner.channel(self, answeredUnreadably: id)
    }
  }
}

extension FleetChannel: UpstreamChannel {
  func write(_ message: PreparedMessage, ack: UInt64?) { say(.write(message, ack: ack, row: nil)) }

  func write(_ message: PreparedMessage, ack: UInt64?, entry: UInt64) {
    say(.write(message, ack: ack, row: link.box.name(of: entry)))
  }

  func enter(_ message: PreparedMessage, ack: UInt64?, leave: PreparedLeave?) {
    say(.enter(message, ack: ack, leave: leave))
  }

  func leave(_ leave: PreparedLeave?, of entered: PreparedMessage) { say(.leave(leave, of: entered)) }
  var sharesEntered: Bool { true }

  func answer(_ id: UInt64, _ message: PreparedMessage) { say(.answer(id, message)) }
  func forget(ack: UInt64) { say(.forget(ack: ack)) }

  @discardableResult
  func decline(_ id: UInt64, _ why: AnswerAbsence) -> Bool {
    say(.decline(id, why))
    return true
  }

  func hurry() {
    guard state == .waiting, toldTrouble?.isRefusal == true, !isHurried else { return }
    isHurried = true
    link.timers.after(.zero) { [weak self] in self?.tellRefusal() }
  }

  func want(_ interest: Interest) {
    wanted.want(interest)
    sayWanted()
  }

  func drop(_ interest: Interest) {
    wanted.drop(interest)
    sayWanted()
  }

  /// The fleet has time-outs of its own.
  func checkHeartbeat() {}
  func verify() {}

  func tellPast() {
    guard state != .ended else { return }
    past = .asked
    link.readToPresent()
  }

  func close() {
    if state != .ended { finish() }
  }

  /// What the holder has not confirmed, and so may be lost with it.
  var unsentBytes: Int { link.speech.unconfirmed.bytes }
  var confirmations: WriteConfirmations? {
    WriteConfirmations(written: link.speech.last, confirmed: link.speech.confirmed, isFinal: isSettled)
  }
  /// Of what the holder says, which has looked through it.
  func repeatsCredentials(_ failure: UpstreamFailure) -> Bool { false }
  var isCongested: Bool {
    let (count, bytes) = link.speech.unconfirmed
    return bytes > CommandFlow.byteLimit || count > CommandFlow.handedOverLimit || !isOpen
  }

  var facts: ChannelFacts { ChannelFacts(link: "fleet", server: link.engine.server?.address) }

  private func say(_ call: FleetUpEntry.Call) {
    if isInConversation { link.speech.say(call) }
  }
}
