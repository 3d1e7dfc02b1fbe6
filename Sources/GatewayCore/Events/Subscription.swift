/// One subscription of one local client on one connection: which events it wants, what it could not be given yet, and
/// what happens when it does not keep up.
final class Subscription {
  /// The client's own id or one that the daemon chose; unique per client.
  let id: String
  /// Orders subscriptions of one connection by age.
  let serial: UInt64
  private(set) var filter: EventFilter
  let wantsState: Bool
  let policy: SlowPolicy
  /// What it wants of the upstream.
  private(set) var interests: Set<Interest>
  /// What is said to the upstream at every connect, as long as it lives.
  private(set) var enters: [HeldEnter]
  /// What the server refuses of it.
  private var refused: Set<Wanted> = []
  private(set) var feed: SubscriptionFeed.Pointer

  private let outputs: ClientOutputs
  /// What the client asked for; nil: as many events as may wait.
  private let askedQueue: Int?
  private var queueLimit = 0
  /// In bytes.
  private var queueSizeLimit = 0
  private var backlog = Backlog()
  /// Nil: no credit is counted.
  private(set) var credit: Int?
  /// `pause`: newer events are not taken until the backlog is read.
  private var isPaused = false
  private var isMuted = false
  /// What comes and is not for the client, because it was told elsewhere or is past; nil as soon as something behind it has
  /// come.
  var passedOver: PassedOver?
  /// What waited and was let go of when the right to it was taken away, by the name of the event: missing as soon as the
  /// right is back.
  private(set) var withheld: [ExactText: Backlog.Gap] = [:]
  /// Events that were lost to this subscription because its client did not keep up.
  private(set) var dropped: UInt64 = 0
  /// Counts the same for all subscriptions of its stream, also when this one is over.
  var losses: SubscriberLosses?
  /// What its stream tells all of them, and how far it was told; set by the stream.
  var broadcasts: Broadcasts?
  var told: UInt64 = 0
  /// Told when this subscription's policy or the client's byte limit asks for a disconnect.
  var onOverrun: (() -> Void)?
  /// Told the token of an event that wanted an answer and was lost to this subscription.
  var onLostToken: ((String) -> Void)?
  /// Told how the bytes queued here changed, so that the client's total is known without a walk.
  var onQueued: ((Int) -> Void)?
  /// Whether the client's queues have room for so many bytes more.
  var clientHasRoom: ((Int) -> Bool)?

  init(
    id: String, serial: UInt64, options: SubscriptionOptions, filter: EventFilter,
    interests: Set<Interest> = [], enters: [HeldEnter] = [], output: ClientOutputs.Pointer, outputs: ClientOutputs,
    limits: Limits
  ) {
    self.id = id
    self.serial = serial
    self.filter = filter
    wantsState = options.state
    policy = options.onSlow
    credit = options.credit
    askedQueue = options.queue
    self.interests = interests
    self.enters = enters
    self.outputs = outputs
    feed = .allocate(capacity: 1)
    feed.initialize(
      to: SubscriptionFeed(
        output: output, head: outputs.heads.take(id), answers: options.answer,
        subscription: .passUnretained(self)))
    feed.pointee.flows = options.credit == nil
    adopt(limits)
  }

  deinit {
    outputs.heads.giveBack(feed.pointee.head)
    feed.deinitialize(count: 1)
    feed.deallocate()
  }

  /// These hold from now on. What waits already stays until something new comes.
  func adopt(_ limits: Limits) {
    queueLimit = min(askedQueue ?? limits.subscriptionQueue, limits.subscriptionQueue)
    queueSizeLimit = limits.subscriptionQueueBytes
  }

  /// Events and bytes waiting here.
  var queued: (count: Int, bytes: Int) { (backlog.eventCount, backlog.byteCount) }

  /// A line that must not be lost nor overtaken: a state transition, or a gap told at once.
  func notify(_ line: [UInt8]) {
    guard !isMuted else { return }
    if backlog.isEmpty, hasDirectRoom {
      write(line)
    } else {
      enqueue(.notice(line))
    }
  }

  /// A gap at this point of the stream. `shared`: how it is told, where others are told the same.
  func tell(_ gap: Backlog.Gap, as shared: SharedNotification? = nil) {
    catchUp()
    guard !isMuted else { return }
    if let passedOver { follow(passedOver.verdict(on: gap)) } else { put(gap, as: shared) }
  }

  /// The same where it is to be told.
  func put(_ gap: Backlog.Gap, as shared: SharedNotification? = nil) {
    if backlog.isEmpty, hasDirectRoom {
      write(encode(gap, shared))
    } else {
      enqueue(.gap(gap))
    }
  }

  /// The server has answered for something that this subscription wants: nil when it agreed, else why not. What is
  /// refused is told once, until the server has agreed to it. Of several events that it is not given one is told.
  func note(_ wanted: Wanted, refusal: String?, epoch: String) {
    guard let refusal else {
      refused.remove(wanted)
      return
    }
    let isFirst = refused.isEmpty
    guard refused.insert(wanted).inserted else { return }
    if case .interest = wanted, !isFirst { return }
    tell(
      Backlog.Gap(
        epoch: epoch, range: nil, count: nil, reason: .upstream,
        detail: "the server refuses \(wanted): \(refusal)"))
  }

  /// It wants these of the upstream from now on. What is not wanted any more is not refused either.
  func adopt(_ interests: Set<Interest>) {
    for interest in self.interests where !interests.contains(interest) { refused.remove(.interest(interest)) }
    self.interests = interests
  }

  /// Its client has other rights: it holds only these from now on.
  func adopt(_ enters: [HeldEnter], lost: [HeldEnter], epoch: String) {
    self.enters = enters
    guard let first = lost.first else { return }
    tell(
      Backlog.Gap(
        epoch: epoch, range: nil, count: nil, reason: .upstream,
        detail: "the right to send '\(first.enter.message.event.text)' is gone, which is not said any more"))
  }

  /// Its client has other rights: what waits here and may not be delivered any more is gone, without a gap until it may
  /// be again. `epoch`: the present one.
  func adopt(_ permit: EventPermit, in epoch: String) {
    filter.permit = permit
    tellReturned(in: epoch)
    guard !permit.passesAll, !backlog.isEmpty else { return }
    let before = backlog.byteCount
    var remembering = RememberingPermit(permit)
    let gone = backlog.removeEvents { sequence, tail, epoch in
      let name = ExactText(LocalNotification.eventName(inTail: tail.span.bytes))
      guard !remembering.passes(name) else { return false }
      if var gap = withheld[name], gap.epoch == epoch {
        gap.extend(to: sequence)
        withheld[name] = gap
      } else {
        withheld[name] = Backlog.Gap(epoch: epoch, range: sequence...sequence, count: 1, reason: .expired)
      }
      return true
    }
    onQueued?(backlog.byteCount - before)
    gone.forEach(lose)
    pump()
  }

  /// One gap for all that was let go of and may be read again. With numbers where all of them are of the present epoch:
  /// a client must not be led back into an earlier one.
  private func tellReturned(in present: String) {
    // A client that is still at a place of another epoch is not led away from it.
    let epoch = passedOver?.place?.epoch ?? present
    let names = withheld.keys.filter { filter.permit.passes($0.text) }
    guard !names.isEmpty else { return }
    let gaps = names.compactMap { withheld.removeValue(forKey: $0) }
    let ranges = gaps.filter { $0.epoch == epoch }.compactMap(\.range)
    var gap = Backlog.Gap(epoch: epoch, range: nil, count: nil, reason: .expired)
    if ranges.count == gaps.count, let first = ranges.map(\.lowerBound).min(), let last = ranges.map(\.upperBound).max()
    {
      gap.range = first...last
      let counts = gaps.compactMap(\.count)
      gap.count = counts.count == gaps.count ? counts.reduce(0, +) : nil
    }
    gap.isOfReturnedRight = true
    gap.detail = "the right to these events was gone while they waited"
    catchUp()
    // It is about what came before anything that may be passed over.
    if !isMuted { put(gap) }
  }

  /// What an earlier daemon had let go of when the right to it was taken away. Where the right is back, only what the
  /// client does not come by again behind the place at which it goes on is missing. `epoch`: the present one.
  func restore(_ gone: [ExactText: Backlog.Gap], behind place: (epoch: String, sequence: UInt64)?, in epoch: String) {
    for (name, gap) in gone {
      let isShown = filter.permit.passes(name.text)
      withheld[name] = if isShown, let place { gap.part(upTo: place, present: epoch) } else { gap }
    }
    tellReturned(in: epoch)
  }

  /// Nothing more is delivered: the client is on its way out.
  func mute() {
    isMuted = true
    feed.pointee.flows = false
  }

  /// An event that could not be appended directly. `tail` is shared by all subscriptions that need it.
  func take(sequence: UInt64, tail: [UInt8], epoch: String) {
    guard !isMuted else { return }
    if isPassedOver(sequence, epoch) || !accept(sequence, tail, epoch) { lose(tail) }
  }

  /// The tokens of the events that wait here: it ends, and they are never delivered.
  func queuedTokens() -> [String] {
    var tokens: [String] = []
    backlog.forEachTail { if let token = answerToken(in: $0) { tokens.append(token) } }
    return tokens
  }

  /// An event will never be delivered: no client answers it.
  private func lose(_ tail: [UInt8]) {
    if let token = answerToken(in: tail) { onLostToken?(token) }
  }

  private func answerToken(in tail: [UInt8]) -> String? {
    feed.pointee.answers ? LocalNotification.answerToken(inTail: tail) : nil
  }

  /// Writes an event or queues it; false if it was missed.
  private func accept(_ sequence: UInt64, _ tail: [UInt8], _ epoch: String) -> Bool {
    if backlog.isEmpty, hasDirectRoom, credit.map({ $0 > 0 }) ?? true {
      credit = credit.map { $0 - 1 }
      write(tail: tail)
      return true
    }
    guard !isPaused else {
      miss(sequence, epoch: epoch)
      return false
    }
    // What is queued of a replay does not count against the limits of the queue.
    while backlog.eventCount - backlog.replayed.events >= queueLimit || !hasQueueRoom(for: tail.count) {
      // The oldest is one of the replay, which is owed and takes no place of the queue.
      if backlog.replayed.events > 0, policy == .dropOldest {
        miss(sequence, epoch: epoch)
        return false
      }
      guard makeRoom(for: sequence, epoch: epoch) else { return false }
    }
    enqueue(.event(sequence: sequence, tail: tail, epoch: epoch))
    return true
  }

  /// What the subscriber missed, before anything new. The client's queues have room for it.
  func replay(_ replay: EventReplay) {
    guard !isMuted, !replay.items.isEmpty || replay.lastMissed != nil else { return }
    let before = backlog.byteCount
    backlog.begin(with: replay)
    noteDropped(UInt64(replay.missedCount))
    feed.pointee.flows = false
    onQueued?(backlog.byteCount - before)
    pump()
  }

  /// It ends: what it was not given yet, to be let go of in portions.
  func takeBacklog() -> (past: Ring<Backlog.Item>, since: TombstoneQueue<Backlog.Item>) { backlog.takeAll() }

  /// What the credit would be after adding `count`.
  func creditAfterAdding(_ count: Int) -> Int {
    let (sum, overflow) = (credit ?? 0).addingReportingOverflow(count)
    return overflow ? .max : sum
  }

  /// Adds credit and delivers what it allows. A subscription without credit begins to count it.
  func addCredit(_ count: Int) {
    credit = creditAfterAdding(count)
    feed.pointee.flows = false
    pump()
  }

  /// What is queued fills a client's output so far at a time, in bytes: the memory of events that came long ago has to
  /// be fetched first, which for some thousand small ones takes milliseconds.
  private static let refillLimit = 64 << 10

  /// Moves what is queued to the client's output, as far as room and credit allow.
  func pump() {
    guard !isMuted else { return }
    let before = backlog.byteCount
    while hasDirectRoom, feed.pointee.output.pointee.count < Self.refillLimit, !backlog.isEmpty {
      if backlog.startsWithEvent {
        if let credit {
          guard credit > 0 else { break }
          self.credit = credit - 1
        }
      }
      switch backlog.popFirst() {
      case .event(_, let tail, _): write(tail: tail)
      case .notice(let line): write(line)
      case .gap(let gap): write(encode(gap))
      case nil: break
      }
    }
    if backlog.isEmpty { isPaused = false }
    letFlow()
    onQueued?(backlog.byteCount - before)
  }

  /// Events go directly from now on, where nothing stands against it.
  func letFlow() { feed.pointee.flows = !isMuted && backlog.isEmpty && credit == nil && passedOver == nil }

  /// For a hand-over: writes what waits up to the first event that has no room or credit, whatever room there is for
  /// what is no event. Returns behind which event everything is left; nil where nothing is.
  func writeNotices() -> (epoch: String, sequence: UInt64)? {
    catchUp()
    pump()
    let before = backlog.byteCount
    while !backlog.startsWithEvent, let item = backlog.popFirst() {
      switch item {
      case .event(_, let tail, _): write(tail: tail)
      case .notice(let line): write(line)
      case .gap(let gap): write(encode(gap))
      }
    }
    if let place = backlog.startOfEvents { writeReturned(before: place) }
    onQueued?(backlog.byteCount - before)
    return backlog.startOfEvents ?? passedOver?.place.map { ($0.epoch, $0.sequence) }
  }

  /// Gaps wait for their turn like anything else, but these may be about what came before all that waits: it comes from
  /// no history.
  private func writeReturned(before place: (epoch: String, sequence: UInt64)) {
    backlog.forEachGap { gap in
      guard gap.isOfReturnedRight, let part = gap.part(upTo: place, present: gap.epoch) else { return }
      write(encode(part))
    }
  }

  /// As its call asked for it, with the credit that is left.
  var options: SubscriptionOptions {
    SubscriptionOptions(
      state: wantsState, answer: feed.pointee.answers, queue: askedQueue, onSlow: policy,
      credit: credit.map { min($0, Self.creditLimit) })
  }

  /// More than any client waits for, and what a call may ask for.
  private static let creditLimit = 1_000_000_000

  // MARK: - Policy

  /// The policy's answer to a full queue. Returns whether the event at hand may be queued now.
  private func makeRoom(for sequence: UInt64, epoch: String) -> Bool {
    switch policy {
    case .dropOldest:
      let before = backlog.byteCount
      guard let tail = backlog.dropOldestEvent() else {
        miss(sequence, epoch: epoch)
        return false
      }
      noteDropped(1)
      onQueued?(backlog.byteCount - before)
      lose(tail)
      return true
    case .pause:
      isPaused = true
      miss(sequence, epoch: epoch)
      return false
    case .disconnect:
      miss(sequence, epoch: epoch)
      onOverrun?()
      return false
    }
  }

  private func miss(_ sequence: UInt64, epoch: String) {
    let before = backlog.byteCount
    backlog.noteMissed(sequence: sequence, epoch: epoch, reason: .slowConsumer)
    noteDropped(1)
    feed.pointee.flows = false
    onQueued?(backlog.byteCount - before)
  }

  private func noteDropped(_ count: UInt64) {
    dropped += count
    losses?.dropped += count
  }

  private func hasQueueRoom(for bytes: Int) -> Bool {
    guard backlog.byteCount - backlog.replayed.bytes + bytes <= queueSizeLimit else { return false }
    return clientHasRoom?(bytes) ?? true
  }

  private var hasDirectRoom: Bool {
    feed.pointee.output.pointee.count < ClientOutput.directLimit && !feed.pointee.output.pointee.holdsShared
  }

  private func enqueue(_ item: Backlog.Item) {
    backlog.append(item)
    feed.pointee.flows = false
    onQueued?(item.byteCount)
    // Notices and gaps are never dropped: a client that lets them pile up beyond its limit is let go instead.
    if case .event = item { return }
    if !(clientHasRoom?(0) ?? true) { onOverrun?() }
  }

  // MARK: - Writing

  private func write(tail: [UInt8]) {
    outputs.append(feed.pointee.head, text: tail, to: feed.pointee.output)
  }

  private func write(_ line: [UInt8]) {
    line.withUnsafeBytes { outputs.append($0, to: feed.pointee.output) }
  }

  private func encode(_ gap: Backlog.Gap, _ shared: SharedNotification? = nil) -> [UInt8] {
    losses?.gaps += 1
    return (shared ?? gap.notification).line(for: id)
  }
}

/// What the subscriptions of one stream did not get, those included that are over.
final class SubscriberLosses {
  /// Gaps that they were told.
  var gaps: UInt64 = 0
  /// Events that were lost to one of them because its client did not keep up.
  var dropped: UInt64 = 0
}
