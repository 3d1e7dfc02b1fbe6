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
  mutating func next() -> MonotonicInstant? { heap.firstDeadline() }

  /// Takes out the commands whose time is up, in order. Where it was up long ago the machine slept, or the daemon was
  /// stopped: what the server and the disk have said meanwhile is not read yet, so such a command waits a little more.
  mutating func takeDue(at now: MonotonicInstant, limit: Int = .max) -> [Command] {
    var due: [Command] = []
    var looked = 0
    while looked < limit, let (deadline, item) = heap.first(), deadline <= now {
      looked += 1
      heap.removeFirst()
      item.command.due = nil
      if now - deadline < Timers.lateness {
        due.append(item.command)
      } else {
        set(now + Self.grace, for: item.command)
      }
    }
    return due
  }

  /// How long a command whose time passed meanwhile waits for what has come meanwhile.
  static let grace: Duration = .seconds(1)
}
