/// The last events of one connection, bounded in number, bytes and age, so that a subscriber that was away gets what it
/// missed. Every number has its place, events that could not be shown included, so that what is missing is known; and
/// so has every loss of continuity, where an epoch ends and another begins.
///
/// A *place* counts what the history was given in all its life. Within an epoch places and numbers run alike; numbers
/// may jump where an epoch begins. Decisions 0040 and 0043.
struct EventHistory {
  /// What stands for one number.
  enum Content: Equatable {
    /// The tail of the event's notification, shared with whoever still waits for it.
    case event([UInt8])
    /// An event that could not be shown; its name, where that is known and no longer than `EventName.limit`.
    case hole(GapReason, name: String?)
  }

  /// What is kept for one number. Small and with a single reference, because each event takes one and drives one out.
  struct Slot {
    let arrival: MonotonicInstant
    /// The event's tail, or the name of a hole.
    fileprivate var text: [UInt8]
    /// Where the name's JSON text stands in the tail; empty: nowhere.
    fileprivate var nameStart: UInt16 = 0
    fileprivate var nameEnd: UInt16 = 0
    /// Why it is a hole; nil for an event.
    fileprivate var reason: GapReason?
    /// Whether a hole's name is known.
    fileprivate var hasName = false

    /// An event. `name` is where the name stands in its tail.
    fileprivate init(_ arrival: MonotonicInstant, tail: consuming [UInt8], name: Range<Int>) {
      self.arrival = arrival
      text = tail
      guard name.upperBound <= Int(UInt16.max) else { return }
      nameStart = UInt16(truncatingIfNeeded: name.lowerBound)
      nameEnd = UInt16(truncatingIfNeeded: name.upperBound)
    }

    /// A hole.
    fileprivate init(_ arrival: MonotonicInstant, _ reason: GapReason, name: String?) {
      self.arrival = arrival
      text = name.map { Array($0.utf8) } ?? []
      self.reason = reason
      hasName = name != nil
    }

    var content: Content {
      guard let reason else { return .event(text) }
      return .hole(reason, name: hasName ? String(decoding: text, as: UTF8.self) : nil)
    }
  }

  /// Most epochs; with the oldest one its events go.
  static let epochLimit = 256
  /// Most events that go at once, where more have to: it takes less than a millisecond.
  static let portion = 4_096

  private var settings: HistorySettings
  /// `settings.age` in nanoseconds.
  private var ageLimit: Int64
  private var slots = Ring<Slot>()
  private(set) var byteCount = 0
  /// What it may take of the memory of all histories; nil where nothing is counted.
  var memory: MemoryHold? {
    didSet {
      heldCount = memory?.count ?? .max
      holdMemory()
    }
  }
  /// What it holds of that now: somewhat more than it needs, so that it is not asked for each event.
  private var heldCount = Int.max
  /// A tail whose event has gone, for its memory.
  private var spare: [UInt8] = []
  /// Larger memory, in bytes, goes back.
  private static let spareLimit = 64 << 10
  /// The place of the oldest slot, or of the next one when there is none.
  private(set) var oldestPlace: UInt64 = 0
  private(set) var expired = ExpiredNames()
  /// Earlier epochs of which something is kept, the oldest first.
  private(set) var past: [EpochSpan] = []
  private(set) var current: EpochSpan

  init(_ settings: HistorySettings, epoch: String, after sequence: UInt64 = 0) {
    self.settings = settings
    ageLimit = settings.age.nanoseconds
    current = EpochSpan(epoch: epoch, start: sequence, place: 0)
  }

  var isEnabled: Bool { settings.events > 0 }
  var count: Int { slots.count }
  /// The place of the next event.
  var nextPlace: UInt64 { oldestPlace &+ UInt64(count) }
  /// The number of the last event.
  var sequence: UInt64 { current.start &+ (nextPlace &- current.place) }
  /// All epochs of which something is known, the oldest first.
  var spans: [EpochSpan] { past + [current] }
  /// Whether numbers were given before the oldest epoch that is known of which not even places are known: an earlier
  /// daemon counted them.
  var hasUnknownPast: Bool {
    let oldest = past.first ?? current
    return oldest.start > oldest.place
  }

  /// The number of the oldest event that is kept, or of the next one when there is none.
  var oldest: UInt64 { number(at: oldestPlace) }

  /// The `time` of the newest event that is kept of the present epoch.
  var lastTime: Int64? {
    var place = nextPlace
    while place > max(oldestPlace, current.place), let content = content(at: place - 1) {
      place -= 1
      if case .event(let tail) = content { return LocalNotification.place(inTail: tail.span.bytes)?.time }
    }
    return nil
  }

  /// New bounds; what is beyond them goes, now or with what comes next.
  mutating func adopt(_ settings: HistorySettings, now: MonotonicInstant) {
    self.settings = settings
    ageLimit = settings.age.nanoseconds
    trim(now)
  }

  /// Appends what stands for the next number. `name` is where the name stands in an event's tail.
  mutating func append(_ content: consuming Content, name: Range<Int> = 0..<0, at now: MonotonicInstant) {
    switch content {
    case .event(let tail): append(tail: tail, name: name, at: now)
    case .hole(let reason, let name): append(Slot(now, reason, name: name), at: now)
    }
  }

  /// The same for an event.
  @inline(__always)
  mutating func append(tail: consuming [UInt8], name: Range<Int>, at now: MonotonicInstant) {
    append(Slot(now, tail: tail, name: name), at: now)
  }

  @inline(__always)
  private mutating func append(_ slot: consuming Slot, at now: MonotonicInstant) {
    byteCount &+= slot.text.count
    slots.append(slot)
    trim(now)
    if byteCount > heldCount { holdMemory() }
  }

  /// Takes memory for what is kept, or keeps no more than there is memory for.
  @inline(never)
  private mutating func holdMemory() {
    guard let memory else { return }
    if !memory.change(to: byteCount + max(byteCount / 8, 1 << 10)) { _ = memory.change(to: byteCount) }
    heldCount = memory.count
    guard byteCount > heldCount else { return }
    while byteCount > heldCount, count > 0 { dropOldest() }
    if !past.isEmpty { forgetEpochs() }
  }

  /// A number that is not kept, because the history is switched off.
  mutating func skip() {
    // What it still has to let go of keeps its places.
    guard count > 0, let last = slots[count - 1] else { return oldestPlace &+= 1 }
    append(.hole(.expired, name: nil), at: last.arrival)
  }

  /// Lets go of what is beyond the bounds, of a portion at most. Returns whether that was all.
  @discardableResult
  @inline(__always)
  mutating func trim(_ now: MonotonicInstant) -> Bool {
    let isDone = !isBeyondBounds(now) || dropBeyondBounds(now)
    if heldCount != .max, heldCount - byteCount > max(byteCount, 64 << 10) { holdMemory() }
    return isDone
  }

  @inline(__always)
  private func isBeyondBounds(_ now: MonotonicInstant) -> Bool {
    guard let oldest = slots.look(0, { $0.arrival }) else { return false }
    return count > settings.events || byteCount > settings.bytes || now.nanoseconds &- oldest.nanoseconds > ageLimit
  }

  @inline(never)
  private mutating func dropBeyondBounds(_ now: MonotonicInstant) -> Bool {
    let end = oldestPlace &+ UInt64(Self.portion)
    while oldestPlace < end, isBeyondBounds(now) { spare = dropOldest() }
    let isDone = !isBeyondBounds(now)
    if !past.isEmpty { forgetEpochs() }
    return isDone
  }

  /// An empty array with room for the tail of the next event, which has to follow: in the memory of an event that has
  /// gone, where that is of about the size, so that a history that is full takes none.
  @inline(__always)
  mutating func takeTail(room: Int) -> [UInt8] {
    if room > Self.spareLimit { makeRoom(for: room) }
    var tail: [UInt8] = []
    if count >= settings.events {
      // The event that the next one drives out goes now, when its memory can be used.
      tail = dropOldest()
      if !past.isEmpty { forgetEpochs() }
    } else {
      swap(&tail, &spare)
    }
    guard tail.capacity >= room, tail.capacity <= 4 &* room else {
      tail = []
      tail.reserveCapacity(room)
      return tail
    }
    // Where it is still being read, this makes another one.
    tail.removeAll(keepingCapacity: true)
    return tail
  }

  /// What a long event drives out goes before there is memory for the event, so that not both are held: a portion at most.
  @inline(never)
  private mutating func makeRoom(for bytes: Int) {
    let end = oldestPlace &+ UInt64(Self.portion)
    while oldestPlace < end, count > 0, byteCount > settings.bytes &- bytes { dropOldest() }
    if !past.isEmpty { forgetEpochs() }
  }

  /// Returns the tail of the event that has gone, for its memory; an empty one where that is too large to be used again.
  @inline(__always) @discardableResult
  private mutating func dropOldest() -> [UInt8] {
    guard let slot = slots.popFirst() else { return [] }
    let place = oldestPlace
    oldestPlace &+= 1
    byteCount &-= slot.text.count
    let (start, end) = (Int(slot.nameStart), Int(slot.nameEnd))
    // A hole has none.
    let isKnown = start < end && end <= slot.text.count
    expired.note(isKnown ? slot.text.span.bytes.extracting(start..<end) : nil, at: place)
    return slot.reason == nil && slot.text.capacity <= Self.spareLimit ? slot.text : []
  }

  /// Continuity was lost: the next number belongs to another epoch. Numbers may leave some out.
  mutating func begin(epoch: String, skipping distance: UInt64 = 0) {
    past.append(current)
    current = EpochSpan(epoch: epoch, start: sequence &+ distance, place: nextPlace)
    forgetEpochs()
  }

  /// Everything up to a number is not kept. What was kept goes, because it would not be contiguous.
  mutating func skip(to sequence: UInt64) {
    guard sequence > self.sequence else { return }
    while count > 0 { dropOldest() }
    oldestPlace &+= sequence &- self.sequence
    forgetEpochs()
  }

  /// Forgets epochs of which no event is left, and the events of those that are too many: of these a portion at most,
  /// the rest with what comes next.
  private mutating func forgetEpochs() {
    let last = oldestPlace &+ UInt64(Self.portion)
    while past.count >= Self.epochLimit {
      let end = past.count > 1 ? past[1].place : current.place
      while oldestPlace < min(end, last) { dropOldest() }
      guard oldestPlace >= end else { return }
      past.removeFirst()
    }
    while !past.isEmpty, (past.count > 1 ? past[1].place : current.place) <= oldestPlace { past.removeFirst() }
  }

  /// The number at a place, by the epoch that it belongs to.
  func number(at place: UInt64) -> UInt64 {
    let span = past.last { $0.place <= place }
    let owner = place >= current.place ? current : span ?? past.first ?? current
    return owner.start &+ (place &- owner.place) &+ 1
  }

  /// What stands at a place that is kept.
  func content(at place: UInt64) -> Content? { slot(at: place)?.content }

  /// The same with its instant.
  func slot(at place: UInt64) -> Slot? {
    guard place >= oldestPlace, place - oldestPlace < UInt64(count) else { return nil }
    return slots[Int(place - oldestPlace)]
  }
}

extension EventHistory.Content {
  /// What it counts in the history's bytes.
  var byteCount: Int {
    switch self {
    case .event(let tail): tail.count
    case .hole(_, let name): name?.utf8.count ?? 0
    }
  }

  /// Whether a filter lets it pass; what has no name passes every filter.
  func matches(_ filter: EventFilter) -> Bool {
    if filter.passesAll { return true }
    switch self {
    case .event(let tail): return filter.matches(LocalNotification.eventName(inTail: tail.span.bytes))
    case .hole(_, let name): return name.map(filter.matches) ?? true
    }
  }
}

/// One epoch in a history: which numbers are its own. A later epoch begins where the one before it ends, or above.
struct EpochSpan: Equatable, Sendable {
  let epoch: String
  /// The number of the last event before it.
  let start: UInt64
  /// How many events the history had been given, in all its life, when it began.
  let place: UInt64
}
