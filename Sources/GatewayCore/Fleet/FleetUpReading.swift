/// Whether the host that holds can read what the hosts say. The lease does not tell: beats go by another connection to the
/// engine, and by another right. So it reads `up` itself, behind every position: it hears of no entry, and whether the
/// stream can be read.
final class FleetUpReading {
  private let place: FleetPlace
  private let engine: any FleetEngine
  private let reach: FleetReach
  /// This host holds.
  private var isWatching = false
  private var lastLoss: UpstreamFailure?
  /// Why it has not been able to for too long; nil where it can, or that is not known yet.
  private(set) var failure: UpstreamFailure?

  /// Whether the engine confirms that this host holds: where it does not, the lease decides.
  var isHolding: () -> Bool = { false }
  /// It has not been able to for too long. Asked again until it can, or the lease is given away, which is true.
  var onFailure: (UpstreamFailure) -> Bool = { _ in false }

  init(_ settings: FleetSettings, engine: any FleetEngine, timers: Timers) {
    (place, self.engine) = (settings.place, engine)
    reach = FleetReach(patience: settings.lease + settings.grace, timers: timers)
    reach.onYield = { [weak self] in self?.standsStill() ?? true }
    engine.add(self)
  }

  /// This host holds from now on.
  func begin() {
    isWatching = true
    ask()
  }

  /// It does not any more.
  func end() {
    isWatching = false
    heard()
    engine.readNoMore(place.key(.up), for: self)
  }

  /// The engine has not confirmed in time that this host holds: the time counts anew when it does.
  func lapsed() { reach.settle() }

  private func ask() {
    guard isWatching, engine.server != nil else { return }
    reach.lost()
    engine.readOn(place.key(.up), after: .end, for: self)
  }

  /// It was read, or nothing is to be read.
  private func heard() {
    reach.settle()
    failure = nil
  }

  private func standsStill() -> Bool {
    guard isHolding() else { return false }
    let cause = (engine.refusal(of: place) ?? engine.failure ?? lastLoss)?.detail ?? "its server does not answer"
    let failure = UpstreamFailure(.fleet, "what the hosts say cannot be read: \(cause)")
    self.failure = failure
    return onFailure(failure)
  }
}

extension FleetUpReading: FleetEngineReceiver {
  func engineGained(_ server: FleetServer) { ask() }
  /// Where it is lost each time before anything was read, the time goes on.
  func engineLost(_ failure: UpstreamFailure) { lastLoss = failure }
  func engineRead(_ records: [FleetRecord], of key: FleetKey) {}
  func engineReachedEnd(of key: FleetKey) { heard() }
  func engineRefusedReading(of key: FleetKey) { reach.lost() }
}
