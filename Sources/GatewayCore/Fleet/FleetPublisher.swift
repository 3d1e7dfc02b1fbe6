/// What the holder says to all hosts: numbers what it hears of the server, and keeps it for an engine that has lost it.
final class FleetPublisher {
  enum State: Equatable {
    /// There is no conversation with the server. May become `opening`.
    case idle
    /// One has begun, and the engine gives its number. `isAsked`: it was asked for that and has not answered, and is not
    /// asked once more: each asking begins another conversation there. May become `open`, `idle`.
    case opening(isAsked: Bool)
    /// May become `idle`.
    case open(UInt64)
  }

  /// An event that waits for the number of its conversation.
  private struct Fresh {
    var number: UInt64
    var fields: FleetFields
  }

  private let place: FleetPlace
  private let events: FleetKey
  private let engine: any FleetEngine
  private let timers: Timers
  /// How long a host may be without the engine, or behind, and still has every event.
  private let grace: Duration
  private(set) var state = State.idle
  /// Counts the conversations with the server: what the engine answers about an earlier one comes too late.
  private var serial: UInt64 = 0
  private(set) var own: FleetOwn?
  private(set) var epoch = ""
  /// The number of the last event.
  private(set) var sequence: UInt64 = 0
  /// Where a recovery would go on; empty where there would be none.
  private(set) var offset = ""
  private var session = ""
  private var hosts = 1
  private var fresh = SizedRing<Fresh>(limit: FleetPublisher.keptLimit)
  /// What was known when the conversation began.
  private var began: (sequence: UInt64, offset: String) = (0, "")
  /// What was said last, for an engine that has lost it, and how that, and what follows it, gets to the engine.
  private let log: FleetReplayLog<FleetRecord>
  /// An end that the engine has not confirmed.
  private(set) var unsaidEnd: UpstreamFailure?
  /// The last one that it has confirmed, and which place it has: an engine that has lost it is told once more.
  private var saidEnd: (failure: UpstreamFailure, conversation: UInt64)?

  /// Events that the engine keeps for hosts that come later.
  var historyLimit = 1_000
  /// Where each conversation of this term began, for as long as the engine has something of it.
  private var beginnings = Ring<FleetPosition>()
  /// The number of the newest event at some moments of the last `grace`, the oldest first.
  private var marks = Ring<(time: MonotonicInstant, number: UInt64)>()
  /// All events up to this number are older than that.
  private var oldest: UInt64 = 0
  /// Those up to this number are beyond the bytes that the engine may have of them.
  private var oversized: UInt64 = 0
  /// Bytes that were said since the engine last was to forget some.
  private var untrimmed = 0

  /// Entries, and bytes, between two looks at what the engine may forget.
  static let trimStep: (count: UInt64, bytes: Int) = (64, 4 << 20)
  /// What is kept, in entries and in bytes: what an engine that fails over loses at the most. The engine has no more bytes
  /// of events either, and no more of what is beyond the history.
  static let keptLimit = (count: 20_000, bytes: 32 << 20)
  /// Most conversations of one term that the engine keeps.
  static let conversationLimit = 1_000
  /// How many numbers it skips where it cannot know which were given.
  static let skip: UInt64 = 1 << 20

  /// The conversation has its number: what stands in `up` until there belongs to earlier ones.
  var onOpen: (FleetOpened) -> Void = { _ in }
  /// Another host has taken the lease; `onDoubt`: perhaps it has.
  var onFenced: () -> Void = {}
  var onDoubt: () -> Void = {}
  /// The engine has taken some of what was said.
  var onTaken: () -> Void = {}

  init(_ place: FleetPlace, engine: any FleetEngine, timers: Timers, grace: Duration) {
    let events = place.key(.events)
    self.place = place
    self.events = events
    self.engine = engine
    self.timers = timers
    self.grace = grace
    log = FleetReplayLog(.lost, limit: Self.keptLimit, timers: timers) { log, record, isProbe in
      engine.append(record.fields, to: events, at: record.position) { [weak log] in
        log?.answered(record, $0.withoutValue, isProbe: isProbe)
      }
    }
    log.onOutcome = { [weak self] in self?.said($1) }
    log.onOverflow = { [weak self] in self?.forgot($0) }
  }

  /// Bytes of events that the engine has not taken. What it has no room for, or refuses for long, is not counted.
  var unsentBytes: Int { log.unsentBytes + (log.awaitsReplay ? fresh.bytes : 0) }

  // MARK: - The term

  /// This host holds from now on.
  func begin(_ own: FleetOwn, _ taken: FleetTaken) {
    self.own = own
    // Not the server that the last holder had: no host can know which numbers were given.
    let isKnown = taken.isSameRun || taken.epoch.isEmpty
    sequence = taken.sequence + (isKnown ? 0 : Self.skip)
    epoch = isKnown ? taken.epoch : ""
    offset = taken.resumption?.offset ?? ""
    log.reset(to: .open)
    beginnings = Ring()
    (marks, oldest, oversized, untrimmed) = (Ring(), 0, 0, 0)
    fresh.removeAll()
    (unsaidEnd, saidEnd, state) = (nil, nil, .idle)
  }

  /// This host does not hold any more.
  func end() {
    own = nil
    log.reset(to: .lost)
    fresh.removeAll()
    (unsaidEnd, saidEnd, state) = (nil, nil, .idle)
  }

  // MARK: - The engine

  /// What it has refused it is still asked about before all else.
  func engineLost() {
    if log.state != .refused { log.lose() }
    if case .opening = state { state = .opening(isAsked: false) }
  }

  /// The term is known to go on at the engine that was reached again.
  func heal() {
    guard let own, mayHeal else { return }
    engine.newest(of: events) { [weak self] outcome in
      guard let self, self.own == own, case .done(let newest) = outcome, mayHeal else { return }
      let position = newest?.position ?? .start
      let missing = keptPlace(behind: position)
      if log.state == .refused, let first = log.entries.look(missing - log.entries.firstPlace, { $0 }) {
        return probe(first, own)
      }
      replay(from: missing, behind: position)
    }
  }

  private var mayHeal: Bool { log.state == .lost || log.state == .refused }

  /// Where what is kept behind a position begins.
  private func keptPlace(behind position: FleetPosition) -> Int {
    let kept = log.entries
    var (low, high) = (0, kept.count)
    while low < high {
      let middle = (low + high) / 2
      if kept.look(middle, { $0.position <= position }) == true { low = middle + 1 } else { high = middle }
    }
    return kept.firstPlace + low
  }

  /// Says one of the events that were refused; the others follow it. Where it is refused the next beat asks again.
  private func probe(_ record: FleetRecord, _ own: FleetOwn) {
    log.probe(record) { [weak self] isTaken in
      guard let self, self.own == own, isTaken else { return }
      log.lose()
      heal()
    }
  }

  /// Says what is kept, and then the end or the opening. Nothing else is said in between.
  /// - Parameter position: of the newest that the engine had before.
  private func replay(from place: Int, behind position: FleetPosition) {
    log.replay(from: place) { [weak self] in
      guard let self else { return }
      if let end = unsaidEnd ?? lostEnd(position) { sayEnd(end) }
      openAgain()
      onTaken()
    }
  }

  /// The last end, where the engine has lost it.
  private func lostEnd(_ newest: FleetPosition) -> UpstreamFailure? {
    guard let saidEnd, newest < FleetPosition(saidEnd.conversation, 0) else { return nil }
    return saidEnd.failure
  }

  // MARK: - The conversation

  /// A conversation with the server has begun. `newEpoch` names another epoch, unless it goes on where the last one ended.
  func opened(newEpoch: String?, _ place: SessionPlace?, hosts: Int) {
    if let newEpoch { epoch = newEpoch }
    (session, offset) = (place?.session ?? "", place?.offset ?? "")
    self.hosts = hosts
    began = (sequence, offset)
    fresh.removeAll()
    serial += 1
    (state, unsaidEnd, saidEnd) = (.opening(isAsked: false), nil, nil)
    openAgain()
  }

  /// Asks for the number of a conversation that has none, such as after the engine refused it.
  func openAgain() {
    if state == .opening(isAsked: false), log.state == .open { sayOpening() }
  }

  private func sayOpening() {
    guard let own else { return }
    // What was heard since then follows it. A host that takes over before that has to recover it.
    let (first, offset) = began
    let step = FleetOpen(
      place: place, own: own, run: engine.server?.run ?? "", epoch: epoch, sequence: first, offset: offset,
      session: session, hosts: hosts)
    state = .opening(isAsked: true)
    engine.run(step) { [weak self, serial] outcome in
      guard let self, self.own == own, self.serial == serial, state == .opening(isAsked: true) else { return }
      state = .opening(isAsked: false)
      switch outcome {
      case .done(let opened): begin(opened, step, first)
      case .fenced: onFenced()
      // When the engine is reached again it is asked once more.
      case .unanswered: break
      case .refused, .uncopied: onDoubt()
      }
    }
  }

  private func begin(_ opened: FleetOpened, _ step: FleetOpen, _ first: UInt64) {
    state = .open(opened.conversation)
    var fields = FleetFields()
    FleetMarker(.open(hosts: step.hosts), term: step.own.term, epoch: step.epoch, sequence: first, offset: step.offset)
      .add(to: &fields)
    log.keep(FleetRecord(position: FleetPosition(opened.conversation, 0), fields: fields))
    beginnings.append(FleetPosition(opened.conversation, first))
    trimBeginnings()
    let opening = log.entries.firstPlace + log.entries.count
    while let event = fresh.popFirst() {
      log.keep(FleetRecord(position: FleetPosition(opened.conversation, event.number), fields: event.fields))
    }
    if log.state == .open { replay(from: opening, behind: FleetPosition(opened.conversation, 0)) }
    onOpen(opened)
  }

  /// The conversation with the server is over. `isSettled`: each host was told how far its calls were written, which counts
  /// only where it can be said at once, as it is said to the engine that has that.
  func ended(_ failure: UpstreamFailure, isSettled: Bool = false) {
    var settled: UInt64?
    switch state {
    case .idle: return
    // Nothing of it was said: a recovery begins where this conversation began.
    case .opening: (sequence, offset) = began
    case .open(let conversation): if isSettled { settled = conversation }
    }
    fresh.removeAll()
    state = .idle
    if log.state == .open { sayEnd(failure, settled: settled) } else { unsaidEnd = failure }
  }

  private func sayEnd(_ failure: UpstreamFailure, settled: UInt64? = nil) {
    guard let own else { return }
    unsaidEnd = failure
    let step = FleetDown(
      place: place, own: own, epoch: epoch, sequence: sequence, offset: offset, end: failure, settled: settled)
    engine.run(step) { [weak self, serial] outcome in
      guard let self, self.own == own else { return }
      switch outcome {
      case .done(let conversation):
        if state == .idle, self.serial == serial { (unsaidEnd, saidEnd) = (nil, (failure, conversation)) }
      case .fenced: onFenced()
      case .unanswered: break
      case .refused, .uncopied: timers.after(FleetRefusal.pause) { [weak self] in self?.sayEndAgain() }
      }
    }
  }

  private func sayEndAgain() {
    if log.state == .open, state == .idle, let unsaidEnd { sayEnd(unsaidEnd) }
  }

  // MARK: - Events

  /// The server said something to programs. `offset` is where a recovery would go on behind it; nil: nowhere, until an
  /// event has one again.
  func publish(_ entry: FleetEntry, offset: String?) {
    sequence += 1
    self.offset = offset ?? ""
    switch state {
    case .idle: break
    // What there is no room for is missing: its number is given.
    case .opening:
      let fields = entry.fields
      fresh.append(Fresh(number: sequence, fields: fields), bytes: fields.byteCount)
    case .open(let conversation): say(entry.fields, sequence, conversation)
    }
  }

  private func say(_ fields: FleetFields, _ number: UInt64, _ conversation: UInt64) {
    let record = FleetRecord(position: FleetPosition(conversation, number), fields: fields)
    log.append(record)
    untrimmed += record.byteCount
    if number.isMultiple(of: Self.trimStep.count) || untrimmed > Self.trimStep.bytes { trim(at: number) }
  }

  /// The engine forgets what is beyond the history, but not what a host may not have read yet, for as long as that is
  /// kept here; and what is beyond its bytes in any case.
  private func trim(at number: UInt64) {
    untrimmed = 0
    let now = timers.now
    marks.append((now, number))
    while let mark = marks.first, mark.time + grace <= now {
      oldest = mark.number
      _ = marks.popFirst()
    }
    let isKept = log.entries.first?.position.number ?? number
    let past = number > UInt64(historyLimit) ? min(number - UInt64(historyLimit), max(oldest, isKept)) : 0
    let first = max(past, oversized + 1)
    if first > 1 { trim(before: first) }
  }

  /// The engine forgets the events up to that number, once all of them are of conversations that are known here.
  private func trim(before number: UInt64) {
    while beginnings.count > 1, let second = beginnings.look(1, { $0 }), second.number <= number {
      _ = beginnings.popFirst()
    }
    guard let first = beginnings.first, first.number <= number, log.state == .open else { return }
    engine.trim(events, before: FleetPosition(first.conversation, number))
  }

  /// A server that ends each conversation at once leaves markers without events.
  private func trimBeginnings() {
    guard beginnings.count > Self.conversationLimit else { return }
    while beginnings.count > Self.conversationLimit { _ = beginnings.popFirst() }
    if let first = beginnings.first, log.state == .open {
      engine.trim(events, before: FleetPosition(first.conversation, 0))
    }
  }

  /// There was no room for an event any more.
  private func forgot(_ record: FleetRecord) {
    if log.entries.count < Self.keptLimit.count { oversized = record.position.number }
  }

  /// What became of an event.
  private func said(_ outcome: FleetOutcome<Void>) {
    switch outcome {
    case .done, .unanswered, .uncopied: break
    // A repetition, or the end of the term: the next beat says which.
    case .fenced: onDoubt()
    case .refused: refused()
    }
    onTaken()
  }

  /// What is kept from now on may have to be kept for long: the server is read all the same.
  private func refused() {
    guard log.state != .refused else { return }
    log.refuse()
    onDoubt()
  }
}

extension FleetRecord: FleetReplayable {}
