/// The last events of one connection, bounded in number, bytes and age, so that a subscriber that was away gets what it
/// missed. Holds one epoch: with continuity everything goes. Every number of the epoch has its place, events that could
/// not be shown included, so that what is missing is known.
struct EventHistory {
  /// What stands for one number.
  enum Content: Equatable {
    /// The tail of the event's notification, shared with whoever still waits for it.
    case event([UInt8])
    /// An event that could not be shown; its name, where that is known.
    case hole(GapReason, name: String?)
  }

  private struct Slot {
    var arrival: MonotonicInstant
    var content: Content
  }

  private var settings: HistorySettings
  private var slots: ContiguousArray<Slot> = []
  private var head = 0
  private var byteCount = 0
  /// The number of the oldest slot, or of the next one when there is none.
  private(set) var oldest: UInt64 = 1

  init(_ settings: HistorySettings) { self.settings = settings }

  var isEnabled: Bool { settings.events > 0 }
  var count: Int { slots.count - head }

  /// New bounds; what is beyond them goes.
  mutating func adopt(_ settings: HistorySettings, now: MonotonicInstant) {
    self.settings = settings
    trim(now)
  }

  /// Appends what stands for the next number.
  @inline(__always)
  mutating func append(_ content: Content, at now: MonotonicInstant) {
    slots.append(Slot(arrival: now, content: content))
    byteCount &+= content.byteCount
    trim(now)
  }

  /// A number that is not kept, because the history is switched off.
  mutating func skip() { oldest &+= 1 }

  /// Lets go of what is older than it may be.
  mutating func trim(_ now: MonotonicInstant) {
    while head < slots.count,
      count > settings.events || byteCount > settings.bytes || now - slots[head].arrival > settings.age
    {
      byteCount &-= slots[head].content.byteCount
      slots[head].content = .hole(.expired, name: nil)
      head &+= 1
      oldest &+= 1
    }
    // Each move of what is left is paid for by as many numbers that went before.
    guard head >= 64, head &* 2 >= slots.count else { return }
    if head == slots.count {
      slots = []
    } else {
      slots.removeFirst(head)
    }
    head = 0
  }

  /// Continuity was lost: the next number begins afresh.
  mutating func removeAll() {
    oldest &+= UInt64(count)
    slots = []
    head = 0
    byteCount = 0
  }

  /// What stands for a number that is kept.
  func content(_ sequence: UInt64) -> Content? {
    guard sequence >= oldest, sequence - oldest < UInt64(count) else { return nil }
    return slots[head + Int(sequence - oldest)].content
  }
}

extension EventHistory.Content {
  /// What it counts in the history's bytes.
  var byteCount: Int {
    switch self {
    case .event(let tail): tail.count
    case .hole: 0
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
