/// One order to forget a host that is gone for good: it is seen whether that can be in all upstreams of the fleet, and done in
/// one after the other then.
final class FleetForgetting {
  enum Problem: Equatable {
    /// What may be in the way of any order: the engine, or the name.
    case order(FleetOrderProblem)
    /// This host's user may not write what belongs to others, as one that never holds need not. The sentence is the engine's.
    case mayNotForget(String)
    case isThisHost
    /// It has the link, or had it last.
    case holds
    /// It is not known to be silent for so long that it counts as dead.
    case lives
    /// It is, and no host that holds has made its durable sends the fleet's.
    case isNotAdopted
    /// So many of its durable sends have still to be written by the host that holds.
    case waits(Int)
    /// So many of them are written by no host before one of its name is back.
    case left(Int)
    /// The engine was lost when some of it may have been done.
    case interrupted
  }

  struct Failure: Error, Equatable {
    var problem: Problem
    /// Where that is so; empty where it concerns none of them.
    var upstream = ""
  }

  private let fleet: Fleet
  private let host: String
  private var done: ((Result<[FleetPlace], Failure>) -> Void)?
  /// Where something of it is.
  private var found: [FleetPlace] = []

  init(_ host: String, in fleet: Fleet) {
    (self.host, self.fleet) = (host, fleet)
  }

  /// `done` is called once, with what it was forgotten of, unless it is cancelled before.
  func start(_ done: @escaping (Result<[FleetPlace], Failure>) -> Void) {
    self.done = done
    // Which hosts there are is told with a name that is unknown.
    fleet.refresh { [weak self] in self?.begin() }
  }

  func cancel() { done = nil }

  private func finish(_ result: Result<[FleetPlace], Failure>) {
    let done = done
    self.done = nil
    done?(result)
  }

  private func begin() {
    guard host != fleet.host else { return finish(.failure(Failure(problem: .isThisHost))) }
    // In the name of a key another one would be that of another thing.
    guard FleetOptions.isName(host) else { return finish(.failure(unknown)) }
    forget(in: fleet.places[...], isTrial: true)
  }

  private var unknown: Failure {
    let known = fleet.places.flatMap { fleet.link(of: $0)?.roster.hosts.keys.sorted() ?? [] }
    return Failure(problem: .order(.unknownHost(Set(known).sorted())))
  }

  /// In one upstream after the other.
  private func forget(in places: ArraySlice<FleetPlace>, isTrial: Bool) {
    guard done != nil else { return }
    guard let place = places.first else { return ended(isTrial: isTrial) }
    guard let link = fleet.link(of: place) else { return forget(in: places.dropFirst(), isTrial: isTrial) }
    link.engine.run(FleetForget(place: place, host: host, isTrial: isTrial)) { [weak self] outcome in
      guard let self else { return }
      if let problem = problem(outcome, link, isTrial: isTrial) {
        return finish(.failure(Failure(problem: problem, upstream: place.upstream)))
      }
      if isTrial, outcome == .done(.forgotten) { found.append(place) }
      forget(in: places.dropFirst(), isTrial: isTrial)
    }
  }

  private func ended(isTrial: Bool) {
    guard isTrial else { return finish(.success(found)) }
    if found.isEmpty { return finish(.failure(unknown)) }
    forget(in: found[...], isTrial: false)
  }

  private func problem(_ outcome: FleetOutcome<FleetForgotten>, _ link: FleetLink, isTrial: Bool) -> Problem? {
    switch outcome {
    case .done(.forgotten), .done(.unknown): nil
    case .done(.holds): .holds
    case .done(.lives): link.roster.isSilent(host) ? .isNotAdopted : .lives
    case .done(.waits(let count)): .waits(count)
    case .done(.left(let count)): .left(count)
    case .refused(.forbidden(let words)): .mayNotForget(words)
    case .refused(let refusal): .order(.refused(refusal))
    case .fenced, .unanswered, .uncopied: isTrial ? .order(FleetOrderProblem(unreached: link)) : .interrupted
    }
  }
}
