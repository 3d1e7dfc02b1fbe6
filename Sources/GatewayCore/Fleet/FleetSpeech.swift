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

  /// Where all hosts say what they want to have said.
  private let up: FleetKey
  private let engine: any FleetEngine
  private let timers: Timers
  /// The present one or, between two, the last one.
  private(set) var part = Part.nowhere
  /// What was said in it.
  private(set) var flights = FleetFlights()
  private var flow = FleetFlow.lost
  private var probeTimer: Timers.ID?
  /// Looks whether the holder goes on confirming.
  private var watchTimer: Timers.ID?
  /// After so long without a confirmation the last one is said again, and then after twice as long, and so on.
  static let patience: ClosedRange<Duration> = .seconds(5)...(.seconds(320))
  /// Goes on with what is said again.
  private var portionTimer: Timers.ID?

  init(_ place: FleetPlace, engine: any FleetEngine, timers: Timers) {
    up = place.key(.up)
    self.engine = engine
    self.timers = timers
  }

  // MARK: - The part

  /// Whether a host may take part so. Numbers of one life in one conversation name one call each: not where an earlier channel
  /// has said something in it, and not in one that this host has left for another, which a failover has undone.
  func mayTake(_ part: Part) -> Bool {
    guard part.life == self.part.life, part.conversation <= self.part.conversation else { return true }
    return part.conversation == self.part.conversation && part.epoch == self.part.epoch && flights.last == 0
  }

  /// Whether all that was said last stands in a conversation of that epoch.
  func stands(in epoch: String?) -> Bool { part.epoch != nil && part.epoch == epoch && flights.count == 0 }

  /// By a new channel.
  func take(_ part: Part) {
    (self.part, flights, flow) = (part, FleetFlights(), .open)
  }

  /// The host has another name from now on, by which it has said nothing.
  func forget() { (part, flights) = (.nowhere, FleetFlights()) }

  /// What the holder replies to something that was said; nil for what is about something else. Numbers of an earlier life are
  /// of other calls.
  func reply(in record: FleetRecord) -> FleetReplyEntry.Call? {
    guard record.position.conversation == part.conversation, let reply = FleetReplyEntry(record.fields),
      reply.life.map({ $0 == part.life }) ?? true
    else { return nil }
    return reply.call
  }

  /// The holder has written all up to that number.
  func confirm(upTo number: UInt64) { flights.confirm(upTo: number) }

  // MARK: - Saying

  func say(_ call: FleetUpEntry.Call) {
    let entry = flights.add(call, as: part)
    guard flow == .open else { return }
    append(entry)
    watch()
  }

  /// The engine is lost, or the channel has ended: what is said is kept until `sayAgain`.
  func pause() {
    flow = .lost
    timers.cancel(probeTimer)
    timers.cancel(portionTimer)
  }

  /// Everything that is not confirmed, before anything new: one portion in a turn.
  func sayAgain() {
    flow = .repeating
    sayAgain(behind: 0)
  }

  /// The holder misses everything from that number on.
  func sayAgain(from number: UInt64) {
    guard flow == .open else { return }
    flow = .repeating
    sayAgain(behind: max(number, 1) - 1)
  }

  private func sayAgain(behind number: UInt64) {
    timers.cancel(portionTimer)
    guard flow == .repeating else { return }
    var turn = FleetTurn()
    let all = flights
    guard let next = all.look(behind: number, while: { turn.takes($0) }, { append($0) }) else {
      flow = .open
      return watch()
    }
    portionTimer = timers.after(.zero) { [weak self] in self?.sayAgain(behind: next - 1) }
  }

  /// What was lost on its way, and has nothing behind it, nobody misses: where nothing is confirmed for long, which may be as
  /// well for a server that does not read, the last one is said again. The holder takes no number twice, and asks for what it
  /// misses before that one.
  private func watch(for patience: Duration = FleetSpeech.patience.lowerBound) {
    guard watchTimer == nil, flights.count > 0 else { return }
    let (part, confirmed) = (part, flights.confirmed)
    watchTimer = timers.after(patience) { [weak self] in
      guard let self else { return }
      watchTimer = nil
      guard flow == .open else { return }
      guard let newest = flights.newest, part == self.part, flights.confirmed == confirmed else { return watch() }
      append(newest)
      watch(for: min(patience * 2, Self.patience.upperBound))
    }
  }

  private func append(_ entry: FleetUpEntry) {
    engine.append(entry.fields, to: up, at: nil) { [weak self] outcome in
      guard let self, case .refused = outcome, flow == .open || flow == .repeating else { return }
      flow = .refused
      probeLater()
    }
  }

  private func probeLater() {
    timers.cancel(probeTimer)
    probeTimer = timers.after(FleetRefusal.pause) { [weak self] in self?.probe() }
  }

  private func probe() {
    guard flow == .refused else { return }
    guard let first = flights.first else { return flow = .open }
    engine.append(first.fields, to: up, at: nil) { [weak self] outcome in
      guard let self, flow == .refused else { return }
      switch outcome {
      case .done, .fenced: sayAgain()
      case .refused: probeLater()
      // Everything is said again on the next connection.
      case .unanswered, .uncopied: break
      }
    }
  }
}
