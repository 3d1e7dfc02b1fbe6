/// What a host says in the conversations of its fleet, in one at a time. Nothing new goes out before what the engine may have
/// lost or has refused: the holder waits for that before it takes anything behind it.
final class FleetSpeech {
  /// Where a host takes part, and in which of its lives. Numbers begin anew with each.
  struct Part: Equatable, Sendable {
    var host: String
    var life: UInt64
    var conversation: UInt64
    /// That of the conversation: another server may give the same number to another one.
    var epoch: String?

    /// No host takes part so.
    static let nowhere = Part(host: "", life: 0, conversation: 0, epoch: nil)
  }

  private let timers: Timers
  /// The present one or, between two, the last one.
  private(set) var part = Part.nowhere
  /// What was said in it and the holder has not confirmed: an engine is told it again, which the numbers make harmless. They
  /// count from 1, one after the other, so that each stands right behind the place of its entry.
  private let log: FleetReplayLog<FleetUpEntry>
  /// The number of the last one that was confirmed.
  private(set) var confirmed: UInt64 = 0
  /// The number of the last one.
  private(set) var last: UInt64 = 0
  private var probeTimer: Timers.ID?
  /// Looks whether the holder goes on confirming.
  private var watchTimer: Timers.ID?
  /// After so long without a confirmation the last one is said again, and then after twice as long, and so on.
  static let patience: ClosedRange<Duration> = .seconds(5)...(.seconds(320))

  init(_ place: FleetPlace, engine: any FleetEngine, timers: Timers) {
    let calls = place.key(.up)
    self.timers = timers
    log = FleetReplayLog(.lost, timers: timers) { log, entry, isProbe in
      engine.append(entry.fields, to: calls, at: nil) { [weak log] in
        log?.answered(entry, $0.withoutValue, isProbe: isProbe)
      }
    }
    log.onOutcome = { [weak self] in self?.said($1) }
  }

  /// How much was said and is not confirmed.
  var unconfirmed: (count: Int, bytes: Int) { (log.entries.count, log.entries.bytes) }

  /// The call of a number; nil where it is confirmed, or was never said.
  subscript(number: UInt64) -> FleetUpEntry.Call? {
    guard number > 0, number <= last else { return nil }
    return log.entries.look(Int(number) - 1 - log.entries.firstPlace) { $0.call }
  }

  // MARK: - The part

  /// Whether a host may take part so. Numbers of one life in one conversation name one call each: not where an earlier channel
  /// has said something in it, and not in one that this host has left for another, which a failover has undone.
  func mayTake(_ part: Part) -> Bool {
    guard part.life == self.part.life, part.conversation <= self.part.conversation else { return true }
    return part.conversation == self.part.conversation && part.epoch == self.part.epoch && last == 0
  }

  /// Whether all that was said last stands in a conversation of that epoch.
  func stands(in epoch: String?) -> Bool { part.epoch != nil && part.epoch == epoch && unconfirmed.count == 0 }

  /// By a new channel.
  func take(_ part: Part) { begin(part, .open) }

  /// The host has another name from now on, by which it has said nothing.
  func forget() { begin(.nowhere, log.state) }

  /// What the holder replies to something that was said; nil for what is about something else. Numbers of an earlier life are
  /// of other calls.
  func reply(in record: FleetRecord) -> FleetReplyEntry.Call? {
    guard record.position.conversation == part.conversation, let reply = FleetReplyEntry(record.fields),
      reply.life.map({ $0 == part.life }) ?? true
    else { return nil }
    return reply.call
  }

  /// The holder has written all up to that number.
  func confirm(upTo number: UInt64) {
    confirmed = max(confirmed, number)
    log.forget { $0.number <= number }
  }

  private func begin(_ part: Part, _ state: FleetReplayLog<FleetUpEntry>.State) {
    (self.part, confirmed, last) = (part, 0, 0)
    log.reset(to: state)
  }

  // MARK: - Saying

  func say(_ call: FleetUpEntry.Call) {
    last += 1
    log.append(
      FleetUpEntry(host: part.host, life: part.life, conversation: part.conversation, number: last, call: call))
    if log.state == .open { watch() }
  }

  /// The engine is lost, or the channel has ended: what is said is kept until `sayAgain`.
  func pause() {
    log.lose()
    timers.cancel(probeTimer)
  }

  /// Everything that is not confirmed, before anything new.
  func sayAgain() { log.replay { [weak self] in self?.watch() } }

  /// The holder misses everything from that number on.
  func sayAgain(from number: UInt64) {
    guard log.state == .open else { return }
    log.replay(from: Int(clamping: max(number, 1) - 1)) { [weak self] in self?.watch() }
  }

  /// What was lost on its way, and has nothing behind it, nobody misses: where nothing is confirmed for long, which may be as
  /// well for a server that does not read, the last one is said again. The holder takes no number twice, and asks for what it
  /// misses before that one.
  private func watch(for patience: Duration = FleetSpeech.patience.lowerBound) {
    guard watchTimer == nil, unconfirmed.count > 0 else { return }
    let (part, confirmed) = (part, confirmed)
    watchTimer = timers.after(patience) { [weak self] in
      guard let self else { return }
      watchTimer = nil
      guard log.state == .open else { return }
      guard let newest = log.entries.look(unconfirmed.count - 1, { $0 }), part == self.part, confirmed == self.confirmed
      else { return watch() }
      log.say(newest)
      watch(for: min(patience * 2, Self.patience.upperBound))
    }
  }

  /// What became of a call.
  private func said(_ outcome: FleetOutcome<Void>) {
    guard case .refused = outcome, log.state == .open || log.state == .replaying else { return }
    log.refuse()
    probeLater()
  }

  private func probeLater() {
    timers.cancel(probeTimer)
    probeTimer = timers.after(FleetRefusal.pause) { [weak self] in self?.probe() }
  }

  private func probe() {
    guard log.state == .refused else { return }
    guard let first = log.entries.first else { return sayAgain() }
    log.probe(first) { [weak self] isTaken in
      if isTaken { self?.sayAgain() } else { self?.probeLater() }
    }
  }
}

extension FleetUpEntry: FleetReplayable {
  var byteCount: Int { call.byteCount }
}

extension FleetUpEntry.Call {
  /// What it counts in the limits of a link.
  var byteCount: Int {
    switch self {
    case .write(let message, _, _), .answer(_, let message): message.byteCount
    case .enter(let message, _, let leave): message.byteCount + (leave?.message.byteCount ?? 0)
    case .leave(let leave, let entered): entered.byteCount + (leave?.message.byteCount ?? 0)
    case .decline, .forget, .want, .drop: 0
    }
  }
}
