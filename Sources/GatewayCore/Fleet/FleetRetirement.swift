/// One order to give up everything that a host holds: from the look whether others could take it to the moment at which they
/// have. What none of them takes this host takes again. It is kept by what it waits for, and by its fleet until it is over.
final class FleetRetirement {
  typealias Answer = (Result<[FleetPlace], FleetRetirementProblem>) -> Void

  private let fleet: Fleet
  private let timers: Timers
  /// Those who wait for its result; empty when it is over.
  private var answers: [Answer]
  /// What this host has, and in which term.
  private var held: [(place: FleetPlace, own: FleetOwn)] = []
  private var readiness: FleetReadiness?

  /// `answer` is called once, with what went, or with what is in the way.
  init(_ fleet: Fleet, timers: Timers, _ answer: @escaping Answer) {
    (self.fleet, self.timers, answers) = (fleet, timers, [answer])
  }

  private var isOver: Bool { answers.isEmpty }

  /// The same was ordered once more, before it is over.
  func join(_ answer: @escaping Answer) { answers.append(answer) }

  /// - Parameter limit: how long the last bytes and the engine may take.
  func start(within limit: Duration) {
    held = fleet.places.compactMap { place in fleet.holder(of: place)?.lease.own.map { (place, $0) } }
    fleet.refresh { self.check(within: limit) }
  }

  /// This host is to take links again, whatever was ordered before.
  func overtake() {
    readiness?.cancel()
    if let place = held.first?.place { fail(.isWantedAgain, place) } else { finish(.success([])) }
  }

  private func fail(_ problem: FleetOrderProblem, _ place: FleetPlace) {
    finish(.failure(FleetRetirementProblem(place: place, problem: problem)))
  }

  private func finish(_ result: Result<[FleetPlace], FleetRetirementProblem>) {
    let answers = answers
    self.answers = []
    for answer in answers { answer(result) }
  }

  // MARK: - Whether others could

  private func check(within limit: Duration) {
    guard !isOver else { return }
    for (place, _) in held {
      guard let link = fleet.link(of: place), link.roster.record == nil else { continue }
      return fail(FleetOrderProblem(unreached: link), place)
    }
    for (place, _) in held where fleet.link(of: place)?.roster.heirs(of: fleet.host).isEmpty != false {
      return fail(.nobodyElse, place)
    }
    ask(in: held[...]) { self.leave(within: limit) }
  }

  /// The heirs of one upstream after the other.
  private func ask(in rest: ArraySlice<(place: FleetPlace, own: FleetOwn)>, _ then: @escaping () -> Void) {
    guard let (place, own) = rest.first else { return then() }
    guard let link = fleet.link(of: place) else { return ask(in: rest.dropFirst(), then) }
    let readiness = FleetReadiness(link, own, of: link.roster.heirs(of: fleet.host))
    self.readiness = readiness
    readiness.start { problem in
      self.readiness = nil
      if let problem { return self.fail(problem, place) }
      self.ask(in: rest.dropFirst(), then)
    }
  }

  // MARK: - Leaving

  private func leave(within limit: Duration) {
    fleet.abstain(true)
    fleet.leave(within: limit) {
      guard !self.isOver else { return }
      let left = self.held.first { self.fleet.holder(of: $0.place)?.holds == true }
      if let left {
        self.fleet.abstain(false)
        return self.fail(.tooLate, left.place)
      }
      self.wait(until: self.end, isTaken: self.isTaken) { self.takeBack($0) }
    }
  }

  /// Hosts look whether a lease is free at least once within the time that it lasts.
  private var end: MonotonicInstant { timers.now + fleet.options.lease * 2 }

  /// Looks at the leases until they were taken; `then` is told which were not.
  private func wait(
    until end: MonotonicInstant, isTaken: @escaping (FleetPlace, FleetOwn) -> Bool,
    _ then: @escaping ([FleetPlace]) -> Void
  ) {
    let free = held.filter { !isTaken($0.place, $0.own) }.map(\.place)
    guard !isOver else { return }
    guard !free.isEmpty, timers.now < end, !fleet.isStopping else { return then(free) }
    timers.after(fleet.options.lease / 16) {
      self.read(free[...]) { self.wait(until: end, isTaken: isTaken, then) }
    }
  }

  private func read(_ places: ArraySlice<FleetPlace>, _ then: @escaping () -> Void) {
    guard let place = places.first else { return then() }
    guard let link = fleet.link(of: place) else { return read(places.dropFirst(), then) }
    link.roster.readLease { self.read(places.dropFirst(), then) }
  }

  /// Whether any host has had a lease since.
  private func isTaken(_ place: FleetPlace, since own: FleetOwn) -> Bool {
    // The fleet may share it no longer.
    guard let link = fleet.link(of: place) else { return true }
    return link.roster.record?.own.map { $0.term > own.term } ?? false
  }

  // MARK: - Taking back

  private func takeBack(_ free: [FleetPlace]) {
    guard !free.isEmpty, !fleet.isStopping else { return finish(.success(held.map(\.place))) }
    fleet.abstain(false)
    for place in free { fleet.holder(of: place)?.takeBack() }
    wait(until: end, isTaken: isTaken) { missing in
      if let place = free.first(where: { self.fleet.holder(of: $0)?.holds == true }) {
        return self.fail(.cameBack(self.fleet.host), place)
      }
      if let place = missing.first { return self.fail(.tooLate, place) }
      // Others were faster after all.
      self.fleet.abstain(true)
      self.finish(.success(self.held.map(\.place)))
    }
  }
}

/// Why a host cannot give up what it holds.
struct FleetRetirementProblem: Error, Equatable {
  var place: FleetPlace
  var problem: FleetOrderProblem
}
