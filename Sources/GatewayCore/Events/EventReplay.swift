/// What a returning subscriber still gets: events and, where some are missing, gaps, in their order.
struct EventReplay {
  private(set) var items = Ring<Backlog.Item>()
  /// What the items count in a queue's bytes.
  private(set) var byteCount = 0
  /// How many events were found, held or not.
  private(set) var eventCount = 0
  /// How many of them are not held: the first one for which there was no room, and all behind it.
  private(set) var missedCount = 0
  /// The gap of those that were missed last: it may go on growing.
  private(set) var lastMissed: Backlog.Gap?
  /// The epoch of the first item; a gap `upstream` begins the next one.
  private(set) var epoch: String
  /// Whether gaps, which are always held, take more than there is room for.
  private(set) var isOverfull = false
  /// Events, and numbers whose event could not be shown.
  private var placeCount = 0
  /// Those that tell that something of the past is gone.
  private var gapCount = 0
  /// The number of the first gap for each reason.
  private(set) var firstGaps: [GapReason: UInt64] = [:]
  private var eventBytes = 0
  /// Bytes that all items may have.
  var room = Int.max
  /// Bytes that the events may have in an answer of one page.
  private let page: Int
  private let holdsGaps: Bool

  init(epoch: String, page: Int = .max, holdsGaps: Bool = true) {
    self.epoch = epoch
    self.page = page
    self.holdsGaps = holdsGaps
  }

  /// Whether everything that was asked for was found.
  var isComplete: Bool { gapCount == 0 }
  /// How many events are held.
  var heldCount: Int { eventCount - missedCount }

  /// Hands the items out, and forgets them.
  mutating func takeItems() -> Ring<Backlog.Item> {
    var taken = Ring<Backlog.Item>()
    swap(&taken, &items)
    return taken
  }

  /// An event that was found, or a number whose event could not be shown.
  mutating func append(_ sequence: UInt64, _ content: EventHistory.Content, epoch: String) {
    placeCount += 1
    switch content {
    case .event(let tail) where tail.count > page:
      add(Backlog.Gap(epoch: epoch, range: sequence...sequence, count: 1, reason: .tooLarge))
    case .event(let tail):
      eventCount += 1
      // Whoever asks for page after page comes on with each of them.
      let begins = page < .max && heldCount == 1
      guard missedCount == 0, begins || (byteCount + tail.count <= room && eventBytes + tail.count <= page) else {
        return miss(sequence, epoch: epoch)
      }
      eventBytes += tail.count
      hold(.event(sequence: sequence, tail: tail, epoch: epoch))
    case .hole(let reason, _):
      add(Backlog.Gap(epoch: epoch, range: sequence...sequence, count: 1, reason: reason))
    }
  }

  /// Events that are not kept any more. Where none of them was wanted nothing is missing.
  mutating func expire(_ range: ClosedRange<UInt64>, count: UInt64, epoch: String) {
    guard count > 0 else { return }
    add(Backlog.Gap(epoch: epoch, range: range, count: count, reason: .expired))
  }

  /// Continuity with the upstream was lost before the event behind `sequence`.
  mutating func turn(to epoch: String, after sequence: UInt64, detail: String? = nil) {
    var gap = Backlog.Gap.lostContinuity(epoch: epoch, after: sequence)
    gap.detail = detail
    add(gap)
  }

  /// Leaves the newest so many: what came in while it was put together may have brought too many.
  mutating func keep(last count: Int) {
    while placeCount >= count, let first = items.first {
      switch first {
      case .event, .notice:
        guard placeCount > count else { return }
        eventBytes -= first.byteCount
        eventCount -= 1
        placeCount -= 1
      case .gap(let gap):
        gapCount -= 1
        switch gap.reason {
        case .upstream: epoch = gap.epoch
        case .expired: break
        default:
          guard placeCount > count else {
            gapCount += 1
            return
          }
          placeCount -= 1
        }
      }
      byteCount -= first.byteCount
      _ = items.popFirst()
    }
  }

  private mutating func miss(_ sequence: UInt64, epoch: String) {
    missedCount += 1
    if lastMissed?.epoch == epoch {
      lastMissed?.extend(to: sequence)
    } else {
      endMissed()
      lastMissed = Backlog.Gap(epoch: epoch, range: sequence...sequence, count: 1, reason: .slowConsumer)
    }
  }

  private mutating func endMissed() {
    if holdsGaps, let lastMissed { hold(.gap(lastMissed)) }
    lastMissed = nil
  }

  private mutating func add(_ gap: Backlog.Gap) {
    gapCount += 1
    if firstGaps[gap.reason] == nil { firstGaps[gap.reason] = gap.range?.lowerBound ?? gap.start }
    guard holdsGaps else { return }
    endMissed()
    hold(.gap(gap))
    if byteCount > room { isOverfull = true }
  }

  private mutating func hold(_ item: Backlog.Item) {
    byteCount += item.byteCount
    items.append(item)
  }
}
