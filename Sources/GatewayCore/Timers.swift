/// All deadlines of the daemon in one binary heap, so that the loop needs a single kernel timer and tests need none.
/// Cancelling is lazy: a cancelled entry leaves when it reaches the top, or when the cancelled ones are the majority.
public final class Timers {
  /// Names one scheduled call. Never reused.
  public struct ID: Hashable, Sendable { fileprivate let number: UInt64 }

  private struct Entry {
    let deadline: MonotonicInstant
    let number: UInt64
    /// Equal deadlines fire in the order of their scheduling.
    func isBefore(_ other: Entry) -> Bool {
      deadline != other.deadline ? deadline < other.deadline : number < other.number
    }
  }

  private let time: any TimeSource
  private var heap: [Entry] = []
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
    let entry = Entry(deadline: deadline, number: nextNumber)
    nextNumber += 1
    bodies[entry.number] = body
    push(entry)
    if heap[0].number == entry.number { onEarlierDeadline?() }
    return ID(number: entry.number)
  }

  /// Forgets a call; one that fired or was cancelled before is ignored.
  public func cancel(_ id: ID?) {
    guard let id, bodies.removeValue(forKey: id.number) != nil else { return }
    if heap.count > 64, bodies.count < heap.count / 2 { compact() }
  }

  /// Runs every call that is due, in the order of deadlines. Calls scheduled meanwhile wait for the next turn, so a body
  /// that reschedules itself cannot hold the loop.
  public func fire() {
    let now = time.now
    let horizon = nextNumber
    while let top = heap.first, top.deadline <= now, top.number < horizon {
      pop()
      bodies.removeValue(forKey: top.number)?()
    }
  }

  private func dropCancelled() {
    while let top = heap.first, bodies[top.number] == nil { pop() }
  }

  private func compact() {
    let kept = heap.filter { bodies[$0.number] != nil }
    heap.removeAll(keepingCapacity: true)
    kept.forEach(push)
  }

  private func push(_ entry: Entry) {
    heap.append(entry)
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].isBefore(heap[parent]) else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  private func pop() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].isBefore(heap[least]) {
        least = child
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
