/// One order to give the link of an upstream to another host: from the look whether that can be, to the moment at which
/// another host holds.
final class FleetMoving {
  /// What came of it.
  struct Outcome: Equatable {
    /// Who holds now.
    var own: FleetOwn
    /// That host had the link before, and nothing was ordered.
    var hadIt = false
  }

  private let link: FleetLink
  /// Nil: any other.
  private let host: String?
  private var done: ((Result<Outcome, FleetOrderProblem>) -> Void)?
  private var end: MonotonicInstant
  private var old: FleetOwn?
  private var readiness: FleetReadiness?

  init(_ link: FleetLink, to host: String?) {
    self.link = link
    self.host = host
    end = link.timers.now
  }

  private var lease: Duration { link.settings.lease }

  /// `done` is called once, later, unless it is cancelled before.
  func start(_ done: @escaping (Result<Outcome, FleetOrderProblem>) -> Void) {
    self.done = done
    link.roster.refresh { [weak self] in self?.checked() }
  }

  func cancel() {
    done = nil
    readiness?.cancel()
  }

  private func finish(_ result: Result<Outcome, FleetOrderProblem>) {
    let done = done
    self.done = nil
    done?(result)
  }

  /// Why this host or that one cannot have it; nil where one can.
  static func problem(with host: String?, instead own: FleetOwn, in roster: FleetRoster) -> FleetOrderProblem? {
    guard let host else { return roster.heirs(of: own.host).isEmpty ? .nobodyElse : nil }
    guard let known = roster.hosts[host] else { return .unknownHost(roster.hosts.keys.sorted()) }
    if known.details.isStopped { return .isStopped }
    if !known.details.mayHold { return .mayNotHold }
    let differences = known.details.agreement.differences(from: roster.record?.agreement ?? FleetAgreement())
    if !differences.isEmpty { return .differs(differences) }
    return roster.isAlive(host) == false ? .isSilent : nil
  }

  private func checked() {
    guard done != nil else { return }
    guard let record = link.roster.record else { return finish(.failure(FleetOrderProblem(unreached: link))) }
    guard let own = record.own else { return finish(.failure(.neverHeld)) }
    if own.host == host, record.holder == host { return finish(confirm(record, own)) }
    if let problem = Self.problem(with: host, instead: own, in: link.roster) { return finish(.failure(problem)) }
    let readiness = FleetReadiness(link, own, of: host.map { [$0] } ?? link.roster.heirs(of: own.host))
    self.readiness = readiness
    readiness.start { [weak self] problem in
      guard let self else { return }
      guard let problem else { return move(own) }
      // It has left a moment ago.
      finish(.failure(host != nil && problem == .nobodyElse ? .mayNotHold : problem))
    }
  }

  /// The named host has the link: whether it keeps it.
  private func confirm(_ record: FleetLeaseRecord, _ own: FleetOwn) -> Result<Outcome, FleetOrderProblem> {
    if link.roster.isTermOver || link.roster.isAlive(own.host) == false { return .failure(.isSilent) }
    let stays = record.next.isEmpty || record.next == own.host
    return stays ? .success(Outcome(own: own, hadIt: true)) : .failure(.isToGo(record.next))
  }

  private func move(_ own: FleetOwn) {
    old = own
    // The holder hears it within a third of a lease, and has a second for its last bytes; then hosts may wait for a lease.
    end = link.timers.now + lease * 4 + .seconds(2)
    link.engine.run(FleetMove(place: link.place, own: own, host: host)) { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      // Where it was fenced another host has taken it by itself.
      case .done, .fenced: look()
      case .refused(.forbidden(let words)): finish(.failure(.mayNotMove(words)))
      case .refused(let refusal): finish(.failure(.refused(refusal)))
      case .unanswered, .uncopied: finish(.failure(FleetOrderProblem(unreached: link)))
      }
    }
  }

  private func look() {
    guard done != nil else { return }
    if let own = link.roster.record?.own, own != old {
      let cameBack = own.host == old?.host
      let isMeant = host.map { $0 == own.host } ?? !cameBack
      return finish(
        isMeant ? .success(Outcome(own: own)) : .failure(cameBack ? .cameBack(own.host) : .tookOther(own.host)))
    }
    guard link.timers.now < end else { return finish(.failure(.tooLate)) }
    link.timers.after(lease / 16) { [weak self] in
      guard let self, done != nil else { return }
      link.roster.readLease { [weak self] in self?.look() }
    }
  }
}
