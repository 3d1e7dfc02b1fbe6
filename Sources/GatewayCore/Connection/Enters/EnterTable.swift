/// What is said to the server of one connection at every connect: each message once, however many subscriptions hold
/// it, in the order in which they were first held. Decision 0119.
struct EnterTable {
  enum Standing: Equatable {
    /// The server was not told on this link. May become `asked` or `said`; where it is suspected of breaking the link,
    /// only in a trial.
    case unsaid
    /// An acknowledgement with this id is awaited. May become `said`, `refused` or, with the link, `doubtful` or
    /// `breaking`.
    case asked(UInt64)
    /// Written and, where that was asked for, acknowledged. May become `asked`, for a holder that wants an
    /// acknowledgement where none was asked for, `refused`, where the other end of the link does not give it to the
    /// server, or, with the link, `kept` or `breaking`.
    case said(isAcknowledged: Bool)
    /// The server declined it or was not given it, or has not acknowledged it in time. May become `asked` or `said` for a
    /// new holder, or `unsaid` or `doubtful`, with the link.
    case refused(mayHaveArrived: Bool)
    /// The link broke because of it: it is not said, on no link. Becomes `unsaid` for a new holder.
    case breaking
    /// It was said on a link that ended. Becomes `said` if the server goes on where that link ended, and no other hosts
    /// share it, else `unsaid`.
    case kept(isAcknowledged: Bool)
    /// It may have arrived on a link that ended. Becomes `unsaid` with the next one.
    case doubtful
  }

  private var entries: [EnterMessage: EnterEntry] = [:]
  /// Those that wait for their trial, by when they may be tried.
  private var suspects = EnterOrder()
  /// Those that the server has on this link and has not shown to live with, by when they were written; some that the link
  /// has outlived among them.
  private var written = EnterOrder()
  /// Whose acknowledgement that is.
  private var asked: [UInt64: EnterMessage] = [:]
  /// Of those without one, which was written under that number.
  private var numbered: [UInt64: EnterMessage] = [:]
  private(set) var trials = EnterTrials()
  private var nextNumber = 0
  /// The conversation has begun: what is held from now on is said at once.
  private(set) var isOpen = false

  /// How many messages are held.
  var heldCount: Int { entries.values.count { $0.isHeld } }

  /// The one way to change an entry of a link that is there.
  private mutating func put(_ entry: EnterEntry?, for message: EnterMessage) {
    let old = entries[message]
    entries[message] = entry
    suspects.move(message, from: old?.trialPlace, to: entry?.trialPlace)
    written.move(message, from: old?.writtenPlace, to: entry?.writtenPlace)
    guard old?.writeNumber != entry?.writeNumber else { return }
    if let number = old?.writeNumber { numbered[number] = nil }
    if let number = entry?.writeNumber { numbered[number] = message }
  }

  private mutating func change(_ message: EnterMessage, _ body: (inout EnterEntry) -> Void) {
    guard var entry = entries[message] else { return }
    body(&entry)
    put(entry, for: message)
  }

  // MARK: - Holders

  /// What the configuration wants to have said, before all others. What is said already stays as it is.
  mutating func configure(_ messages: [EnterMessage], at now: MonotonicInstant) {
    for (message, var entry) in entries where entry.isConfigured {
      entry.isConfigured = false
      entry.number = makeNumber()
      put(entry.isHeld ? entry : nil, for: message)
    }
    for (index, message) in messages.enumerated() {
      var entry = entries[message] ?? EnterEntry(number: 0)
      entry.isConfigured = true
      entry.number = index - messages.count
      put(entry, for: message)
      admit(message, at: now)
    }
  }

  private mutating func makeNumber() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  /// One more subscription of a user holds these.
  mutating func hold(_ held: [HeldEnter], of user: AccessIdentity, at now: MonotonicInstant) {
    for one in held {
      let message = one.enter.message
      var entry = entries[message] ?? makeEntry(message, at: now)
      entry.holders.add(one, of: user)
      put(entry, for: message)
      admit(message, at: now)
    }
  }

  private mutating func makeEntry(_ message: EnterMessage, at now: MonotonicInstant) -> EnterEntry {
    var entry = EnterEntry(number: makeNumber())
    entry.doubt = trials.recall(message, at: now)
    return entry
  }

  /// What broke the link may be tried once more, alone, because it was entered anew.
  private mutating func admit(_ message: EnterMessage, at now: MonotonicInstant) {
    guard entries[message]?.standing == .breaking else { return }
    change(message) {
      $0.standing = .unsaid
      $0.doubt.enteredAnew(at: now)
    }
  }

  /// A subscription of a user has gone. Returns what undoes what it was the last to hold, as far as the server was told
  /// of that. What stays of it counts in the user's share.
  mutating func giveBack(
    _ held: [HeldEnter], of user: AccessIdentity, at now: MonotonicInstant, in shares: FilterShares
  ) -> [Ended] {
    held.compactMap { one in
      let message = one.enter.message
      guard var entry = entries[message] else { return nil }
      entry.holders.remove(one, of: user)
      put(entry, for: message)
      if !entry.isHeld, var ended = end(message, entry, at: now) {
        ended.isNamedByLast = one.leave != nil
        return ended
      }
      change(message) { $0.holders.keep(one, of: user, isNeeded: $0.isHeld, in: shares) }
      return nil
    }
  }

  /// A message that no subscription holds any more.
  struct Ended {
    let message: EnterMessage
    /// The server was told of it on this link, or was to be.
    var wasSaid = false
    /// What undoes it, where the server has to be told now.
    var undone: EnterEnding?
    /// The subscription that has gone named that itself: its rights were those of the moment before.
    var isNamedByLast = false
    /// An acknowledgement that is not awaited any more.
    var forgotten: UInt64?
    var timer: Timers.ID?
  }

  private mutating func end(_ message: EnterMessage, _ entry: EnterEntry, at now: MonotonicInstant) -> Ended? {
    // Whether there is anything to be undone is known with the next link, and what it breaks with this one; and a
    // program may hold it again before that.
    switch entry.standing {
    case .kept, .doubtful: return nil
    case .unsaid, .asked, .said, .refused, .breaking: break
    }
    trials.remember(
      entry.standing == .breaking ? .known(at: now) : entry.doubt, of: message, for: entry.holders.lastAccount, at: now)
    put(nil, for: message)
    var ended = Ended(message: message, timer: entry.timer)
    switch entry.standing {
    case .asked(let ack):
      asked[ack] = nil
      ended.forgotten = ack
      ended.undone = entry.holders.ending(of: message)
      ended.wasSaid = true
    case .said, .refused(mayHaveArrived: true):
      ended.undone = entry.holders.ending(of: message)
      ended.wasSaid = true
    case .refused(mayHaveArrived: false): ended.wasSaid = true
    case .unsaid, .breaking, .kept, .doubtful: break
    }
    return ended
  }

  func isConfigured(_ message: EnterMessage) -> Bool { entries[message]?.isConfigured == true }

  /// The user who pays for a message: its first holder, and nil for one of the configuration alone.
  func payer(of message: EnterMessage) -> Account? { entries[message]?.holders.payer }

  // MARK: - Saying

  /// A conversation begins. Returns what is to be said now, and what is to be undone because its last holder ended
  /// while there was no link. `saysAgain`: also what stands where the server goes on.
  mutating func open(
    isRecovered: Bool, saysAgain: Bool = false, at now: MonotonicInstant
  ) -> (leaves: [EnterEnding], enters: [EnterMessage]) {
    isOpen = true
    var leaves: [EnterEnding] = []
    var unsaid: [(number: Int, message: EnterMessage)] = []
    var suspected: [(place: EnterOrder.Place, message: EnterMessage)] = []
    var ended: [(message: EnterMessage, entry: EnterEntry)] = []
    changeAll { message, entry in
      entry.linkBegan(isRecovered: isRecovered && !saysAgain)
      if !entry.isHeld {
        ended.append((message, entry))
      } else if let place = entry.trialPlace {
        suspected.append((place, message))
      } else if entry.standing == .unsaid {
        unsaid.append((entry.number, message))
      }
    }
    suspects.set(suspected)
    // Where a user's share of what is remembered does not suffice, the latest stay.
    ended.sort { $0.entry.number < $1.entry.number }
    for (message, entry) in ended {
      if isRecovered, let leave = entry.holders.ending(of: message) { leaves.append(leave) }
      trials.remember(entry.doubt, of: message, for: entry.holders.lastAccount, at: now)
      entries[message] = nil
    }
    unsaid.sort { $0.number < $1.number }
    return (leaves, unsaid.map(\.message))
  }

  /// Changes all where they stand, without looking any of them up. What that does to `suspects` and `written` is the
  /// caller's.
  private mutating func changeAll(_ body: (EnterMessage, inout EnterEntry) -> Void) {
    var index = entries.startIndex
    while index != entries.endIndex {
      let message = entries.keys[index]
      body(message, &entries.values[index])
      entries.formIndex(after: &index)
    }
  }

  /// Of these, in their order, what the server has to be told now for a new holder.
  func unsaid(_ held: [HeldEnter]) -> [EnterMessage] {
    guard isOpen else { return [] }
    return held.compactMap { one in
      let entry = entries[one.enter.message]
      return switch entry?.standing {
      case .unsaid where entry?.doubt.isSuspected == true: nil
      case .unsaid, .refused: one.enter.message
      case .said(isAcknowledged: false) where one.enter.wantsAck: one.enter.message
      case .asked, .said, .breaking, .kept, .doubtful, nil: nil
      }
    }
  }

  /// What undoes a message, as far as those that hold it have named it.
  func undoing(of message: EnterMessage) -> EnterRequest? { entries[message]?.holders.undoing?.leave }

  /// Whether it still has to be said on this link.
  func isUnsaid(_ message: EnterMessage) -> Bool { entries[message]?.standing == .unsaid }

  /// Whether it is to be said with an acknowledgement; nil: no subscription holds it any more.
  func wantsAck(_ message: EnterMessage) -> Bool? { entries[message].map { $0.holders.ackCount > 0 } }

  /// It was written, and had this size. With `ack` the server's acknowledgement is awaited, until `timer` ends that.
  /// Returns whether its holders have to be told that it is not refused any more.
  mutating func said(
    _ message: EnterMessage, _ size: MessageSize, ack: UInt64?, timer: Timers.ID?, at now: MonotonicInstant
  ) -> Bool {
    clearOutlived(at: now)
    guard var entry = entries[message] else { return false }
    entry.size = size
    switch entry.standing {
    case .said, .refused(mayHaveArrived: true): entry.mayBeIn = true
    case .unsaid, .asked, .refused, .breaking, .kept, .doubtful: break
    }
    entry.standing = ack.map { .asked($0) } ?? .said(isAcknowledged: false)
    (entry.timer, entry.writeNumber) = (timer, nil)
    entry.doubt.saidAt = now
    if let ack { asked[ack] = message }
    let isNews = ack == nil && entry.isToldRefused
    if isNews { entry.isToldRefused = false }
    put(entry, for: message)
    return isNews
  }

  /// It was written under that number without an acknowledgement, and the other end of the link may refuse it.
  mutating func wrote(_ message: EnterMessage, as number: UInt64) { change(message) { $0.writeNumber = number } }

  /// Of these, what the server still owes an acknowledgement for that the holder asked for, or will when it was said.
  func awaited(_ held: [HeldEnter]) -> Set<EnterMessage> {
    Set(
      held.filter(\.enter.wantsAck).map(\.enter.message).filter { message in
        switch entries[message]?.standing {
        case .asked, .unsaid: true
        case .said, .refused, .breaking, .kept, .doubtful, nil: false
        }
      })
  }

  /// Whose acknowledgement has that id.
  func message(awaiting ack: UInt64) -> EnterMessage? { asked[ack] }

  /// Whose write that is.
  func message(of write: UnconfirmedWrite) -> EnterMessage? {
    switch write {
    case .awaiting(let ack): asked[ack]
    case .handedOver(let number): numbered[number]
    }
  }

  /// What an answer has ended.
  struct Answered {
    /// The waiting for the acknowledgement.
    var timer: Timers.ID?
    var ack: UInt64?
    /// Where the message stands now.
    var standing: Standing
    /// Its holders do not know that yet.
    var isNews = true
  }

  /// It was answered, will not be, or could not be written: what may be in from an earlier saying is not out because a
  /// later one was declined.
  mutating func answered(_ message: EnterMessage, _ answer: Standing) -> Answered {
    guard var entry = entries[message] else { return Answered(standing: answer) }
    var answered = Answered(timer: entry.timer, standing: answer)
    if answer == .refused(mayHaveArrived: false), entry.mayBeIn { answered.standing = .refused(mayHaveArrived: true) }
    if case .asked(let awaited) = entry.standing {
      answered.ack = awaited
      asked[awaited] = nil
    }
    entry.standing = answered.standing
    (entry.timer, entry.writeNumber) = (nil, nil)
    let isRefused =
      switch answered.standing {
      case .refused, .breaking: true
      case .unsaid, .asked, .said, .kept, .doubtful: false
      }
    answered.isNews = isRefused || entry.isToldRefused
    entry.isToldRefused = isRefused
    // It was answered, and the link is there.
    if answered.standing != .breaking { entry.doubt.clear() }
    put(entry, for: message)
    return answered
  }

  /// The link is gone. Returns what waited for acknowledgements.
  mutating func endOfLink() -> [Timers.ID] {
    isOpen = false
    (asked, numbered) = ([:], [:])
    trials.end()
    (suspects, written) = (EnterOrder(), EnterOrder())
    var timers: [Timers.ID] = []
    changeAll { _, entry in
      if let timer = entry.timer { timers.append(timer) }
      entry.linkEnded()
    }
    return timers
  }

  // MARK: - What breaks the link

  /// The link broke, and still counts as there. What the server had not shown by then that it can live with is blamed:
  /// the one that is tried alone, or else all of them. Returns what is held to be the reason from now on.
  mutating func blame(at now: MonotonicInstant) -> [EnterMessage] {
    clearOutlived(at: now)
    let trials = trials
    var blamed = unproven(at: now).filter { trials.mayBlame($0) && !trials.isCurrent($0) }
    if let tried = trials.tried, entries[tried]?.doubt.saidAt != nil { blamed.append(tried) }
    var breaking: [(number: Int, message: EnterMessage)] = []
    for message in blamed {
      change(message) {
        guard $0.doubt.linkBroke(at: now, isAlone: trials.isAlone(message)) else { return }
        $0.standing = .breaking
        breaking.append(($0.number, message))
      }
    }
    return breaking.sorted { $0.number < $1.number }.map(\.message)
  }

  /// What was written so long ago that it has not broken the link, but for the one that is tried.
  private mutating func clearOutlived(at now: MonotonicInstant) {
    for message in written.takeAll(before: EnterDoubt.outlived(at: now)) where !trials.isCurrent(message) {
      entries[message]?.doubt.clear()
    }
  }

  /// The server has said that it broke the link because of this one.
  mutating func condemn(_ message: EnterMessage) { change(message) { $0.standing = .breaking } }

  /// What was written to this link and has shown nothing yet.
  func unproven(at now: MonotonicInstant) -> [EnterMessage] {
    written.messages(from: EnterDoubt.outlived(at: now))
  }

  /// Whether there is any of that.
  func hasUnproven(at now: MonotonicInstant) -> Bool {
    written.last.map { now < $0.place.time + EnterDoubt.proof } ?? false
  }

  /// The size that it had when it was written.
  func size(of message: EnterMessage) -> MessageSize? { entries[message]?.size }

  /// The suspected message whose turn is the next, and when that is.
  var nextTrial: (message: EnterMessage, due: MonotonicInstant)? {
    suspects.first.map { ($0.message, $0.place.time) }
  }

  mutating func begin(_ trial: EnterTrials.Trial) { trials.begin(trial) }

  /// The link has outlived what was tried. It stands as all others from now on.
  mutating func endTrial() {
    if let message = trials.end() { change(message) { $0.doubt.clear() } }
  }
}
