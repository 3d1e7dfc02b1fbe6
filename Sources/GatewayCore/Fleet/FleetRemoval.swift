/// Names of rows that a table of the engine is to have no more, in portions: each is asked for when the engine has answered the
/// one before. It may still have those that are here.
final class FleetRemoval {
  private let engine: any FleetEngine
  private(set) var names: SortedSet<String>
  /// Tells the last beginning from earlier ones.
  private var round = 0

  /// Most rows that are removed at once.
  static let portion = 1_000

  init(_ names: SortedSet<String> = SortedSet(), engine: any FleetEngine) {
    self.names = names
    self.engine = engine
  }

  func contains(_ name: String) -> Bool { names.contains(name) }
  func add(_ name: String) { names.insert(name) }
  /// The row is to stay: it is put again.
  func keep(_ name: String) { names.remove(name) }

  /// Has all removed, from the first one on. `done` is told that they are, or why some are not; not where this is called once
  /// more before that.
  func begin(of key: FleetKey, _ done: @escaping (FleetOutcome<Void>) -> Void) {
    round += 1
    next(of: key, behind: nil, round, done)
  }

  /// Removes no more portions, and tells nothing.
  func stop() { round += 1 }

  /// Has one removed at once, beside the others.
  func remove(_ name: String, of key: FleetKey, _ done: @escaping (FleetOutcome<Void>) -> Void) {
    remove([name], of: key, done)
  }

  private func next(
    of key: FleetKey, behind last: String?, _ present: Int, _ done: @escaping (FleetOutcome<Void>) -> Void
  ) {
    let portion = names.next(Self.portion, behind: last)
    guard let end = portion.last else { return done(.done(())) }
    remove(portion, of: key) { [weak self] outcome in
      guard let self, present == round else { return }
      guard case .done = outcome else { return done(outcome) }
      next(of: key, behind: end, present, done)
    }
  }

  private func remove(_ portion: [String], of key: FleetKey, _ done: @escaping (FleetOutcome<Void>) -> Void) {
    engine.remove(portion, of: key) { [weak self] outcome in
      if let self, case .done = outcome { for name in portion { names.remove(name) } }
      done(outcome)
    }
  }
}
