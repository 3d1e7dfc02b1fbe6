/// What is said to the server of one connection at every connect: each message once, however many subscriptions hold
/// it, in the order in which they were first held. Decision 0119.
struct EnterTable {
  enum Standing: Equatable {
    /// The server was not told on this link. May become `asked` or `said`.
    case unsaid
    /// An acknowledgement with this id is awaited. May become `said`, `refused` or, with the link, `doubtful`.
    case asked(UInt64)
    /// Written and, where that was asked for, acknowledged. May become `asked`, for a holder that wants an
    /// acknowledgement where none was asked for, or `kept`, with the link.
    case said(isAcknowledged: Bool)
    /// The server declined it, or has not acknowledged it in time. May become `asked` or `said` for a new holder, or
    /// `unsaid` or `doubtful`, with the link.
    case refused(mayHaveArrived: Bool)
    /// It was said on a link that ended. Becomes `said` if the server goes on where that link ended, else `unsaid`.
    case kept(isAcknowledged: Bool)
    /// It may have arrived on a link that ended. Becomes `unsaid` with the next one.
    case doubtful
  }

  private struct Entry {
    /// Orders the entries. Those of the configuration have negative ones.
    var number: Int
    var holders = 0
    /// Of these, those that want an acknowledgement.
    var ackHolders = 0
    /// Said at the end of the last holder: what the last one that named any has named.
    var leave: EnterRequest?
    var isConfigured = false
    var standing = Standing.unsaid
    /// It was said on this link before, and may have been taken then: another refusal does not undo that.
    var mayBeIn = false
    /// Ends the waiting for the acknowledgement.
    var timer: Timers.ID?

    var isHeld: Bool { holders > 0 || isConfigured }
  }

  private var entries: [EnterMessage: Entry] = [:]
  /// Whose acknowledgement that is.
  private var asked: [UInt64: EnterMessage] = [:]
  private var nextNumber = 0
  /// The conversation has begun: what is held from now on is said at once.
  private(set) var isOpen = false

  /// How many messages are held.
  var heldCount: Int { entries.values.count { $0.isHeld } }

  // MARK: - Holders

  /// What the configuration wants to have said, before all others. What is said already stays as it is.
  mutating func configure(_ messages: [EnterMessage]) {
    for (message, var entry) in entries where entry.isConfigured {
      entry.isConfigured = false
      entry.number = makeNumber()
      entries[message] = entry.holders > 0 ? entry : nil
    }
    for (index, message) in messages.enumerated() {
      var entry = entries[message] ?? Entry(number: 0)
      entry.isConfigured = true
      entry.number = index - messages.count
      entries[message] = entry
    }
  }

  private mutating func makeNumber() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  /// One more subscription holds these.
  mutating func hold(_ held: [HeldEnter]) {
    for one in held {
      var entry = entries[one.enter.message] ?? Entry(number: makeNumber())
      entry.holders += 1
      if one.enter.wantsAck { entry.ackHolders += 1 }
      entry.leave = one.leave ?? entry.leave
      entries[one.enter.message] = entry
    }
  }

  /// A subscription has gone. Returns what undoes what it was the last to hold, as far as the server was told of that.
  mutating func giveBack(_ held: [HeldEnter]) -> [Ended] {
    held.compactMap { one in
      guard var entry = entries[one.enter.message] else { return nil }
      entry.holders -= 1
      if one.enter.wantsAck { entry.ackHolders -= 1 }
      // What the others have named for it is as good.
      entry.leave = one.leave ?? entry.leave
      entries[one.enter.message] = entry
      return entry.isHeld ? nil : end(one.enter.message, entry)
    }
  }

  /// A message that no subscription holds any more.
  struct Ended {
    /// What is to be said now.
    var leave: EnterRequest?
    /// An acknowledgement that is not awaited any more.
    var forgotten: UInt64?
    var timer: Timers.ID?
  }

  private mutating func end(_ message: EnterMessage, _ entry: Entry) -> Ended? {
    // Whether there is anything to be undone is known with the next link; and a program may hold it again before that.
    switch entry.standing {
    case .kept, .doubtful: return nil
    case .unsaid, .asked, .said, .refused: break
    }
    entries[message] = nil
    var ended = Ended(timer: entry.timer)
    switch entry.standing {
    case .asked(let ack):
      asked[ack] = nil
      ended.forgotten = ack
      ended.leave = entry.leave
    case .said, .refused(mayHaveArrived: true): ended.leave = entry.leave
    case .unsaid, .kept, .doubtful, .refused(mayHaveArrived: false): break
    }
    return ended
  }

  /// A program may not say that any more: it is not said in its name.
  mutating func forget(leave: EnterRequest, of message: EnterMessage) {
    if entries[message]?.leave == leave { entries[message]?.leave = nil }
  }

  func isConfigured(_ message: EnterMessage) -> Bool { entries[message]?.isConfigured == true }

  // MARK: - Saying

  /// A conversation begins. Returns what is to be said now, and what is to be undone because its last holder ended
  /// while there was no link.
  mutating func open(isRecovered: Bool) -> (leaves: [EnterRequest], enters: [EnterMessage]) {
    isOpen = true
    var leaves: [(number: Int, leave: EnterRequest)] = []
    for (message, entry) in entries {
      switch entry.standing {
      case .kept(let isAcknowledged):
        entries[message]?.standing = isRecovered ? .said(isAcknowledged: isAcknowledged) : .unsaid
      case .doubtful: entries[message]?.standing = .unsaid
      case .unsaid, .asked, .said, .refused: break
      }
      guard !entry.isHeld else { continue }
      if isRecovered, let leave = entry.leave { leaves.append((entry.number, leave)) }
      entries[message] = nil
    }
    let unsaid = entries.filter { $0.value.standing == .unsaid }.sorted { $0.value.number < $1.value.number }
    return (leaves.sorted { $0.number < $1.number }.map(\.leave), unsaid.map(\.key))
  }

  /// Of these, in their order, what the server has to be told now for a new holder.
  func unsaid(_ held: [HeldEnter]) -> [EnterMessage] {
    guard isOpen else { return [] }
    return held.compactMap { one in
      switch entries[one.enter.message]?.standing {
      case .unsaid, .refused: one.enter.message
      case .said(isAcknowledged: false) where one.enter.wantsAck: one.enter.message
      case .asked, .said, .kept, .doubtful, nil: nil
      }
    }
  }

  /// Whether it is to be said with an acknowledgement; nil: no subscription holds it any more.
  func wantsAck(_ message: EnterMessage) -> Bool? { entries[message].map { $0.ackHolders > 0 } }

  /// It was written. With `ack` the server's acknowledgement is awaited, until `timer` ends that.
  mutating func said(_ message: EnterMessage, ack: UInt64?, timer: Timers.ID?) {
    switch entries[message]?.standing {
    case .said, .refused(mayHaveArrived: true): entries[message]?.mayBeIn = true
    case .unsaid, .asked, .refused, .kept, .doubtful, nil: break
    }
    entries[message]?.standing = ack.map { .asked($0) } ?? .said(isAcknowledged: false)
    entries[message]?.timer = timer
    if let ack { asked[ack] = message }
  }

  /// Of these, what the server still owes an acknowledgement for that the holder asked for.
  func awaited(_ held: [HeldEnter]) -> Set<EnterMessage> {
    Set(
      held.filter(\.enter.wantsAck).map(\.enter.message).filter { message in
        if case .asked = entries[message]?.standing { true } else { false }
      })
  }

  /// Whose acknowledgement has that id.
  func message(awaiting ack: UInt64) -> EnterMessage? { asked[ack] }

  /// It was answered, will not be, or could not be written. Returns what ended the waiting, and where it stands now: what
  /// may be in from an earlier saying is not out because a later one was declined.
  mutating func answered(
    _ message: EnterMessage, _ answer: Standing
  ) -> (timer: Timers.ID?, ack: UInt64?, standing: Standing) {
    guard let entry = entries[message] else { return (nil, nil, answer) }
    let standing =
      answer == .refused(mayHaveArrived: false) && entry.mayBeIn ? Standing.refused(mayHaveArrived: true) : answer
    var ack: UInt64?
    if case .asked(let awaited) = entry.standing { ack = awaited }
    if let ack { asked[ack] = nil }
    entries[message]?.standing = standing
    entries[message]?.timer = nil
    return (entry.timer, ack, standing)
  }

  /// The link is gone. Returns what waited for acknowledgements.
  mutating func endOfLink() -> [Timers.ID] {
    isOpen = false
    asked = [:]
    var timers: [Timers.ID] = []
    for (message, entry) in entries {
      if let timer = entry.timer { timers.append(timer) }
      entries[message]?.timer = nil
      entries[message]?.mayBeIn = false
      switch entry.standing {
      case .said(let isAcknowledged): entries[message]?.standing = .kept(isAcknowledged: isAcknowledged)
      case .asked, .refused(mayHaveArrived: true): entries[message]?.standing = .doubtful
      case .refused(mayHaveArrived: false): entries[message]?.standing = .unsaid
      case .unsaid, .kept, .doubtful: break
      }
    }
    return timers
  }
}
