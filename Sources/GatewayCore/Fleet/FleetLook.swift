/// A look at all hosts of an upstream, a portion at a time.
struct FleetLook {
  let place: FleetPlace
  let engine: any FleetEngine

  /// `see` is told each portion, and `done` at the end the names of all; nil where the engine has not answered.
  func begin(_ see: @escaping ([String: FleetHostRow]) -> Void, _ done: @escaping ([String]?) -> Void) {
    var names: [String] = []
    var agreement = FleetAgreement()
    FleetPortions(key: place.key(.hosts), engine: engine, rowLimit: FleetHostRow.limit).read {
      names.append($0)
      return true
    } _: {
      see($0.compactMapValues { row($0, &agreement) })
    } _: {
      if case .done = $0 { done(names) } else { done(nil) }
    }
  }

  /// What a host has to have like the others is kept once for all that have the same, and not with each.
  /// - Parameter agreement: of the row before.
  private func row(_ bytes: [UInt8], _ agreement: inout FleetAgreement) -> FleetHostRow? {
    guard var row = FleetHostRow(bytes) else { return nil }
    if row.details.agreement == agreement { row.details.agreement = agreement }
    agreement = row.details.agreement
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
