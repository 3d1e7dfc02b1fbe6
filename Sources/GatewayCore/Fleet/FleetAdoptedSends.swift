/// What a host writes for others that died: durable sends without contents, by the names of their rows and in their order.
struct FleetAdoptedSends {
  private var sends = IncrementalTable<String, FleetSend>()
  private var order = SortedSet<FleetSend.Rank>()

  var count: Int { sends.count }
  var isEmpty: Bool { order.isEmpty }

  /// One more, or the same once more.
  mutating func add(_ send: FleetSend) {
    if let old = sends.updateValue(send, forKey: send.name) { order.remove(old.rank) }
    order.insert(send.rank)
  }

  mutating func remove(_ name: String) {
    if let send = sends.removeValue(forKey: name) { order.remove(send.rank) }
  }

  /// So many at most that stand behind one, which may be gone by now; nil: the first of all.
  func next(_ limit: Int, behind rank: FleetSend.Rank?) -> [FleetSend] {
    order.next(limit, behind: rank).compactMap { sends[$0.name] }
  }

  /// Forgets the first ones: as many as one turn has time for.
  mutating func dropPortion() {
    for rank in order.popFirstBlock() { sends.removeValue(forKey: rank.name) }
  }
}
