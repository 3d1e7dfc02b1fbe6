/// An entry and its place in the daemon, from its first moment until it is forgotten. One object, so that it moves from
/// the unfinished to the finished ones without being copied.
final class OutboxRecord {
  /// Which connection carries an entry, if one does.
  enum Carriage {
    /// None: its upstream cannot be used, or the entry is finished.
    case none
    /// None, because its sender has lost the right to send it.
    case withheld
    /// None: another host writes it by now.
    case elsewhere
    /// The command knows nothing of the entry, which is found by its number.
    case carried(Command, by: Connection)
  }

  /// A send that its connection has queued, and that must not be written before the disk has it.
  struct AwaitedSend {
    let command: Command
    /// The call that is answered then.
    let owner: CommandOwner
    let connection: Connection
  }

  /// What the disk is told, as it is at the moment: handed on and never copied.
  private(set) var snapshot: OutboxChange.Snapshot
  /// Which connection carries it.
  private(set) var carriage = Carriage.none
  /// The disk has it.
  private(set) var isCommitted: Bool
  /// What waits for that; nil once the disk has answered.
  var awaited: AwaitedSend?
  /// The unfinished sends among which it counts; nil when it is finished.
  var line: OutboxLine?
  /// Its place among the finished ones; nil while it is none of them.
  var archivePlace: UInt64?

  /// A timer ends it at the end of its time-to-live, unless a connection carries it then.
  var isWatched = false

  init(_ entry: consuming OutboxEntry, isCommitted: Bool) {
    snapshot = OutboxChange.Snapshot(entry)
    self.isCommitted = isCommitted
  }

  var entry: OutboxEntry { _read { yield snapshot.entry } }

  /// Changes the entry; the body must not ask the record meanwhile. What the disk was given before stays as it was.
  @inline(__always)
  func change(_ body: (inout OutboxEntry) -> Void) {
    snapshot.change(body)
  }

  /// The disk has it now.
  func commit() {
    line?.committed(self)
    isCommitted = true
  }

  /// The outbox has it.
  var isKnown: Bool { line != nil || archivePlace != nil }

  /// The connection that carries it.
  var connection: Connection? { if case .carried(_, let connection) = carriage { connection } else { nil } }

  /// What that carries.
  var command: Command? { if case .carried(let command, _) = carriage { command } else { nil } }

  /// It waits until its sender has the right to send it again.
  var isWithheld: Bool { if case .withheld = carriage { true } else { false } }

  /// Another host writes it.
  var isElsewhere: Bool { if case .elsewhere = carriage { true } else { false } }

  /// It is written, but perhaps only into our own buffer, or by another host: too late to be taken back, too early to
  /// count as sent.
  var isOnItsWay: Bool { isElsewhere || command?.isHandedOver ?? false }

  /// How often it was written so far.
  var attempts: Int { command?.retry?.writes ?? entry.attempts }

  /// Its connection has it, and not in its queue: only its outcome or the end of the link takes it from there.
  var isUnderWay: Bool { command.map { !$0.isQueued } ?? false }

  /// Whether another connection may carry it from now on: also what is under way and may be written again, because it
  /// must not be overtaken by what is behind it in its line.
  var mayMove: Bool {
    guard let command, isUnderWay else { return true }
    return command.retry?.mayWrite == true && command.isTried
  }

  /// It is written to the present link, or by another host, and its outcome is not known yet.
  var isWritten: Bool {
    guard let command else { return isElsewhere }
    return command.isHandedOver || command.isTried
  }

  /// A connection carries it from now on.
  func carry(_ command: Command, on connection: Connection) { carriage = .carried(command, by: connection) }

  /// No connection can carry it for now, unless one does already.
  func setAside(isDenied: Bool) {
    if case .carried = carriage { return }
    carriage = isDenied ? .withheld : .none
  }

  /// Another host writes it from now on, or with false does not any more.
  func setElsewhere(_ isElsewhere: Bool) {
    if case .carried = carriage { return }
    carriage = isElsewhere ? .elsewhere : .none
  }

  /// No connection carries it any more: it has its outcome, and with it how often it was written.
  func end() { carriage = .none }

  /// No connection carries it any more; how often it was written is kept.
  func detach() {
    guard case .carried = carriage else { return }
    let attempts = attempts
    if entry.attempts != attempts { change { $0.attempts = attempts } }
    carriage = .none
  }
}
