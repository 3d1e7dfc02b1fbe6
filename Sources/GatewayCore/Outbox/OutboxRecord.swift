/// An entry and its place in the daemon, from its first moment until it is forgotten. One object, so that it moves from
/// the unfinished to the finished ones without being copied.
final class OutboxRecord {
  var entry: OutboxEntry
  /// Who carries it; nil while its upstream cannot be used, and when it is finished.
  var connection: Connection?
  /// The disk has it.
  var isCommitted: Bool
  /// The unfinished sends among which it counts; nil when it is finished.
  var line: OutboxLine?

  /// A timer ends it at the end of its time-to-live, unless somebody carries it then.
  var isWatched = false

  init(_ entry: OutboxEntry, on connection: Connection? = nil, isCommitted: Bool) {
    self.entry = entry
    self.connection = connection
    self.isCommitted = isCommitted
  }

  /// It is written, but perhaps only into our own buffer: too late to be taken back, too early to count as sent.
  var isOnItsWay: Bool { connection?.isHandedOver(entry.id) ?? false }
}
