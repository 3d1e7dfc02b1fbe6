/// When the callers of commands give up. One timer serves all of them, so that a command which gets its outcome in
/// time, as nearly all do, costs none of its own.
struct CommandDeadlines {
  private struct Due: DeadlineItem {
    let number: UInt64
    let command: Command

    func waits(until deadline: MonotonicInstant) -> Bool { command.due == deadline }

    static func == (a: Due, b: Due) -> Bool { a.number == b.number }
    static func < (a: Due, b: Due) -> Bool { a.number < b.number }
  }

  private var heap = DeadlineHeap<Due>()
  private var nextNumber: UInt64 = 0
  /// Rings at the earliest deadline.
  var timer = EarliestTimer()

  /// A command waits until then, and no longer until when it waited before.
  mutating func set(_ deadline: MonotonicInstant, for command: Command) {
    guard command.due != deadline else { return }
    remove(command)
    command.due = deadline
    heap.push(deadline, Due(number: nextNumber, command: command))
    nextNumber += 1
  }

  /// The caller does not wait for a command any more.
  mutating func remove(_ command: Command) {
    guard command.due != nil else { return }
    command.due = nil
    heap.noteEnd()
  }

  /// The earliest deadline of any command that is waited for.
  mutating func next() -> MonotonicInstant? { heap.first()?.deadline }

  /// Takes out the commands whose time is up, in order.
  mutating func takeDue(at now: MonotonicInstant, limit: Int = .max) -> [Command] {
    var due: [Command] = []
    while due.count < limit, let (deadline, item) = heap.first(), deadline <= now {
      heap.removeFirst()
      item.command.due = nil
      due.append(item.command)
    }
    return due
  }
}
