/// When the callers of commands give up. One timer serves all of them, so that a command which gets its outcome in time, as
/// nearly all do, costs none of its own.
struct CommandDeadlines {
  private struct Due: Comparable {
    let number: UInt64
    let command: Command

    static func == (a: Due, b: Due) -> Bool { a.number == b.number }
    static func < (a: Due, b: Due) -> Bool { a.number < b.number }
  }

  /// A command whose deadline is another one by now, or none, stays until it surfaces or until such are the majority.
  private var heap = DeadlineHeap<Due>()
  private var count = 0
  private var nextNumber: UInt64 = 0
  /// Rings at the earliest deadline.
  var timer = EarliestTimer()

  /// A command waits until then, and no longer until when it waited before.
  mutating func set(_ deadline: MonotonicInstant, for command: Command) {
    if command.due == nil { count += 1 }
    command.due = deadline
    heap.push(deadline, Due(number: nextNumber, command: command))
    nextNumber += 1
  }

  /// Nobody waits for a command any more.
  mutating func remove(_ command: Command) {
    guard command.due != nil else { return }
    command.due = nil
    count -= 1
    if heap.count > 64, count < heap.count / 2 { heap.keep { $1.command.due == $0 } }
  }

  /// The earliest deadline of any command that is waited for.
  mutating func next() -> MonotonicInstant? {
    while let top = heap.first {
      if top.item.command.due == top.deadline { return top.deadline }
      heap.removeFirst()
    }
    return nil
  }

  /// Takes out the commands whose time is up, in order.
  mutating func takeDue(at now: MonotonicInstant, limit: Int = .max) -> [Command] {
    var due: [Command] = []
    while due.count < limit, let deadline = next(), deadline <= now, let command = heap.first?.item.command {
      remove(command)
      due.append(command)
    }
    return due
  }
}
