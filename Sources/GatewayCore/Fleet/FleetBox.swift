/// The durable sends of this host, as the fleet has them: what would be lost with the host is written by the fleet then. It
/// moves nothing itself.
///
/// | a row is | and then |
/// |---|---|
/// | fresh: this host has it, the engine perhaps not | put again on every new connection → boxed |
/// | boxed | its host writes it; its outcome is heard, or found here → finished |
/// | adopted: this host was taken for dead, and whoever holds writes it | its outcome is found → finished. The engine has lost it → fresh |
final class FleetBox {
  private enum Place { case fresh, boxed, adopted }

  private struct Row {
    var fields: FleetFields
    var place: Place
  }

  let place: FleetPlace
  let host: String
  private let engine: any FleetEngine
  private var rows: [UInt64: Row] = [:]
  private var life: UInt64?
  /// Which server knows the rows.
  private var run: String?
  /// Tells answers apart that came too late.
  private var round = 0
  /// Where each row is, is known: what is boxed may be written.
  private(set) var isSettled = false

  /// The engine has a row.
  var onBoxed: (UInt64) -> Void = { _ in }
  /// The fleet writes it from now on, and not this host.
  var onAdopted: (UInt64) -> Void = { _ in }
  /// The fleet does not have it any more: this host writes it again.
  var onReturned: (UInt64) -> Void = { _ in }
  /// The engine has a row that this host does not know.
  var onFound: (UInt64, FleetFields) -> Void = { _, _ in }
  /// What became of a row; it is finished.
  var onOutcome: (UInt64, FleetFields) -> Void = { _, _ in }
  var onSettled: () -> Void = {}
  var onFenced: (UInt64) -> Void = { _ in }

  init(_ place: FleetPlace, host: String, engine: any FleetEngine) {
    self.place = place
    self.host = host
    self.engine = engine
  }

  private var box: FleetKey { place.key(.box(host: host)) }
  private func name(_ number: UInt64) -> String { "\(host)/\(number)" }

  // MARK: - Rows

  /// A durable send; before it is written for the first time.
  func put(_ number: UInt64, _ fields: FleetFields) {
    rows[number] = Row(fields: fields, place: .fresh)
    if life != nil, engine.server != nil { copy(number) }
  }

  /// It has its outcome, or is taken back.
  func finish(_ number: UInt64) {
    guard let row = rows.removeValue(forKey: number) else { return }
    engine.remove([String(number)], of: box) { _ in }
    if row.place == .adopted { engine.remove([name(number)], of: place.key(.adopted)) { _ in } }
  }

  private func copy(_ number: UInt64) {
    guard let life, let row = rows[number] else { return }
    let step = FleetPut(place: place, host: host, life: life, number: number, row: .waiting(row.fields))
    engine.run(step) { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      case .done:
        // It may be finished by now: then its row is one too many.
        guard rows[number] != nil else { return engine.remove([String(number)], of: box) { _ in } }
        guard rows[number]?.place == .fresh else { return }
        rows[number]?.place = .boxed
        onBoxed(number)
      case .fenced: onFenced(life)
      case .refused, .unanswered: break
      }
    }
  }

  private func copyFresh() {
    for (number, row) in rows.sorted(by: { $0.key < $1.key }) where row.place == .fresh { copy(number) }
  }

  // MARK: - Lives

  /// A life has begun, with these in the box.
  func begin(_ life: UInt64, _ found: [UInt64: FleetBoxRow]) {
    self.life = life
    for (number, row) in found.sorted(by: { $0.key < $1.key }) where rows[number] == nil {
      switch row {
      case .waiting(let fields):
        rows[number] = Row(fields: fields, place: .boxed)
        onFound(number, fields)
      case .finished: engine.remove([String(number)], of: box) { _ in }
      }
    }
    settle()
  }

  func lifeEnded() {
    life = nil
    round += 1
    isSettled = false
  }

  func engineGained(_ server: FleetServer) {
    guard life != nil else { return }
    // Another process may have forgotten what it had.
    if server.run != run || !isSettled { settle() } else { copyFresh() }
  }

  /// Looks where each row is.
  private func settle() {
    isSettled = false
    round += 1
    let (present, server) = (round, engine.server?.run)
    let known = rows.keys.sorted()
    guard !known.isEmpty else {
      (run, isSettled) = (server, true)
      return onSettled()
    }
    engine.rows(of: box, known.map(String.init)) { [weak self] boxed in
      guard let self, round == present, case .done(let boxed) = boxed else { return }
      engine.rows(of: place.key(.adopted), known.map(name)) { [weak self] adopted in
        guard let self, round == present, case .done(let adopted) = adopted else { return }
        run = server
        for number in known { settle(number, boxed[String(number)], adopted[name(number)]) }
        guard round == present else { return }
        isSettled = true
        copyFresh()
        onSettled()
      }
    }
  }

  private func settle(_ number: UInt64, _ boxed: [UInt8]?, _ adopted: [UInt8]?) {
    guard let row = rows[number] else { return }
    switch (boxed.flatMap { FleetBoxRow($0) }, adopted.flatMap { FleetBoxRow($0) }) {
    case (.finished(let fields)?, _), (_, .finished(let fields)?):
      if adopted != nil { rows[number]?.place = .adopted }
      onOutcome(number, fields)
      finish(number)
    case (_, .waiting?):
      rows[number]?.place = .adopted
      if row.place != .adopted {
        if row.place == .fresh { onBoxed(number) }
        onAdopted(number)
      }
    case (.waiting?, nil):
      rows[number]?.place = .boxed
      if row.place == .fresh { onBoxed(number) }
      if row.place == .adopted { onReturned(number) }
    case (nil, nil):
      rows[number]?.place = .fresh
      if row.place == .adopted { onReturned(number) }
    }
  }

  /// Looks what became of what the fleet writes.
  func lookAtAdopted() {
    guard isSettled, rows.values.contains(where: { $0.place == .adopted }) else { return }
    settle()
  }
}
