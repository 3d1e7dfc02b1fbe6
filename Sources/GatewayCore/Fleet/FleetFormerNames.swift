/// The names that this host had for a while, because another daemon had its own. Each has left a row behind and perhaps copies
/// of durable sends: when the host that holds has taken it for dead, and has written what was left of it, it is forgotten. What
/// became of its sends is not needed: this host has put them again under the name that it has now.
final class FleetFormerNames {
  private let place: FleetPlace
  private let engine: any FleetEngine
  private let timers: Timers
  private let pause: Duration
  private(set) var names: [String] = []
  private var timer: Timers.ID?

  /// Of more than so many the first ones are left to `fleet forget`.
  static let limit = 64

  init(_ settings: FleetSettings, engine: any FleetEngine, timers: Timers) {
    (place, pause) = (settings.place, settings.adopt / 3)
    self.engine = engine
    self.timers = timers
  }

  /// The host is called that no more.
  func add(_ name: String) {
    drop(name)
    names.append(name)
    if names.count > Self.limit { names.removeFirst() }
    if timer == nil { lookLater() }
  }

  /// The host is called that again, nothing of it is there any more, or this host may not remove it.
  func drop(_ name: String) { names.removeAll { $0 == name } }

  private func lookLater() {
    timer = timers.after(pause) { [weak self] in self?.look() }
  }

  private func look() {
    timer = nil
    guard !names.isEmpty else { return }
    for name in names {
      engine.run(FleetForget(place: place, host: name)) { [weak self] in self?.told($0, of: name) }
    }
    lookLater()
  }

  private func told(_ outcome: FleetOutcome<FleetForgotten>, of name: String) {
    switch outcome {
    case .done(.forgotten), .done(.unknown), .refused(.forbidden): drop(name)
    case .done(.holds), .done(.lives), .done(.waits), .done(.left), .refused(.full), .refused(.other), .fenced,
      .unanswered, .uncopied:
      break
    }
  }
}
