/// The durable sends that one reading of the fleet's rows has found, in the order in which they are to be written. There may be
/// very many: each costs its share when it is found, and when it is taken out.
final class FleetFindings {
  struct Item {
    let send: FleetSend
    /// A newer one among them takes its place, if it waits.
    let givesWay: Bool
  }

  private var sends = SortedSet<FleetSend>()
  /// Of each value the newest one.
  private var newest = IncrementalTable<Coalescing, FleetSend>()

  init(_ sends: [FleetSend] = []) { for send in sends { add(send) } }

  var isEmpty: Bool { sends.isEmpty }

  func add(_ send: FleetSend) {
    sends.insert(send)
    guard let value = send.coalescing else { return }
    if let last = newest[value], send < last { return }
    newest[value] = send
  }

  /// Takes out the next ones: as many as one turn has time for.
  func takePortion() -> [Item] {
    sends.popFirstBlock().map { send in
      guard let value = send.coalescing, let last = newest[value] else { return Item(send: send, givesWay: false) }
      // Nothing of that value stands behind its newest one.
      if last.name == send.name { newest[value] = nil }
      return Item(send: send, givesWay: send.gives(wayTo: last))
    }
  }
}

extension FleetSend {
  /// What it says the present value of, among the sends of all hosts.
  fileprivate var coalescing: Coalescing? {
    guard let own = entry.coalescing else { return nil }
    return Coalescing(user: own.user, value: "\(host)/\(own.value.text)", isStored: own.isStored)
  }
}
