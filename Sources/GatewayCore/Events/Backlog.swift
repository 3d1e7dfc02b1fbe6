/// What one subscription could not be given yet, in order: events, state notices and the gaps that stand for lost
/// events. A value without knowledge of clients or sockets.
struct Backlog {
  /// One thing to deliver.
  enum Item: Equatable {
    /// The shared tail of an event's notification; the subscription's own head goes before it. The epoch is that of its
    /// number.
    case event(sequence: UInt64, tail: [UInt8], epoch: String)
    /// A whole line that is neither dropped nor counted as an event.
    case notice([UInt8])
    /// Lost events; becomes a `gap` notification when it is delivered.
    case gap(Gap)
  }

  /// A run of lost events.
  struct Gap: Equatable, Sendable {
    var epoch: String
    /// Nil where the numbers are unknown: continuity with the upstream was lost.
    var range: ClosedRange<UInt64>?
    /// How many of them matched the subscription; nil where unknown.
    var count: UInt64?
    var reason: GapReason
    /// Where an epoch begins: the number of the last event before it.
    var start: UInt64?
    /// A sentence for a person; nil where the reason says it all.
    var detail: String?
    /// It may be about events before those that wait ahead of it, and stands in no history.
    var isOfReturnedRight = false

    /// Continuity with the upstream was lost, and `epoch` begins behind `start`.
    static func lostContinuity(epoch: String, after start: UInt64) -> Self {
      Self(epoch: epoch, range: nil, count: nil, reason: .upstream, start: start)
    }
  }

  /// What is owed of the past: it stands before everything else, and nothing of it is dropped.
  private var replay = Ring<Item>()
  private(set) var replayed = (events: 0, bytes: 0)
  /// What came since.
  private var items = TombstoneQueue<Item>()
  /// No event stands before this place in them.
  private var firstEvent: UInt64 = 0
  private(set) var eventCount = 0
  private(set) var byteCount = 0

  var isEmpty: Bool { items.isEmpty && replay.isEmpty }

  /// Begins with what was missed; while it is empty.
  mutating func begin(with replay: EventReplay) {
    self.replay = replay.items
    replayed = (replay.heldCount, replay.byteCount)
    eventCount += replayed.events
    byteCount += replayed.bytes
    if let missed = replay.lastMissed { append(.gap(missed)) }
  }

  /// It ends: what is left of the past and what came since, to be let go of in portions.
  mutating func takeAll() -> (past: Ring<Item>, since: TombstoneQueue<Item>) {
    defer { self = Backlog() }
    return (replay, items)
  }

  /// Shows the tails of all events, in order.
  func forEachTail(_ body: ([UInt8]) -> Void) {
    for offset in 0..<replay.count { if case .event(_, let tail, _) = replay[offset] { body(tail) } }
    for case .event(_, let tail, _) in items.all { body(tail) }
  }

  /// The gaps that wait, in order.
  func forEachGap(_ body: (Gap) -> Void) {
    for offset in 0..<replay.count { if case .gap(let gap) = replay[offset] { body(gap) } }
    for case .gap(let gap) in items.all { body(gap) }
  }

  mutating func append(_ item: Item) {
    if case .event = item { eventCount += 1 }
    byteCount += item.byteCount
    items.append(item)
  }

  /// The oldest item, or nil.
  mutating func popFirst() -> Item? {
    if let item = replay.popFirst() {
      if case .event = item {
        eventCount -= 1
        replayed.events -= 1
      }
      byteCount -= item.byteCount
      replayed.bytes -= item.byteCount
      return item
    }
    guard let item = items.popFirst() else { return nil }
    if case .event = item { eventCount -= 1 }
    byteCount -= item.byteCount
    return item
  }

  /// Takes out the events that are meant by their number, tail and epoch, of the past and since; their tails are
  /// returned.
  mutating func removeEvents(_ isMeant: (UInt64, [UInt8], String) -> Bool) -> [[UInt8]] {
    var gone: [[UInt8]] = []
    var kept = Ring<Item>()
    while let item = replay.popFirst() {
      guard case .event(let sequence, let tail, let epoch) = item, isMeant(sequence, tail, epoch) else {
        kept.append(item)
        continue
      }
      gone.append(tail)
      replayed.events -= 1
      replayed.bytes -= item.byteCount
      eventCount -= 1
      byteCount -= item.byteCount
    }
    replay = kept
    var next = items.nextPlace(from: 0)
    while let place = next {
      if let item = items[place], case .event(let sequence, let tail, let epoch) = item, isMeant(sequence, tail, epoch)
      {
        items.remove(at: place)
        gone.append(tail)
        eventCount -= 1
        byteCount -= item.byteCount
      }
      next = items.nextPlace(from: place + 1)
    }
    return gone
  }

  /// Whether the oldest item is an event: it needs credit, the others do not.
  var startsWithEvent: Bool {
    if case .event = replay.first ?? items.first { true } else { false }
  }

  /// Behind which event the oldest item stands, if that is an event.
  var startOfEvents: (epoch: String, sequence: UInt64)? {
    guard case .event(let sequence, _, let epoch) = replay.first ?? items.first else { return nil }
    return (epoch, sequence - 1)
  }

  /// Replaces the oldest event by a gap in its place, or widens the gap that stands right before it.
  /// Returns the tail of the event that was dropped; nil if there was none to drop.
  mutating func dropOldestEvent() -> [UInt8]? {
    var next = items.nextPlace(from: firstEvent)
    var gapBefore: UInt64?
    while let place = next, let item = items[place] {
      switch item {
      case .event(let sequence, let tail, let epoch):
        byteCount -= item.byteCount
        eventCount -= 1
        dropEvent(at: place, sequence: sequence, epoch: epoch, gapBefore: gapBefore)
        return tail
      case .gap(let gap) where gap.reason == .slowConsumer: gapBefore = place
      case .gap, .notice: gapBefore = nil
      }
      next = items.nextPlace(from: place + 1)
    }
    return nil
  }

  private mutating func dropEvent(at place: UInt64, sequence: UInt64, epoch: String, gapBefore: UInt64?) {
    var gap = Gap(epoch: epoch, range: sequence...sequence, count: 1, reason: .slowConsumer)
    if let gapBefore, case .gap(let earlier) = items[gapBefore], earlier.epoch == epoch {
      // The gap moves to the dropped event's place, so that the next search starts right behind it.
      gap = earlier
      gap.extend(to: sequence)
      items.remove(at: gapBefore)
    } else {
      byteCount += Item.gapCost
    }
    items.insert(.gap(gap), at: place)
    firstEvent = place
  }

  /// Notes an event that was not taken: the last item becomes or grows a gap.
  mutating func noteMissed(sequence: UInt64, epoch: String, reason: GapReason) {
    if let last = items.last, case .gap(var gap) = last.element, gap.reason == reason, gap.epoch == epoch {
      gap.extend(to: sequence)
      items.insert(.gap(gap), at: last.place)
    } else {
      append(.gap(Gap(epoch: epoch, range: sequence...sequence, count: 1, reason: reason)))
    }
  }
}

extension Backlog.Gap {
  mutating func extend(to sequence: UInt64) {
    if let range { self.range = range.lowerBound...max(range.upperBound, sequence) }
    count = (count ?? 0) + 1
  }

  /// What of it a client does not come by again that goes on behind a place; nil: it comes by all of it. What is of the
  /// present epoch comes behind a place in any other.
  func part(upTo place: (epoch: String, sequence: UInt64), present: String) -> Self? {
    guard let range else { return self }
    guard epoch == place.epoch else { return epoch == present ? nil : self }
    guard range.upperBound > place.sequence else { return self }
    guard range.lowerBound <= place.sequence else { return nil }
    var part = self
    // How many of them these are is not known.
    (part.range, part.count) = (range.lowerBound...place.sequence, nil)
    return part
  }
}

extension Backlog.Item {
  /// What a gap counts in a queue's bytes.
  static let gapCost = 160

  /// What the item counts in a queue's bytes.
  var byteCount: Int {
    switch self {
    case .event(_, let tail, _): tail.count
    case .notice(let line): line.count
    case .gap: Self.gapCost
    }
  }
}

extension Backlog.Gap {
  /// How subscriptions are told of it.
  var notification: SharedNotification {
    LocalNotification.gapToMany(
      epoch: epoch, range: range, count: count, reason: reason, start: start, detail: detail)
  }
}
