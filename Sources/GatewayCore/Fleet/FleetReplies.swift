/// What the holder tells the hosts in one conversation, and what it notes about durable sends. An engine that has lost some of
/// it is told once more.
final class FleetReplies {
  private let conversation: UInt64
  private let own: FleetOwn
  private let place: FleetPlace
  private let engine: any FleetEngine
  private let timers: Timers
  /// How many replies each host has.
  private var counts: [String: UInt64] = [:]
  private var told = SizedRing<FleetDone>(limit: FleetReplies.limit)
  private var flow = FleetFlow.open
  /// The same of hosts to whom the engine let nothing be told, such as where one of their keys is something else: `refused`, or
  /// `repeating` when it does again.
  private var held: [String: FleetFlow] = [:]
  /// Goes on with what all are told again.
  private var portionTimer: Timers.ID?
  /// Bytes that were asked of the engine and have no outcome.
  private(set) var unsentBytes = 0
  var onFenced: () -> Void = {}
  /// The engine has taken some of what was told.
  var onTaken: () -> Void = {}

  /// Most that is told once more, in replies and in bytes.
  static let limit = (count: 4_096, bytes: 16 << 20)

  init(
    _ conversation: UInt64, _ own: FleetOwn, _ place: FleetPlace, engine: any FleetEngine, timers: Timers
  ) {
    (self.conversation, self.own, self.place) = (conversation, own, place)
    (self.engine, self.timers) = (engine, timers)
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
    if flow == .open, held[done.host] == nil { run(done) }
  }

  private func run(_ done: FleetDone) {
    let size = done.byteCount + FleetPublisher.overhead
    unsentBytes += size
    engine.run(done) { [weak self] outcome in
      guard let self else { return }
      unsentBytes -= size
      switch outcome {
      case .fenced: onFenced()
      case .refused: held[done.host] = .refused
      // What is lost is told once more on the next connection.
      case .done, .uncopied, .unanswered: break
      }
      onTaken()
    }
  }

  func engineLost() { flow = .lost }

  /// The term goes on at the engine that is reached: it is told what it may have lost, or has refused, before anything new.
  func heal() {
    guard flow != .lost else {
      (flow, held) = (.repeating, [:])
      return tellAgain(from: told.firstPlace)
    }
    guard flow == .open, held.values.contains(.refused) else { return }
    // By the first for a host it is seen whether the engine takes the others.
    var firsts: [String: FleetDone] = [:]
    for done in told.elements where held[done.host] == .refused && firsts[done.host] == nil { firsts[done.host] = done }
    held = held.filter { $1 != .refused || firsts[$0] != nil }
    for first in firsts.values { probe(first) }
  }

  private func probe(_ done: FleetDone) {
    engine.run(done) { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      case .done where held[done.host] == .refused:
        held[done.host] = .repeating
        tellAgain(from: told.firstPlace, only: done.host)
      case .fenced: onFenced()
      case .done, .refused, .uncopied, .unanswered: break
      }
    }
  }

  /// Tells all hosts what is kept, one portion in a turn; what is new meanwhile is kept behind it.
  private func tellAgain(from place: Int) {
    timers.cancel(portionTimer)
    guard flow == .repeating else { return }
    guard let next = tellPortion(from: place, where: { held[$0] == nil }) else { return flow = .open }
    portionTimer = timers.after(.zero) { [weak self] in self?.tellAgain(from: next) }
  }

  /// The same for one host.
  private func tellAgain(from place: Int, only host: String) {
    guard flow == .open, held[host] == .repeating else { return }
    guard let next = tellPortion(from: place, where: { $0 == host }) else { return held[host] = nil }
    timers.after(.zero) { [weak self] in self?.tellAgain(from: next, only: host) }
  }

  /// Returns the place of what follows; nil where nothing does.
  private func tellPortion(from place: Int, where isMeant: (String) -> Bool) -> Int? {
    var turn = FleetTurn()
    let all = told
    return all.look(from: place, while: { turn.takes($0) }, { if isMeant($0.host) { run($0) } })
  }
}

extension FleetDone {
  /// What it counts while it is kept.
  fileprivate var byteCount: Int {
    (reply?.byteCount ?? 0) + outcomes.values.reduce(0) { $0 + $1.byteCount }
  }
}
