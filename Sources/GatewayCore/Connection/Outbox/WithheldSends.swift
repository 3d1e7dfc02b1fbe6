/// The sends of the outbox that wait for a right, as far as newer ones take their places: no queue of a connection has
/// them, which does that for others.
struct WithheldSends {
  /// A send of a user that newer ones replace, on the connection that it would have.
  struct Place: Hashable {
    let connection: ConnectionKey
    let coalescing: Coalescing
  }

  private var newest = IncrementalTable<Place, OutboxRecord>()

  var isEmpty: Bool { newest.isEmpty }
  /// All of them.
  var records: some Sequence<OutboxRecord> { newest.values }

  /// What a newer send takes the place of.
  func older(_ coalescing: Coalescing, on connection: ConnectionKey) -> OutboxRecord? {
    newest.isEmpty ? nil : newest[Place(connection: connection, coalescing: coalescing)]
  }

  /// Takes one in. Of two with one place the older one has to give way: that is returned.
  mutating func add(_ record: OutboxRecord, at place: Place) -> OutboxRecord? {
    guard let other = newest.updateValue(record, forKey: place), other !== record else { return nil }
    guard other.entry.number > record.entry.number else { return other }
    newest[place] = other
    return record
  }

  /// It does not wait any more.
  mutating func remove(_ record: OutboxRecord, at place: Place) {
    if newest[place] === record { newest[place] = nil }
  }
}
