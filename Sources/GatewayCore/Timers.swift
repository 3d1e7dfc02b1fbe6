/// All deadlines of the daemon in one binary heap, so that the loop needs a single kernel timer and tests need none.
/// Cancelling is lazy: a cancelled entry leaves when it reaches the top, or when the cancelled ones are the majority.
public final class Timers {
  /// Names one scheduled call. Never reused.
  public struct ID: Hashable, Sendable { fileprivate let number: UInt64 }

  private let time: any TimeSource
  private var heap = DeadlineHeap()
  private var bodies: [UInt64: () -> Void] = [:]
  private var nextNumber: UInt64 = 1
  /// Told whenever `nextDeadline` may have moved closer: the loop re-arms its kernel timer.
  public var onEarlierDeadline: (() -> Void)?

  public init(time: any TimeSource) { self.time = time }

  /// When `fire()` has something to do next; nil when nothing is scheduled.
  public var nextDeadline: MonotonicInstant? {
    dropCancelled()
    return heap.first?.deadline
  }

  /// How many calls are scheduled.
  public var count: Int { bodies.count }

  /// Schedules one call, `delay` from now (a negative delay counts as zero). The body runs from `fire()`, never from here.
  @discardableResult
  public func after(_ delay: Duration, _ body: @escaping () -> Void) -> ID {
    at(time.now + max(delay, .zero), body)
  }

  /// Schedules one call at an instant; one that has passed fires at the next `fire()`.
  @discardableResult
  public func at(_ deadline: MonotonicInstant, _ body: @escaping () -> Void) -> ID {
    let number = nextNumber
    nextNumber += 1
    bodies[number] = body
    heap.push(deadline, number)
    if heap.first?.number == number { onEarlierDeadline?() }
    return ID(number: number)
  }

  /// Forgets a call; one that fired or was cancelled before is ignored.
  public func cancel(_ id: ID?) {
    guard let id, bodies.removeValue(forKey: id.number) != nil else { return }
    if heap.count > 64, bodies.count < heap.count / 2 { heap.keep { bodies[$0] != nil } }
  }

  /// Runs every call that is due, in the order of deadlines. Calls scheduled meanwhile wait for the next turn, so a body
  /// that reschedules itself cannot hold the loop.
  public func fire() {
    let now = time.now
    let horizon = nextNumber
    while let top = heap.first, top.deadline <= now, top.number < horizon {
      heap.removeFirst()
      bodies.removeValue(forKey: top.number)?()
    }
  }

  private func dropCancelled() {
    while let top = heap.first, bodies[top.number] == nil { heap.removeFirst() }
  }
}
