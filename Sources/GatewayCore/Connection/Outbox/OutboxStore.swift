/// Keeps the outbox where a crash cannot reach it. The daemon uses SQLite on a thread of its own.
public protocol OutboxStore: AnyObject {
  /// Makes a change last. Who waits for it hears exactly once, later, in the order of the calls, when the change would
  /// survive the machine's power loss, or what prevents that; then nothing of it was kept. `onDecision` is told
  /// first.
  func commit(_ change: consuming OutboxChange, _ waiter: consuming OutboxWaiter)

  /// A change that is not awaited: it goes along with the next `commit`, or alone after a moment. It is tried until it
  /// succeeds. A crash before that leaves the entry as it was.
  func note(_ change: consuming OutboxChange)

  /// Told what became of changes that are awaited, once for all that are decided together.
  var onDecision: ((StorageProblem?) -> Void)? { get set }

  /// Told when something about the files needs attention although writing works, and with nil when it does not any
  /// more.
  var onWarning: ((StorageProblem?) -> Void)? { get set }

  /// Writes what is left and lets go of the files. Nothing may be asked of it afterwards.
  func close(_ done: @escaping () -> Void)
}

extension OutboxStore {
  /// Makes a change last; `done` hears what its waiter would.
  func commit(_ change: consuming OutboxChange, _ done: @escaping (StorageProblem?) -> Void) {
    commit(change, OutboxWaiter(done))
  }
}

/// Who waits for a change to be on the disk.
public struct OutboxWaiter {
  /// What is told with the answer; nil where a function of the caller's own hears it.
  private let record: OutboxRecord?
  private let tell: (OutboxRecord?, StorageProblem?) -> Void

  /// One function hears of all records: one for each would take memory of its own.
  init(_ record: OutboxRecord, _ tell: @escaping (OutboxRecord?, StorageProblem?) -> Void) {
    self.record = record
    self.tell = tell
  }

  init(_ done: @escaping (StorageProblem?) -> Void) {
    record = nil
    tell = { _, problem in done(problem) }
  }

  /// Tells what became of the change; nil: it would survive the machine's power loss.
  public func hear(_ problem: StorageProblem?) { tell(record, problem) }
}

/// One step in the life of an entry on disk.
public enum OutboxChange: Sendable {
  case add(Snapshot)
  /// The same of one that has its outcome and was on no disk. Not awaited: where the disk has no room it comes there when it has.
  case addEnded(Snapshot)
  /// `add`, and in one step with it the entry of another number goes, whose place it takes.
  case replace(UInt64, Snapshot)
  /// The entry of that number is this one now.
  case update(Snapshot)
  case remove(UInt64)
  /// The wall clock was set: the instants of all entries of earlier changes move by so many milliseconds.
  case shift(Int64)

  /// An entry as it is at a moment, which is handed on and looked at often, by another thread too: an entry is large, and so
  /// copied only where it changes while another snapshot shares it.
  public struct Snapshot: Sendable {
    /// Always one: an array knows whether another one shares its memory.
    private var held: ContiguousArray<OutboxEntry>

    public init(_ entry: consuming OutboxEntry) { held = [entry] }

    public var entry: OutboxEntry { _read { yield held[0] } }
    public var number: UInt64 { held[0].number }

    @inline(__always)
    mutating func change(_ body: (inout OutboxEntry) -> Void) { body(&held[0]) }
  }
}

/// What the daemon found when it opened the outbox.
public enum OutboxOpening {
  /// It works. The entries are those that were kept, by number.
  case open(any OutboxStore, [OutboxEntry])
  /// Durable sends fail, everything else works.
  case unavailable(StorageProblem)
}
