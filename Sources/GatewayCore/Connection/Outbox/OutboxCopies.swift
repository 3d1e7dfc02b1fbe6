/// Keeps copies of durable sends beyond this host, so that others write them where it does not come back. Where there is
/// none, nothing is copied.
protocol OutboxCopies: AnyObject {
  /// A connection carries an entry that the disk has. May be said again.
  func keep(_ entry: OutboxEntry)
  /// An entry has its outcome, or may not be sent. There need be no copy of it.
  func drop(_ entry: OutboxEntry)
}
