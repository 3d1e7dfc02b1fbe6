/// Keeps copies of durable sends beyond this host, so that others write them where it does not come back. Where there is
/// none, nothing is copied.
protocol OutboxCopies: AnyObject {
  /// Whether what it covers is kept there alone, and on no disk of this host.
  var isHome: Bool { get }
  /// Whether it keeps the sends to a target.
  func covers(_ target: OutboxTarget) -> Bool
  /// Why sends to a target, for which it is the home, are not kept now; nil where that is not known.
  func trouble(of target: OutboxTarget) -> StorageProblem?
  /// A connection carries an entry that lasts. May be said again.
  func keep(_ entry: OutboxEntry)
  /// An entry is to last; `done` hears later whether it does, at the latest when it is dropped.
  func keep(_ entry: OutboxEntry, _ done: @escaping (StorageProblem?) -> Void)
  /// An entry has its outcome, or is none any more. There need be no copy of it.
  func drop(_ entry: OutboxEntry)
  /// An entry that lasts may not be sent for now, by others neither. What they had of it before is told as ever; there need
  /// be no copy of it that this host's disk has.
  func withhold(_ entry: OutboxEntry)
  /// The daemon ends. What is to last, and is not kept here within that time, goes to the disk of this host, or where that
  /// cannot be does not last; `done` is called once, when of all it is decided which.
  func finish(within limit: Duration, _ done: @escaping () -> Void)
}
