/// Keeps the outbox where a crash cannot reach it. The daemon uses SQLite on a thread of its own.
public protocol OutboxStore: AnyObject {
  /// Makes a change last. `done` is called exactly once, later, in the order of the calls, when the change would
  /// survive the machine's power loss, or with what prevents that; then nothing of it was kept.
  func commit(_ change: OutboxChange, _ done: @escaping (OutboxProblem?) -> Void)

  /// A change that is not awaited: it goes along with the next `commit`, or alone after a moment. It is tried until it
  /// succeeds. A crash before that leaves the entry as it was.
  func note(_ change: OutboxChange)

  /// Told when something about the files needs attention although writing works, and with nil when it does not any
  /// more.
  var onWarning: ((OutboxProblem?) -> Void)? { get set }

  /// Writes what is left and lets go of the files. Nothing may be asked of it afterwards.
  func close(_ done: @escaping () -> Void)
}

/// One step in the life of an entry on disk.
public enum OutboxChange: Sendable {
  case add(Snapshot)
  /// The same, and in one step with it the entry of another number goes, whose place it takes.
  case replace(UInt64, Snapshot)
  /// The entry of that number is this one now.
  case update(Snapshot)
  case remove(UInt64)
  /// The wall clock was set: the instants of all entries of earlier changes move by so many milliseconds.
  case shift(Int64)

  /// An entry as it is at a moment. An object, because it is handed on often, to another thread too, and an entry is
  /// large.
  public final class Snapshot: Sendable {
    public let entry: OutboxEntry

    public init(_ entry: OutboxEntry) { self.entry = entry }
  }
}

/// Why nothing can be kept on disk.
public struct OutboxProblem: Error, Equatable, Sendable {
  public enum Kind: String, CaseIterable, Sendable {
    /// There is no usable state folder.
    case folder
    /// Another daemon has the folder.
    case locked
    /// The disk, or the quota, is used up.
    case full
    /// The disk takes no writes.
    case readOnly = "read_only"
    /// The files are not what they should be.
    case damaged
    /// The files were written by a later version.
    case future
    /// Anything else that the system says.
    case failed
  }
  public var kind: Kind
  /// One sentence for a person, without a full stop.
  public var message: String

  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// The daemon was given no store.
  public static let none = OutboxProblem(.folder, "this gateway was started without an outbox")
}

/// What the daemon found when it opened the outbox.
public enum OutboxOpening {
  /// It works. The entries are those that were kept, by number.
  case open(any OutboxStore, [OutboxEntry])
  /// Durable sends fail, everything else works.
  case unavailable(OutboxProblem)
}
