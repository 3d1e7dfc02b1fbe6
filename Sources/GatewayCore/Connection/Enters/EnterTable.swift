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
    /// acknowledgement where none was asked for, or, with the link, `kept` or `breaking`.
    case said(isAcknowledged: Bool)
    /// The server declined it, or has not acknowledged it in time. May become `asked` or `said` for a new holder, or
    /// `unsaid` or `doubtful`, with the link.
    case refused(mayHaveArrived: Bool)
    /// The link broke because of it: it is not said, on no link. Becomes `unsaid` for a new holder.
    case breaking
    /// It was said on a link that ended. Becomes `said` if the server goes on where that link ended, else `unsaid`.
    case kept(isAcknowledged: Bool)
    /// It may have arrived on a link that ended. Becomes `unsaid` with the next one.
    case doubtful
  }

  private struct Entry {
    /// Orders the entries. Those of the configuration have negative ones.
    var number: Int
    var holders = EnterHolders()
    var isConfigured = false
    var standing = Standing.unsaid
    /// It was said on this link before, and may have been taken then: another refusal does not undo that.
    var mayBeIn = false
    /// Ends the waiting for the acknowledgement.
    var timer: Timers.ID?
    var doubt = EnterDoubt()
    /// Its holders were told that it is refused, and not yet that it is no more.
    var isToldRefused = false

    var isHeld: Bool { !holders.isEmpty || isConfigured }

    /// Whether the server has it, and has not shown yet that the link survives it.
    func isUnproven(at now: MonotonicInstant) -> Bool {
      guard doubt.isFresh(at: now) else { return false }
      switch standing {
      case .asked, .said(isAcknowledged: false): return true
      case .unsaid, .said, .refused, .breaking, .kept, .doubtful: return false
      }
    }
  }

  private var entries: [EnterMessage: Entry] = [:]
  /// Whose acknowledgement that is.
  private var asked: [UInt64: EnterMessage] = [:]
  private(set) var trials = EnterTrials()
  private var nextNumber = 0
  /// The conversation has begun: what is held from now on is said at once.
  private(set) var isOpen = false

  /// How many messages are held.
  var heldCount: Int { entries.values.count { $0.isHeld } }

  // MARK: - Holders

  /// What the configuration wants to have said, before all others. What is said already stays as it is.
  mutating func configure(_ messages: [EnterMessage], at now: MonotonicInstant) {
    for (message, var entry) in entries where entry.isConfigured {
      entry.isConfigured = false
      entry.number = makeNumber()
      entries[message] = entry.isHeld ? entry : nil
    }
    for (index, message) in messages.enumerated() {
      var entry = entries[message] ?? Entry(number: 0)
      entry.isConfigured = true
      entry.number = index - messages.count
      entries[message] = entry
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
      entries[message] = entry
      admit(message, at: now)
    }
  }

  private mutating func makeEntry(_ message: EnterMessage, at now: MonotonicInstant) -> Entry {
    var entry = Entry(number: makeNumber())
    entry.doubt = trials.recall(message, at: now)
    return entry
  }

  /// What broke the link may be tried once more, alone, because it was entered anew.
  private mutating func admit(_ message: EnterMessage, at now: MonotonicInstant) {
    guard entries[message]?.standing == .breaking else { return }
    entries[message]?.standing = .unsaid
    entries[message]?.doubt.enteredAnew(at: now)
  }

  /// A subscription of a user has gone. Returns what undoes what it was the last to hold, as far as the server was told
  /// of that.
  mutating func giveBack(_ held: [HeldEnter], of user: AccessIdentity, at now: MonotonicInstant) -> [Ended] {
    held.compactMap { one in
      guard var entry = entries[one.enter.message] else { return nil }
      entry.holders.remove(one, of: user)
      entries[one.enter.message] = entry
      guard !entry.isHeld, var ended = end(one.enter.message, entry, at: now) else { return nil }
      ended.isNamedByLast = one.leave != nil
      return ended
    }
  }

  /// A message that no subscription holds any more.
  struct Ended {
    /// What undoes it, where the server has to be told now.
    var undone: EnterEnding?
    /// The subscription that has gone named that itself: its rights were those of the moment before.
    var isNamedByLast = false
    /// An acknowledgement that is not awaited any more.
    var forgotten: UInt64?
    var timer: Timers.ID?
  }

  private mutating func end(_ message: EnterMessage, _ entry: Entry, at now: MonotonicInstant) -> Ended? {
    // Whether there is anything to be undone is known with the next link, and what it breaks with this one; and a
    // program may hold it again before that.
    switch entry.standing {
    case .kept, .doubtful: return nil
    case .unsaid, .asked, .said, .refused, .breaking: break
    }
    trials.remember(
      entry.standing == .breaking ? .known(at: now) : entry.doubt, of: message, for: entry.holders.lastAccount, at: now)
    entries[message] = nil
    var ended = Ended(timer: entry.timer)
    switch entry.standing {
    case .asked(let ack):
      asked[ack] = nil
      ended.forgotten = ack
      ended.undone = entry.holders.ending
    case .said, .refused(mayHaveArrived: true): ended.undone = entry.holders.ending
    case .unsaid, .breaking, .kept, .doubtful, .refused(mayHaveArrived: false): break
    }
    return ended
  }

  func isConfigured(_ message: EnterMessage) -> Bool { entries[message]?.isConfigured == true }

  /// The user who pays for a message: one of its holders, and nil for one of the configuration alone.
  func payer(of message: EnterMessage) -> Account? { entries[message]?.holders.payer }

  // MARK: - Saying

  /// A conversation begins. Returns what is to be said now, and what is to be undone because its last holder ended
  /// while there was no link.
  mutating func open(isRecovered: Bool, at now: MonotonicInstant) -> (leaves: [EnterEnding], enters: [EnterMessage]) {
    isOpen = true
    var leaves: [(number: Int, leave: EnterEnding)] = []
    for (message, entry) in entries {
      switch entry.standing {
      case .kept(let isAcknowledged):
        entries[message]?.standing = isRecovered ? .said(isAcknowledged: isAcknowledged) : .unsaid
      case .doubtful: entries[message]?.standing = .unsaid
      case .unsaid, .asked, .said, .refused, .breaking: break
      }
      guard !entry.isHeld else { continue }
      if isRecovered, let leave = entry.holders.ending { leaves.append((entry.number, leave)) }
      trials.remember(entry.doubt, of: message, for: entry.holders.lastAccount, at: now)
      entries[message] = nil
    }
    let unsaid = entries.filter { $0.value.standing == .unsaid && !$0.value.doubt.isSuspected }
      .sorted { $0.value.number < $1.value.number }
    return (leaves.sorted { $0.number < $1.number }.map(\.leave), unsaid.map(\.key))
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

  /// Whether it still has to be said on this link.
  func isUnsaid(_ message: EnterMessage) -> Bool { entries[message]?.standing == .unsaid }

  /// Whether it is to be said with an acknowledgement; nil: no subscription holds it any more.
  func wantsAck(_ message: EnterMessage) -> Bool? { entries[message].map { $0.holders.ackCount > 0 } }

  /// It was written. With `ack` the server's acknowledgement is awaited, until `timer` ends that. Returns whether its
  /// holders have to be told that it is not refused any more.
  mutating func said(_ message: EnterMessage, ack: UInt64?, timer: Timers.ID?, at now: MonotonicInstant) -> Bool {
    guard var entry = entries[message] else { return false }
    switch entry.standing {
    case .said, .refused(mayHaveArrived: true): entry.mayBeIn = true
    case .unsaid, .asked, .refused, .breaking, .kept, .doubtful: break
    }
    entry.standing = ack.map { .asked($0) } ?? .said(isAcknowledged: false)
    entry.timer = timer
    entry.doubt.saidAt = now
    if let ack { asked[ack] = message }
    let isNews = ack == nil && entry.isToldRefused
    if isNews { entry.isToldRefused = false }
    entries[message] = entry
    return isNews
  }

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
    entry.timer = nil
    let isRefused =
      switch answered.standing {
      case .refused, .breaking: true
      case .unsaid, .asked, .said, .kept, .doubtful: false
      }
    answered.isNews = isRefused || entry.isToldRefused
    entry.isToldRefused = isRefused
    // It was answered, and the link is there.
    if answered.standing != .breaking { entry.doubt.clear() }
    entries[message] = entry
    return answered
  }

  /// The link is gone. Returns what waited for acknowledgements.
  mutating func endOfLink() -> [Timers.ID] {
    isOpen = false
    asked = [:]
    trials.end()
    var timers: [Timers.ID] = []
    for (message, var entry) in entries {
      if let timer = entry.timer { timers.append(timer) }
      entry.timer = nil
      entry.mayBeIn = false
      entry.doubt.saidAt = nil
      switch entry.standing {
      case .said(let isAcknowledged): entry.standing = .kept(isAcknowledged: isAcknowledged)
      case .asked, .refused(mayHaveArrived: true): entry.standing = .doubtful
      case .refused(mayHaveArrived: false): entry.standing = .unsaid
      case .unsaid, .breaking, .kept, .doubtful: break
      }
      entries[message] = entry
    }
    return timers
  }

  // MARK: - What breaks the link

  /// The link broke, and still counts as there. What the server had not shown by then that it can live with is blamed:
  /// the one that is tried alone, or else all of them. Returns what is held to be the reason from now on.
  mutating func blame(at now: MonotonicInstant) -> [EnterMessage] {
    var breaking: [EnterMessage] = []
    for (message, entry) in entries where entry.doubt.saidAt != nil {
      guard trials.isCurrent(message) || entry.isUnproven(at: now) else {
        entries[message]?.doubt.clear()
        continue
      }
      guard trials.mayBlame(message) else { continue }
      if entries[message]?.doubt.linkBroke(at: now, isAlone: trials.isAlone(message)) == true {
        entries[message]?.standing = .breaking
        breaking.append(message)
      }
    }
    return breaking.sorted { (entries[$0]?.number ?? 0) < (entries[$1]?.number ?? 0) }
  }

  /// The server has said that it broke the link because of this one.
  mutating func condemn(_ message: EnterMessage) { entries[message]?.standing = .breaking }

  /// What was written to this link and has shown nothing yet.
  func unproven(at now: MonotonicInstant) -> [EnterMessage] {
    entries.filter { $0.value.isUnproven(at: now) }.map(\.key)
  }

  /// The suspected message whose turn is the next, and when that is.
  var nextTrial: (message: EnterMessage, due: MonotonicInstant)? {
    var next: (message: EnterMessage, due: MonotonicInstant, number: Int)?
    for (message, entry) in entries where entry.standing == .unsaid && entry.isHeld {
      guard let due = entry.doubt.trialDue else { continue }
      if let next, (next.due, next.number) < (due, entry.number) { continue }
      next = (message, due, entry.number)
    }
    return next.map { ($0.message, $0.due) }
  }

  mutating func begin(_ trial: EnterTrials.Trial) { trials.begin(trial) }

  /// The link has outlived what was tried. It stands as all others from now on.
  mutating func endTrial() {
    if let message = trials.end() { entries[message]?.doubt.clear() }
  }
}
