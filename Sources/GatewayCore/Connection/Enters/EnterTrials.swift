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

  /// Whether it was written to this link so short a time ago that it may still break it.
  func isFresh(at now: MonotonicInstant) -> Bool { saidAt.map { now < $0 + Self.proof } ?? false }

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
  /// What spoke against messages that no subscription holds any more: a program that ends with every break, and is
  /// started again, does not begin anew. By the messages' hashes, which a program cannot foresee: their text, of which
  /// nobody has a share any more, may be long, and one that is taken for another is only tried alone.
  private var former = RefusalMemory<Int, Suspicion>(limit: formerLimit)
  private static let formerLimit = 256

  var isUnderWay: Bool { current != nil }

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

  /// The last holder of a message has gone.
  mutating func remember(_ doubt: EnterDoubt, of message: EnterMessage, at now: MonotonicInstant) {
    if let suspicion = doubt.remainder { former.note(suspicion, of: message.hashValue, at: now) }
    if isCurrent(message) { end() }
  }

  /// A message is held again, or for the first time.
  mutating func recall(_ message: EnterMessage, at now: MonotonicInstant) -> EnterDoubt {
    let key = message.hashValue
    defer { former.forget(key) }
    return EnterDoubt(former.value(of: key, at: now) ?? Suspicion())
  }
}
