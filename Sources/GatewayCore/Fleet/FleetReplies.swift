/// What the holder tells the hosts in one conversation, and what it notes about durable sends. An engine that has lost some of
/// it is told once more.
final class FleetReplies {
  /// The engine lets one host be told nothing, such as where one of its keys is something else. That holds up no other host.
  private enum Hold {
    /// May become `replaying`.
    case refused
    /// It lets the host be told again, and is told what it has refused. May become `refused`.
    case replaying
  }

  /// Whether what was told in this conversation stands where the hosts read it.
  private final class Standing {
    /// How much the engine has not confirmed; nil once it may have lost or has refused some, or has something else in its
    /// place.
    var unconfirmed: Int? = 0

    func note(_ outcome: FleetOutcome<Bool>) {
      if case .done(true) = outcome { unconfirmed? -= 1 } else { unconfirmed = nil }
    }
  }

  private let conversation: UInt64
  private let own: FleetOwn
  private let place: FleetPlace
  /// How many replies each host has.
  private var counts: [String: UInt64] = [:]
  private let engine: any FleetEngine
  private let log: FleetReplayLog<FleetDone>
  private var held: [String: Hold] = [:]
  private let standing: Standing

  var onFenced: () -> Void = {}
  /// The engine has taken some of what was told.
  var onTaken: () -> Void = {}

  /// Most that is told once more, in replies and in bytes.
  static let limit = (count: 4_096, bytes: 16 << 20)

  init(
    _ conversation: UInt64, _ own: FleetOwn, _ place: FleetPlace, engine: any FleetEngine, timers: Timers
  ) {
    (self.conversation, self.own, self.place) = (conversation, own, place)
    self.engine = engine
    let standing = Standing()
    self.standing = standing
    log = FleetReplayLog(.open, limit: Self.limit, timers: timers) { log, told, isProbe in
      engine.run(told) { [weak log] in
        standing.note($0)
        log?.answered(told, $0.withoutValue, isProbe: isProbe)
      }
    }
    log.isHeld = { [weak self] in self?.held[$0.host] != nil }
    log.onOutcome = { [weak self] in self?.told($0, $1) }
  }

  /// Whether all that the hosts were told stands where they read it, and always did.
  var stands: Bool { standing.unconfirmed == 0 }
  /// Whether that may be so in a moment.
  var mayStand: Bool { standing.unconfirmed != nil }

  /// Bytes of what was told that the engine has not taken. What it does not let a host be told is not counted.
  var unsentBytes: Int { log.unsentBytes }

  /// Tells a host something, and in one step with it what became of its durable sends. `life`: that of the numbers in it.
  func tell(
    _ host: String, _ call: FleetReplyEntry.Call, _ outcomes: [String: FleetBoxRow] = [:], life: UInt64? = nil
  ) {
    let count = (counts[host] ?? 0) + 1
    counts[host] = count
    let entry = FleetReplyEntry(call, life: life)
    let reply = FleetRecord(position: FleetPosition(conversation, count), fields: entry.fields)
    append(FleetDone(place: place, own: own, host: host, reply: reply, outcomes: outcomes))
  }

  /// What became of a send of a host that died, by the name of the fleet's row.
  func note(_ end: FleetSendEnd, of name: String) {
    guard let (host, id) = FleetSend.parts(of: name) else { return }
    append(FleetDone(place: place, own: own, host: host, outcomes: [id: end.row]))
  }

  private func append(_ done: FleetDone) {
    standing.unconfirmed? += 1
    log.append(done)
  }

  private func told(_ done: FleetDone, _ outcome: FleetOutcome<Void>) {
    switch outcome {
    case .fenced: onFenced()
    case .refused: held[done.host] = .refused
    // What is lost is told once more on the next connection.
    case .done, .uncopied, .unanswered: break
    }
    onTaken()
  }

  func engineLost() {
    standing.unconfirmed = nil
    log.lose()
  }

  /// The term goes on at the engine that is reached: it is told what it may have lost, or has refused, before anything new.
  func heal() {
    guard log.state != .lost else {
      held = [:]
      return log.replay { [weak self] in self?.onTaken() }
    }
    guard log.state == .open, held.values.contains(.refused) else { return }
    // By the first for a host it is seen whether the engine takes the others.
    var firsts: [String: FleetDone] = [:]
    for done in log.entries.elements where held[done.host] == .refused && firsts[done.host] == nil {
      firsts[done.host] = done
    }
    held = held.filter { $1 != .refused || firsts[$0] != nil }
    for first in firsts.values { probe(first) }
  }

  private func probe(_ done: FleetDone) {
    engine.run(done) { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      case .done where held[done.host] == .refused: tellAgain(done.host)
      case .fenced: onFenced()
      case .done, .refused, .uncopied, .unanswered: break
      }
    }
  }

  /// Tells one host what is kept for it.
  private func tellAgain(_ host: String) {
    held[host] = .replaying
    let isReplaying = { [weak self] in self?.log.state == .open && self?.held[host] == .replaying }
    log.visit(while: isReplaying, { [weak log] in if $0.host == host { log?.say($0) } }) { [weak self] in
      self?.held[host] = nil
    }
  }
}

extension FleetDone: FleetReplayable {
  var byteCount: Int { (reply?.byteCount ?? 0) + outcomes.values.reduce(0) { $0 + $1.byteCount } }
}
