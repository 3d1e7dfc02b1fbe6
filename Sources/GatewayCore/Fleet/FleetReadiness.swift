/// One question to other hosts whether they could take the link of an upstream now: who was killed a moment ago counts as alive
/// until `adopt` is over, and has nothing against it. The lease has the question, and a host that reads it there says that it
/// lives. Hosts of earlier versions do not, and are taken at their last word.
final class FleetReadiness {
  private let link: FleetLink
  private let own: FleetOwn
  private let hosts: [String]
  /// What was seen of them before.
  private let before: [String: FleetHostRow]
  private var done: ((FleetOrderProblem?) -> Void)?
  private var end: MonotonicInstant

  /// Most whose answers are looked for.
  private static let limit = 64

  /// - Parameter hosts: each of them may hold, as far as is known.
  init(_ link: FleetLink, _ own: FleetOwn, of hosts: [String]) {
    let hosts = Array(hosts.prefix(Self.limit))
    (self.link, self.own, self.hosts) = (link, own, hosts)
    before = link.roster.hosts.filter { hosts.contains($0.key) }
    end = link.timers.now
  }

  /// `done` is called once, with nil as soon as one of them could, unless it is cancelled before.
  func start(_ done: @escaping (FleetOrderProblem?) -> Void) {
    self.done = done
    let isKnown = hosts.contains { $0 == link.host || before[$0]?.details.answers != true }
    guard !isKnown else { return finish(nil) }
    let step = FleetMove(place: link.place, own: own, host: hosts.count == 1 ? hosts[0] : nil, isQuestion: true)
    link.engine.run(step) { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      case .done:
        // Each reads the lease within that time.
        end = link.timers.now + link.roster.leaseInterval + .seconds(1)
        look()
      // Another host has it by now, and lives.
      case .fenced: finish(nil)
      case .refused(.forbidden(let words)): finish(.mayNotMove(words))
      case .refused(let refusal): finish(.refused(refusal))
      case .unanswered, .uncopied: finish(FleetOrderProblem(unreached: link))
      }
    }
  }

  func cancel() { done = nil }

  private func finish(_ problem: FleetOrderProblem?) {
    let done = done
    self.done = nil
    done?(problem)
  }

  private func look() {
    guard done != nil else { return }
    link.engine.rows(of: link.place.key(.hosts), hosts) { [weak self] outcome in
      guard let self, done != nil else { return }
      if case .done(let rows) = outcome {
        let answers = rows.compactMap { answer($0, FleetHostRow($1)) }
        if answers.contains(true) { return finish(nil) }
        // Each of them has left meanwhile.
        if answers.count == hosts.count { return finish(.nobodyElse) }
      }
      guard link.timers.now < end else { return finish(.noAnswer) }
      link.timers.after(link.settings.lease / 16) { [weak self] in self?.look() }
    }
  }

  /// Whether a host may hold; nil where it has not said since the question that it lives.
  private func answer(_ host: String, _ row: FleetHostRow?) -> Bool? {
    guard let row, let last = before[host], !row.isAdopted, (row.life, row.beat) != (last.life, last.beat) else {
      return nil
    }
    return row.details.mayHold
  }
}
