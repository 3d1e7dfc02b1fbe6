/// A look at all hosts of an upstream, a portion at a time: of thousands each portion is parsed in a turn of its own, and no
/// more than one is there beside what is kept of it.
struct FleetLook {
  let place: FleetPlace
  let engine: any FleetEngine
  /// What hosts have to have alike: kept once, and not with each.
  let agreement: FleetAgreement

  /// Hosts of one portion, some two milliseconds of parsing.
  static let portion = 256

  /// `see` is told each portion, and `done` at the end the names of all; nil where the engine has not answered.
  func begin(_ see: @escaping ([String: FleetHostRow]) -> Void, _ done: @escaping ([String]?) -> Void) {
    engine.names(of: place.key(.hosts)) { outcome in
      if case .done(let names) = outcome { next(names[...], of: names, see, done) } else { done(nil) }
    }
  }

  private func next(
    _ rest: ArraySlice<String>, of names: [String], _ see: @escaping ([String: FleetHostRow]) -> Void,
    _ done: @escaping ([String]?) -> Void
  ) {
    guard !rest.isEmpty else { return done(names) }
    engine.rows(of: place.key(.hosts), Array(rest.prefix(Self.portion))) { outcome in
      guard case .done(let rows) = outcome else { return done(nil) }
      see(rows.compactMapValues { row($0) })
      next(rest.dropFirst(Self.portion), of: names, see, done)
    }
  }

  private func row(_ bytes: [UInt8]) -> FleetHostRow? {
    guard var row = FleetHostRow(bytes) else { return nil }
    if row.details.agreement == agreement { row.details.agreement = agreement }
    return row
  }
}

extension [String: FleetHostRow] {
  /// Forgets hosts that are not among these.
  mutating func keep(_ names: [String]) {
    guard count > names.count || names.contains(where: { self[$0] == nil }) else { return }
    let all = Set(names)
    self = filter { all.contains($0.key) }
  }
}
