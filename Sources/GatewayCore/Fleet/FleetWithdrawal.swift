/// The durable sends that the engine has of this host for an upstream which the fleet shares no longer, or under a name that
/// it has no more. This host writes them by a link of its own from now on, or has put them again under its new name, and is
/// silent where they are: a host that holds would take it for dead after a while, and write them too. They are removed at
/// once where the engine is reached, and otherwise as soon as it is; what this host cannot do without yet stays until it can.
final class FleetWithdrawal {
  private enum State {
    /// The rows are gone through. May become `idle`, `ended`.
    case taking
    /// Nothing is to be removed, or the engine is not reached. May become `removing`, `ended`.
    case idle
    /// So many names are being removed, or will be in a moment. May become `idle`, `removing` with more, `ended`.
    case removing(Int)
    /// It removes nothing more.
    case ended
  }

  let place: FleetPlace
  /// What the fleet called this host.
  let host: String
  /// What the box had and is not among the names yet.
  private var rows: FleetBoxRows
  /// Names of rows that the engine may still have, and that are to go.
  private var names: SortedSet<String>
  private var state = State.taking
  private let engine: any FleetEngine
  private let timers: Timers
  private var removal: FleetRemoval
  /// How many of the rows this host cannot do without yet.
  private var needed = 0
  /// What the fleet has of all hosts and was not looked at, and what of the rest is this host's.
  private var adopted = FleetNames()
  private var own = SortedSet<String>()
  /// Goes on with what is done in portions, or begins again.
  private var timer: Timers.ID?

  /// Where they are under a name that this host has no more: whether the engine has all of them under the new one too. Before,
  /// there may be no other copy.
  var isMoved: (() -> Bool)?
  /// The fleet does not have one any more that it had adopted, by its number: this host writes it again.
  var onReturned: (UInt64) -> Void = { _ in }
  /// Asked of each row, by its number: calls back, at once or later, when this host can do without.
  var whenNeedless: (UInt64, @escaping () -> Void) -> Void = { $1() }
  /// Nothing is left.
  var onOver: () -> Void = {}

  /// - Parameter leaving: names of other rows that the engine may still have.
  init(
    _ place: FleetPlace, host: String, _ rows: FleetBoxRows, leaving: SortedSet<String>, engine: any FleetEngine,
    timers: Timers
  ) {
    (self.place, self.host) = (place, host)
    (self.rows, names) = (rows, leaving)
    self.engine = engine
    self.timers = timers
    removal = FleetRemoval(engine: engine)
  }

  /// Takes the rows back, one portion in a turn; the engine is asked behind them.
  func begin() {
    for number in takePortion() { onReturned(number) }
    guard !rows.isEmpty else {
      state = .idle
      return engine.add(self)
    }
    timer = timers.after(.zero) { [weak self] in self?.begin() }
  }

  /// Returns which of them were adopted.
  private func takePortion() -> [UInt64] {
    let portion = rows.takePortion()
    for (number, row) in portion {
      needed += 1
      whenNeedless(number) { [weak self] in self?.letGo(row.name) }
    }
    return portion.filter { $0.row.place == .adopted }.map(\.number)
  }

  private func letGo(_ name: String) {
    needed -= 1
    names.insert(name)
    guard case .idle = state, engine.server != nil else { return }
    state = .removing(names.count)
    removeLater()
  }

  /// Removes nothing more. Returns the names of the rows that the engine may still have.
  func end() -> SortedSet<String> {
    stop()
    while !rows.isEmpty {
      // Whoever ends this may be about to make the connection that they go back to.
      let returned = takePortion()
      timers.after(.zero) { [onReturned] in for number in returned { onReturned(number) } }
    }
    return names
  }

  private func stop() {
    state = .ended
    engine.remove(self)
    timers.cancel(timer)
    removal.stop()
  }

  /// First from the box: what an adoption takes from there meanwhile is among the adopted ones then.
  private func remove() {
    timers.cancel(timer)
    state = .removing(names.count)
    guard isMoved?() != false else { return removeLater() }
    remove(names, of: place.key(.box(host: host))) { [weak self] in
      switch $0 {
      case .done: self?.lookForAdopted()
      // What this host's user may not remove is left to the host that holds.
      case .refused(.forbidden) where self?.isMoved != nil: self?.over()
      case .refused, .uncopied: self?.removeLater()
      // Once more on the next connection.
      case .fenced, .unanswered: break
      }
    }
  }

  private func remove(
    _ names: SortedSet<String>, of key: FleetKey, _ done: @escaping (FleetOutcome<Void>) -> Void
  ) {
    removal.stop()
    removal = FleetRemoval(names, engine: engine)
    removal.begin(of: key, done)
  }

  /// A host that never holds may read there, and remove nothing.
  private func lookForAdopted() {
    engine.names(of: place.key(.adopted)) { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      case .done(let all):
        (adopted, own) = (all, SortedSet())
        findOwn()
      case .refused, .uncopied: removeLater()
      case .fenced, .unanswered: break
      }
    }
  }

  /// Looks which of them are this host's, one portion in a turn.
  private func findOwn() {
    for name in adopted.takePortion() {
      if let parts = FleetSend.parts(of: name), parts.host == host, names.contains(parts.id) { own.insert(name) }
    }
    guard adopted.isEmpty else {
      timers.cancel(timer)
      return timer = timers.after(.zero) { [weak self] in self?.findOwn() }
    }
    if own.isEmpty { over() } else { removeAdopted() }
  }

  /// Where this host's user may: what the one that holds has read already is written all the same.
  private func removeAdopted() {
    remove(own, of: place.key(.adopted)) { [weak self] in
      switch $0 {
      case .done, .refused: self?.over()
      case .uncopied: self?.removeLater()
      case .fenced, .unanswered: break
      }
    }
  }

  private func removeLater() {
    timers.cancel(timer)
    timer = timers.after(FleetRefusal.pause) { [weak self] in self?.remove() }
  }

  /// All that was to go when the removal began is gone.
  private func over() {
    guard case .removing(names.count) = state else { return remove() }
    names = SortedSet()
    state = .idle
    guard needed == 0 else { return }
    stop()
    onOver()
  }
}

extension FleetWithdrawal: FleetEngineReceiver {
  func engineGained(_ server: FleetServer) { remove() }
  func engineLost(_ failure: UpstreamFailure) {
    timers.cancel(timer)
    state = .idle
  }
  func engineRead(_ records: [FleetRecord], of key: FleetKey) {}
  func engineReachedEnd(of key: FleetKey) {}
}
