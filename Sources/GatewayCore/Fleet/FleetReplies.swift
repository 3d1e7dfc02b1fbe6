/// What the holder tells the hosts in one conversation, and what it notes about durable sends. An engine that has lost some of
/// it is told once more.
final class FleetReplies {
  private let conversation: UInt64
  private let own: FleetOwn
  private let place: FleetPlace
  private let engine: any FleetEngine
  /// How many replies each host has.
  private var counts: [String: UInt64] = [:]
  private var told = SizedRing<FleetDone>(limit: FleetReplies.limit)
  private var isHealed = true
  /// Hosts to whom the engine lets nothing be told, such as where one of their keys is something else: for each it is as
  /// `FleetFlow.refused` says.
  private var refused: Set<String> = []
  var onFenced: () -> Void = {}

  /// Most that is told once more, in replies and in bytes.
  static let limit = (count: 4_096, bytes: 16 << 20)

  init(_ conversation: UInt64, _ own: FleetOwn, _ place: FleetPlace, engine: any FleetEngine) {
    (self.conversation, self.own, self.place, self.engine) = (conversation, own, place, engine)
  }

  /// Tells a host something, and in one step with it what became of its durable sends. `life`: that of the numbers in it.
  func tell(
    _ host: String, _ call: FleetReplyEntry.Call, _ outcomes: [String: FleetBoxRow] = [:], life: UInt64? = nil
  ) {
    let count = (counts[host] ?? 0) + 1
    counts[host] = count
    let entry = FleetReplyEntry(call, life: life)
    let reply = FleetRecord(position: FleetPosition(conversation, count), fields: entry.fields)
    tell(FleetDone(place: place, own: own, host: host, reply: reply, outcomes: outcomes))
  }

  /// What became of a send of a host that died, by the name of the fleet's row.
  func note(_ end: FleetSendEnd, of name: String) {
    guard let (host, id) = FleetSend.parts(of: name) else { return }
    tell(FleetDone(place: place, own: own, host: host, outcomes: [id: end.row]))
  }

  private func tell(_ done: FleetDone) {
    told.append(done, bytes: done.byteCount)
    if isHealed, !refused.contains(done.host) { run(done) }
  }

  private func run(_ done: FleetDone) {
    engine.run(done) { [weak self] outcome in
      switch outcome {
      case .fenced: self?.onFenced()
      case .refused: self?.refused.insert(done.host)
      // What is lost is told once more on the next connection.
      case .done, .uncopied, .unanswered: break
      }
    }
  }

  func engineLost() { isHealed = false }

  /// The term goes on at the engine that is reached: it is told what it may have lost, or has refused, before anything new.
  func heal() {
    guard isHealed else {
      (isHealed, refused) = (true, [])
      return tellAgain { _ in true }
    }
    guard !refused.isEmpty else { return }
    // By the first for a host it is seen whether the engine takes the others.
    var firsts: [String: FleetDone] = [:]
    for done in told.elements where refused.contains(done.host) && firsts[done.host] == nil { firsts[done.host] = done }
    refused = Set(firsts.keys)
    for first in firsts.values { probe(first) }
  }

  private func probe(_ done: FleetDone) {
    engine.run(done) { [weak self] outcome in
      switch outcome {
      case .done: if self?.refused.remove(done.host) != nil { self?.tellAgain { $0 == done.host } }
      case .fenced: self?.onFenced()
      case .refused, .uncopied, .unanswered: break
      }
    }
  }

  private func tellAgain(_ isMeant: (String) -> Bool) {
    for done in told.elements where isMeant(done.host) { run(done) }
  }
}

extension FleetDone {
  /// What it counts while it is kept.
  fileprivate var byteCount: Int {
    (reply?.byteCount ?? 0) + outcomes.values.reduce(0) { $0 + $1.byteCount }
  }
}
