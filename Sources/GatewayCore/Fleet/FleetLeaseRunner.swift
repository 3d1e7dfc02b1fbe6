/// Carries out what the lease of an upstream orders (`FleetLease`): looks at it in the engine, takes it, beats and gives it
/// back there, and reports when a term begins and ends. What an order means for the link to the server is for its owner.
final class FleetLeaseRunner {
  private(set) var settings: FleetSettings
  private let engine: any FleetEngine
  private let timers: Timers
  private let random: any RandomSource
  private let tops: () -> FleetTops
  private(set) var lease: FleetLease
  private var timer: Timers.ID?
  /// Whose the lease was when it was asked for, and why it is being given back.
  private var lastHost: String?
  private var departure = ""
  /// The last term whose beginning was reported, until its end is.
  private var reportedTerm: UInt64?
  /// It takes no lease, whoever has it.
  var abstains = false

  /// Its turn among the hosts that would take a lease that nobody holds.
  var rank: () -> FleetRank = { .first }
  /// The wall clock.
  var wallMilliseconds: () -> Int64 = { 0 }
  /// A beat is about to be sent, and takes with it what its holder has to say.
  var onBeat: (inout FleetBeat) -> Void = { _ in }
  /// An order for the link to the server; those to the engine alone are not told.
  var onOrder: (FleetLease.Action) -> Void = { _ in }
  /// The term goes on at this server. `isLate`: the beat was answered late.
  var onBeaten: (FleetBeaten, _ isLate: Bool) -> Void = { _, _ in }
  /// This host's user may not take it.
  var onForbidden: () -> Void = {}
  /// Another host has taken what this one held.
  var onFenced: () -> Void = {}
  /// It is taken, or given up.
  var onReport: (FleetReport) -> Void = { _ in }

  init(
    _ settings: FleetSettings, engine: any FleetEngine, timers: Timers, random: any RandomSource,
    tops: @escaping () -> FleetTops
  ) {
    self.settings = settings
    self.engine = engine
    self.timers = timers
    self.random = random
    self.tops = tops
    lease = FleetLease(FleetLease.Settings(settings))
  }

  /// The present term; nil while this host does not hold.
  var own: FleetOwn? { lease.own }
  /// Whether this host holds and may go on: the lease has not lapsed, and is not being given back.
  var isHolding: Bool { if case .holding = lease.state { true } else { false } }

  func tell(_ event: FleetLease.Event) {
    if event == .fenced, own != nil { onFenced() }
    for action in lease.handle(event, at: timers.now) { act(action) }
    reportEnd(event == .fenced ? "another host has taken it, or the fleet's server has lost it" : departure)
  }

  /// Gives the lease to another host, for a reason in a clause.
  func leave(_ why: String) {
    departure = why
    tell(.leave)
  }

  /// What this host has to have like the others is another now. Where it holds they are to hear that at once.
  func adopt(_ agreement: FleetAgreement) {
    guard agreement != settings.agreement else { return }
    settings.agreement = agreement
    tell(.news)
  }

  /// This host has another name from now on, by which it holds nothing.
  func rename(_ host: String) {
    let held = own != nil
    settings.host = host
    // First: what ends may not write any more.
    lease = FleetLease(FleetLease.Settings(settings), wasFenced: true)
    if held { onOrder(.end) }
    reportEnd("this host has another name in the fleet, because two daemons had one")
    if let server = engine.server { tell(.gained(run: server.run)) }
  }

  /// The engine refused what a holder may do: perhaps another host holds. `done` where none does, as far as that is known.
  func lookAtTerm(_ done: @escaping () -> Void) {
    guard let own else { return }
    engine.rows(of: place.key(.lease), ["own"]) { [weak self] outcome in
      guard let self, self.own == own else { return }
      switch outcome {
      case .done(let rows) where rows["own"].map({ String(decoding: $0, as: UTF8.self) }) != own.text: tell(.fenced)
      case .done, .refused: done()
      case .unanswered, .uncopied, .fenced: break
      }
    }
  }

  private var place: FleetPlace { settings.place }

  private func act(_ action: FleetLease.Action) {
    switch action {
    case .look: look()
    case .take(let sight, let isLate): take(sight, isLate: isLate)
    case .beat: beat()
    case .release: release()
    case .distrust: engine.distrust()
    case .wake(let due):
      timers.cancel(timer)
      timer = timers.at(due) { [weak self] in self?.tell(.rang) }
    case .begin(let taken):
      reportBeginning(taken)
      onOrder(action)
    case .extend, .lapse, .cut, .end, .drain: onOrder(action)
    }
  }

  private func look() {
    engine.rows(of: place.key(.lease), ["own", "beat", "holder", "next", "at", "v", "config"]) { [weak self] outcome in
      guard let self, !abstains, case .done(let rows) = outcome else { return }
      let seen = FleetLeaseRecord(rows)
      tell(
        .saw(
          seen.sight, holder: seen.holder, next: seen.next, isOfServer: seen.server == engine.server?.run,
          disagrees: settings.objection(to: seen) != nil, rank: rank(), fraction: random.fraction()))
    }
  }

  private func take(_ sight: FleetSight, isLate: Bool) {
    let tops = tops()
    lastHost = FleetOwn(sight.own)?.host
    let step = FleetTake(
      place: place, host: settings.host, seen: sight, run: engine.server?.run ?? "", conversation: tops.conversation,
      sequence: tops.sequence, term: tops.term, isLate: isLate, since: UInt64(max(0, wallMilliseconds())))
    engine.run(step) { [weak self] outcome in
      switch outcome {
      case .done(let taken): self?.tell(.took(taken))
      case .refused(.forbidden):
        self?.onForbidden()
        self?.tell(.takeFailed)
      case .fenced, .refused, .unanswered, .uncopied: self?.tell(.takeFailed)
      }
    }
  }

  private func beat() {
    guard let own else { return }
    let sent = timers.now
    var step = FleetBeat(place: place, own: own, agreement: settings.agreement, run: engine.server?.run ?? "")
    onBeat(&step)
    engine.run(step) { [weak self, said = step.agreement] outcome in
      guard let self, self.own == own else { return }
      switch outcome {
      case .done(let beaten):
        let isLate = timers.now - sent > settings.lease / 2
        tell(.beaten)
        // Another one was adopted while the beat was on its way.
        if said != settings.agreement { tell(.news) }
        onBeaten(beaten, isLate)
        if !beaten.next.isEmpty, beaten.next != settings.host {
          leave(beaten.next == "*" ? "another host is to have it" : "\(beaten.next) is to have it")
        }
      case .fenced: tell(.fenced)
      case .refused, .unanswered, .uncopied: tell(.beatFailed)
      }
    }
  }

  private func release() {
    guard let own else { return }
    engine.run(FleetRelease(place: place, own: own)) { [weak self] outcome in
      guard let self, self.own == own else { return }
      switch outcome {
      case .done, .refused, .uncopied: tell(.released)
      case .fenced: tell(.fenced)
      case .unanswered: break
      }
    }
  }

  private func reportBeginning(_ taken: FleetTaken) {
    guard let own else { return }
    reportedTerm = own.term
    onReport(
      .took(
        upstream: place.upstream, namespace: place.namespace, term: own.term, conversation: taken.conversation,
        from: lastHost))
  }

  /// A term whose beginning was reported, if it has ended.
  private func reportEnd(_ why: String) {
    guard let term = reportedTerm, term != own?.term else { return }
    reportedTerm = nil
    onReport(.gaveUp(upstream: place.upstream, namespace: place.namespace, term: term, why: why))
  }
}
