/// What speaks against a message that is said at every connect, and whether a link has outlived it.
struct EnterDoubt {
  /// When it was written to this link.
  var saidAt: MonotonicInstant?
  private var suspicion = Suspicion()
  /// A link has outlived it before: then one break while it was alone is not enough.
  private var isProven = false

  /// A message without an acknowledgement that the link outlives by so much has not broken it. A link that is younger
  /// proves nothing against a message: it might have broken without it.
  static let proof: Duration = .seconds(3)
  /// From so many breaks in a row on a message is held to be the reason, though it never was alone, or links have outlived
  /// it before.
  static let breakLimit = 5

  /// What broke a link before: it is tried alone.
  static func known(at now: MonotonicInstant) -> EnterDoubt { EnterDoubt(.known(at: now)) }

  init(_ suspicion: Suspicion = Suspicion()) { self.suspicion = suspicion }

  var isSuspected: Bool { suspicion.isSuspected }

  /// When it may be tried; nil unless it is suspected.
  var trialDue: MonotonicInstant? { isSuspected ? suspicion.due : nil }

  /// The link has outlived what was written before.
  static func outlived(at now: MonotonicInstant) -> MonotonicInstant { now + (.nanoseconds(1) - proof) }

  /// The link has outlived it, or the server has answered it.
  mutating func clear() {
    suspicion = Suspicion()
    isProven = true
  }

  /// A program holds it anew, though it is held to be the reason: it is tried once more, alone.
  mutating func enteredAnew(at now: MonotonicInstant) {
    suspicion = .known(at: now)
    isProven = false
  }

  /// A link broke on it. Returns whether it is held to be the reason from now on.
  mutating func linkBroke(at now: MonotonicInstant, isAlone: Bool) -> Bool {
    suspicion.linkBroke(at: now)
    return (isAlone && !isProven) || suspicion.breaks >= Self.breakLimit
  }

  /// What outlives the last holder of the message.
  fileprivate var remainder: Suspicion? { suspicion.breaks > 0 ? suspicion : nil }
}

/// The trials of suspected messages, one at a time, and what is known of those that no subscription holds any more.
struct EnterTrials {
  /// The message that is tried while nothing else is under way, or after it has waited too long for that.
  struct Trial: Equatable {
    var message: EnterMessage
    var isAlone: Bool
  }

  private var current: Trial?
  private var former = FormerSuspicions()

  var isUnderWay: Bool { current != nil }
  var tried: EnterMessage? { current?.message }

  func isCurrent(_ message: EnterMessage) -> Bool { current?.message == message }

  func isAlone(_ message: EnterMessage) -> Bool { current == Trial(message: message, isAlone: true) }

  /// Whether a break of the link speaks against a message: against that alone which is tried alone.
  func mayBlame(_ message: EnterMessage) -> Bool { current?.isAlone != true || isCurrent(message) }

  mutating func begin(_ trial: Trial) { current = trial }

  /// Returns what was tried.
  @discardableResult
  mutating func end() -> EnterMessage? {
    defer { current = nil }
    return current?.message
  }

  /// The last holder of a message, on whose account that was, has gone.
  mutating func remember(
    _ doubt: EnterDoubt, of message: EnterMessage, for account: Account, at now: MonotonicInstant
  ) {
    if let suspicion = doubt.remainder { former.note(suspicion, of: message, for: account, at: now) }
    if isCurrent(message) { end() }
  }

  /// A message is held again, or for the first time.
  mutating func recall(_ message: EnterMessage, at now: MonotonicInstant) -> EnterDoubt {
    EnterDoubt(former.take(message, at: now) ?? Suspicion())
  }
}

/// What spoke against messages that no subscription holds any more: a program that ends with every break, and is started
/// again, does not begin anew. By the messages' hashes, which a program cannot foresee: their text, of which no user has
/// a share any more, may be long, and one that is taken for another is only tried alone. It counts for an hour, for a
/// server may be mended.
private struct FormerSuspicions {
  /// On a connection. Beyond its share a user's own oldest is forgotten, never that of another one.
  static let bounds = SharedBounds(total: 1_024, share: 64)
  static let lifetime: Duration = .seconds(3_600)

  private struct Known {
    let suspicion: Suspicion
    let account: Account
    let until: MonotonicInstant
  }

  private var known: [Int: Known] = [:]
  /// The hashes of each user's, the oldest first.
  private var order: [Account: [Int]] = [:]

  mutating func note(_ suspicion: Suspicion, of message: EnterMessage, for account: Account, at now: MonotonicInstant) {
    let hash = message.hashValue
    forget(hash)
    dropOld(of: account, at: now)
    if known.count >= Self.bounds.total { for other in Array(order.keys) { dropOld(of: other, at: now) } }
    if order[account].map({ $0.count >= Self.bounds.share }) == true || known.count >= Self.bounds.total {
      guard let oldest = order[account]?.first else { return }
      forget(oldest)
    }
    known[hash] = Known(suspicion: suspicion, account: account, until: now + Self.lifetime)
    order[account, default: []].append(hash)
  }

  /// What is known of one, which is held again: it is forgotten here.
  mutating func take(_ message: EnterMessage, at now: MonotonicInstant) -> Suspicion? {
    guard !known.isEmpty, let found = forget(message.hashValue), now < found.until else { return nil }
    return found.suspicion
  }

  private mutating func dropOld(of account: Account, at now: MonotonicInstant) {
    while let oldest = order[account]?.first, let one = known[oldest], now >= one.until { forget(oldest) }
  }

  @discardableResult
  private mutating func forget(_ hash: Int) -> Known? {
    guard let gone = known.removeValue(forKey: hash) else { return nil }
    order[gone.account]?.removeAll { $0 == hash }
    if order[gone.account]?.isEmpty == true { order[gone.account] = nil }
    return gone
  }
}
