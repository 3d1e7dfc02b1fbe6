/// What the fleet keeps of this host's durable sends, and what it says of those that another host wrote.
final class FleetSends: OutboxCopies {
  private let fleet: Fleet
  private unowned let relay: OutboxRelay

  init(_ fleet: Fleet, _ relay: OutboxRelay) {
    self.fleet = fleet
    self.relay = relay
    fleet.onSend = { [weak self] in self?.heard($1, of: $0) }
  }

  private func box(of target: OutboxTarget) -> FleetBox? {
    target.upstream.flatMap { fleet.link(of: fleet.place($0, target.namespace))?.box }
  }

  func keep(_ entry: OutboxEntry) { box(of: entry.target)?.put(entry.number, entry.row) }
  func drop(_ entry: OutboxEntry) { box(of: entry.target)?.finish(entry.number) }

  private func heard(_ news: FleetBox.News, of place: FleetPlace) {
    switch news {
    case .boxed, .refused: break
    case .adopted(let number): relay.leaveElsewhere(number)
    case .returned(let number): relay.takeBack(number)
    case .outcome(let number, let fields):
      guard let end = FleetSendEnd(fields) else { return }
      relay.conclude(number, end.state, reason: end.reason, result: end.answer)
    case .found(let name, let fields):
      let target = OutboxTarget(name: .upstream(place.upstream), namespace: place.namespace)
      // What is known ended here while the fleet could not be told.
      guard let entry = OutboxEntry(fields, id: name, to: target), relay.adopt(entry) else {
        return fleet.link(of: place)?.box.drop(name) ?? ()
      }
    }
  }
}
