/// All deadlines of the daemon in one heap, so that the loop needs a single kernel timer and tests need none.
public final class Timers {
  /// Names one scheduled call. Never reused.
  public final class ID {
    fileprivate let number: UInt64
    /// Nil once it was called or cancelled.
    fileprivate var body: (() -> Void)?

    fileprivate init(number: UInt64, _ body: @escaping () -> Void) {
      self.number = number
      self.body = body
    }
  }

  /// A loop that runs calls nothing so late: the machine slept, or the daemon was stopped.
  public static let lateness: Duration = .seconds(1)

  private let time: any TimeSource
  private var heap = DeadlineHeap<ID>()
  private var nextNumber: UInt64 = 1
  /// When `fire()` has something to do next; nil when nothing is scheduled. Kept at hand, because every turn of the
  /// loop asks for it several times.
  public private(set) var nextDeadline: MonotonicInstant?
  /// Told whenever `nextDeadline` may have moved closer: the loop re-arms its kernel timer.
  var onEarlierDeadline: (() -> Void)?

  public init(time: any TimeSource) { self.time = time }

  /// How many calls are scheduled.
  var count: Int { heap.count }

  /// The time by which they go.
  var now: MonotonicInstant { time.now }

  /// Schedules one call, `delay` from now (a negative delay counts as zero). The body runs from `fire()`, never from
  /// here.
  @discardableResult
  public func after(_ delay: Duration, _ body: @escaping () -> Void) -> ID {
    at(time.now + max(delay, .zero), body)
  }

  /// Schedules one call at an instant; one that has passed fires at the next `fire()`.
  @discardableResult
  public func at(_ deadline: MonotonicInstant, _ body: @escaping () -> Void) -> ID {
    let id = ID(number: nextNumber, body)
    nextNumber += 1
    heap.push(deadline, id)
    guard nextDeadline.map({ deadline < $0 }) ?? true else { return id }
    nextDeadline = deadline
    onEarlierDeadline?()
    return id
  }

  /// Has work done in portions that nobody waits for: one at once, and one in each turn for as long as `body` returns true.
  func goOn(_ body: @escaping () -> Bool) {
    if body() { after(.zero) { [unowned self] in goOn(body) } }
  }

  /// Forgets a call; one that fired or was cancelled before is ignored.
  public func cancel(_ id: ID?) {
    guard let id, id.body != nil else { return }
    id.body = nil
    heap.noteEnd()
    nextDeadline = heap.firstDeadline()
  }

  /// Runs the calls that are due, in the order of deadlines, for as long as `mayGoOn` says so after each; the others
  /// stay due. Calls scheduled meanwhile wait for the next turn, so a body that reschedules itself cannot hold the
  /// loop.
  public func fire(while mayGoOn: () -> Bool = { true }) {
    let now = time.now
    let horizon = nextNumber
    while let (deadline, id) = heap.first(), deadline <= now, id.number < horizon {
      let body = id.body.take()
      heap.removeFirst()
      nextDeadline = heap.firstDeadline()
      body?()
      guard mayGoOn() else { return }
    }
  }
}

extension Timers.ID: DeadlineItem {
  func waits(until deadline: MonotonicInstant) -> Bool { body != nil }
  public static func == (a: Timers.ID, b: Timers.ID) -> Bool { a === b }
  public static func < (a: Timers.ID, b: Timers.ID) -> Bool { a.number < b.number }
}

/// One timer for many instants, of which nearly all lose their meaning before they come: it rings at the earliest one
/// that was asked for, and only an earlier one replaces it. What it rings for looks what is due, and asks for the next
/// one.
struct EarliestTimer {
  private var armed: (timer: Timers.ID, due: MonotonicInstant)?

  /// Whether it rings too late for that instant, and has to be armed.
  func isLater(than due: MonotonicInstant) -> Bool { armed.map { due < $0.due } ?? true }

  /// Rings at that instant, and no more at the one before.
  mutating func arm(at due: MonotonicInstant, _ timers: Timers, _ ring: @escaping () -> Void) {
    timers.cancel(armed?.timer)
    armed = (timers.at(due, ring), due)
  }

  /// It rang.
  mutating func rang() { armed = nil }
}
