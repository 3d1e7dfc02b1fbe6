/// A table of the engine that may be long, a portion at a time: of thousands of rows each portion is taken in a turn of its
/// own, and no more than one is there beside what is kept of it.
struct FleetPortions {
  let key: FleetKey
  let engine: any FleetEngine

  /// Rows of one portion: some two milliseconds of work.
  static let portion = 256

  /// `see` is told each portion, and `done` at the end the names of all rows, or why there is no end.
  func read(_ see: @escaping ([String: [UInt8]]) -> Void, _ done: @escaping (FleetOutcome<[String]>) -> Void) {
    engine.names(of: key) { outcome in
      guard case .done(let names) = outcome else { return done(outcome) }
      next(names[...], of: names, see, done)
    }
  }

  private func next(
    _ rest: ArraySlice<String>, of names: [String], _ see: @escaping ([String: [UInt8]]) -> Void,
    _ done: @escaping (FleetOutcome<[String]>) -> Void
  ) {
    guard !rest.isEmpty else { return done(.done(names)) }
    engine.rows(of: key, Array(rest.prefix(Self.portion))) { outcome in
      switch outcome {
      case .done(let rows):
        see(rows)
        next(rest.dropFirst(Self.portion), of: names, see, done)
      case .fenced: done(.fenced)
      case .refused(let refusal): done(.refused(refusal))
      case .unanswered, .uncopied: done(.unanswered)
      }
    }
  }
}
