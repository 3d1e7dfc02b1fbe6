/// The acknowledgements that a server owes on one channel, by their ids on the wire, which count from 0 and are never
/// used again. They are not the ids of `Flights`: those go on over all channels of a connection, so that no answer of
/// an old one meets a new command, while these begin anew with each channel, and its own questions take some of them.
struct PendingAcks: Equatable, Sendable {
  /// The next id on the wire.
  private(set) var next: UInt64
  private var ownerIDs = NumberTable<UInt64>()
  private var wireIDs = NumberTable<UInt64>()

  init(next: UInt64 = 0) { self.next = next }

  /// Takes the next id on the wire for an id of the owner's.
  mutating func add(_ ownerID: UInt64) -> UInt64 {
    let wireID = next
    next &+= 1
    ownerIDs[wireID] = ownerID
    wireIDs[ownerID] = wireID
    return wireID
  }

  /// Takes the next id on the wire for a question of the channel's own.
  mutating func reserve() -> UInt64 {
    defer { next &+= 1 }
    return next
  }

  /// The owner's id that an acknowledgement answers; nil for a second answer, a late one or an invented one.
  mutating func take(_ wireID: UInt64) -> UInt64? {
    guard let ownerID = ownerIDs.removeValue(forKey: wireID) else { return nil }
    wireIDs.removeValue(forKey: ownerID)
    return ownerID
  }

  /// Whether none is waited for.
  var isEmpty: Bool { ownerIDs.isEmpty }

  /// Whether an acknowledgement is waited for, by its id on the wire.
  func isPending(_ wireID: UInt64) -> Bool { ownerIDs.contains(wireID) }

  /// Stops waiting for one; its id on the wire, if it was waited for.
  @discardableResult
  mutating func forget(_ ownerID: UInt64) -> UInt64? {
    guard let wireID = wireIDs.removeValue(forKey: ownerID) else { return nil }
    ownerIDs.removeValue(forKey: wireID)
    return wireID
  }
}
