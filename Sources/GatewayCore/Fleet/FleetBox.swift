/// The durable sends of this host, as the fleet has them: what would be lost with the host is written by the fleet then. It
/// moves nothing itself.
///
/// | a row is | and then |
/// |---|---|
/// | fresh: this host has it, the engine perhaps not | put again on every new connection → boxed |
/// | boxed | its host writes it; its outcome is heard, or found here → finished |
/// | adopted: this host was taken for dead, and whoever holds writes it | its outcome is found → finished. The engine has lost it → fresh |
/// | leaving: it has its outcome | removed on every new connection, until the engine has said that it is → forgotten |
final class FleetBox {
  /// What becomes of a row.
  enum News: Equatable {
    /// The engine has it.
    case boxed(UInt64)
    /// The engine does not take it: it stays fresh, and is put again with the next sign of life.
    case refused(UInt64, FleetRefusal)
    /// The fleet writes it from now on, and not this host.
    case adopted(UInt64)
    /// The fleet does not have it any more: this host writes it again.
    case returned(UInt64)
    /// What became of it; it is finished.
    case outcome(UInt64, FleetFields)
    /// The engine has a row that this host does not know, by its name: it is to be put, or dropped.
    case found(String, FleetFields)
  }

  private enum Place { case fresh, boxed, adopted }

  private struct Row {
    let name: String
    var fields: FleetFields
    var place: Place
  }

  let place: FleetPlace
  private(set) var host: String
  private let engine: any FleetEngine
  private var rows: [UInt64: Row] = [:]
  private var numbers: [String: UInt64] = [:]
  /// Names of rows that the engine may still have, and whether they were adopted.
  private var leaving: [String: Bool] = [:]
  private var life: UInt64?
  private var last: UInt64?
  /// Tells answers apart that came too late.
  private var round = 0
  /// Rows that the engine has and this host does not know.
  private var unknown: [String] = []
  /// Where each row is, is known: what is boxed may be written.
  private(set) var isSettled = false
  private var isLooking = false
  /// Rows outlive this process at this host too: what became of them is read when it is back.
  var hasDisk = true

  /// Rows that are asked for in one go: each may be as long as a message.
  static let portion = 64

  var onNews: (News) -> Void = { _ in }
  var onSettled: () -> Void = {}
  var onFenced: (UInt64) -> Void = { _ in }

  init(_ place: FleetPlace, host: String, engine: any FleetEngine) {
    self.place = place
    self.host = host
    self.engine = engine
  }

  private var box: FleetKey { place.key(.box(host: host)) }
  private func adoptedName(_ name: String) -> String { "\(host)/\(name)" }

  // MARK: - Rows

  /// The name of a row, where it is one.
  func name(of number: UInt64) -> String? { rows[number]?.name }

  /// A durable send, before it is written for the first time: by the name that its fields say, which is unique for all
  /// time. One that is here already stays as it is.
  func put(_ number: UInt64, _ fields: FleetFields) {
    guard rows[number] == nil else { return }
    let name = fields.text("id") ?? String(number)
    leaving[name] = nil
    rows[number] = Row(name: name, fields: fields, place: .fresh)
    numbers[name] = number
    // What earlier processes left is put again before anything new: then a holder that adopts both knows their order.
    if isSettled, engine.server != nil { copy(number) }
  }

  /// It has its outcome, or is taken back.
  func finish(_ number: UInt64) {
    guard let row = rows.removeValue(forKey: number) else { return }
    numbers[row.name] = nil
    leave(row.name, wasAdopted: row.place == .adopted)
  }

  /// A row of the engine is not wanted.
  func drop(_ name: String) { leave(name, wasAdopted: false) }

  private func leave(_ name: String, wasAdopted: Bool) {
    leaving[name] = wasAdopted
    if engine.server != nil { remove([name]) }
  }

  /// This host takes part no more: nothing of it is left to others.
  func withdraw() {
    let own = rows
    for (number, row) in own.sorted(by: { $0.key < $1.key }) {
      finish(number)
      if row.place == .adopted { onNews(.returned(number)) }
    }
    lifeEnded()
  }

  private func remove(_ names: [String]) {
    engine.remove(names.filter { leaving[$0] == true }.map(adoptedName), of: place.key(.adopted)) { _ in }
    engine.remove(names, of: box) { [weak self] outcome in
      guard let self, case .done = outcome else { return }
      for name in names { leaving[name] = nil }
    }
  }

  private func copy(_ number: UInt64) {
    guard let life, let row = rows[number] else { return }
    let step = FleetPut(place: place, host: host, life: life, name: row.name, row: .waiting(row.fields))
    engine.run(step) { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      case .done:
        guard rows[number]?.place == .fresh else { return }
        rows[number]?.place = .boxed
        onNews(.boxed(number))
      case .fenced: onFenced(life)
      case .refused(let refusal): if rows[number] != nil { onNews(.refused(number, refusal)) }
      case .unanswered: break
      }
    }
  }

  private func copyFresh() {
    for number in rows.filter({ $0.value.place == .fresh }).keys.sorted() { copy(number) }
  }

  // MARK: - Lives

  /// A life has begun, with rows of these names in the box.
  func begin(_ life: UInt64, _ names: [String]) {
    if !hasDisk, last == nil { forgetOutcomes() }
    (self.life, last) = (life, life)
    unknown = CommandID.inOrder(names.filter { numbers[$0] == nil && leaving[$0] == nil })
    settle()
  }

  /// Its host has another name from now on, under which the engine has nothing yet.
  func rename(_ host: String) {
    lifeEnded()
    self.host = host
    for number in rows.keys { rows[number]?.place = .fresh }
  }

  /// Another process of this host accepted them, and nobody waits for what became of them.
  private func forgetOutcomes() {
    engine.rows(of: place.key(.adopted), nil) { [weak self] outcome in
      guard let self, case .done(let rows) = outcome else { return }
      let ended = rows.filter { $0.key.hasPrefix("\(host)/") && $0.value.first == UInt8(ascii: "=") }.keys.sorted()
      if !ended.isEmpty { engine.remove(ended, of: place.key(.adopted)) { _ in } }
    }
  }

  func lifeEnded() {
    life = nil
    round += 1
    isSettled = false
  }

  func engineGained() {
    if !leaving.isEmpty { remove(leaving.keys.sorted()) }
    // Another server may not have what the last one had, nor the same one that has followed another meanwhile.
    if life != nil { settle() }
  }

  /// Looks where each row is.
  private func settle() {
    isSettled = false
    round += 1
    settle(rows.keys.sorted()[...], unknown[...])
  }

  private func settle(_ known: ArraySlice<UInt64>, _ unknown: ArraySlice<String>) {
    let own = known.prefix(Self.portion).compactMap { number in rows[number].map { (number, $0.name) } }
    let strange = unknown.prefix(Self.portion - own.count)
    guard !own.isEmpty || !strange.isEmpty else {
      guard known.isEmpty else { return settle(known.dropFirst(Self.portion), unknown) }
      (isSettled, self.unknown) = (true, [])
      copyFresh()
      return onSettled()
    }
    let present = round
    look(for: own) { [weak self] in
      guard let self, round == present else { return }
      read(strange) { [weak self] in
        guard let self, round == present else { return }
        settle(known.dropFirst(Self.portion), unknown.dropFirst(strange.count))
      }
    }
  }

  /// Finds where rows are that this host knows. What still waits in its box is not read for that: there may be much of it.
  private func look(for own: [(UInt64, String)], _ done: @escaping () -> Void) {
    guard let life, !own.isEmpty else { return done() }
    let present = round
    engine.run(FleetFind(place: place, host: host, life: life, names: own.map(\.1))) { [weak self] boxed in
      guard let self, round == present else { return }
      if case .fenced = boxed { return onFenced(life) }
      guard case .done(let boxed) = boxed, boxed.count == own.count else { return }
      engine.rows(of: place.key(.adopted), own.map { self.adoptedName($0.1) }) { [weak self] adopted in
        guard let self, round == present, case .done(let adopted) = adopted else { return }
        for ((number, name), boxed) in zip(own, boxed) { settle(number, boxed, adopted[adoptedName(name)]) }
        done()
      }
    }
  }

  /// Reads rows that this host does not know.
  private func read(_ strange: ArraySlice<String>, _ done: @escaping () -> Void) {
    guard !strange.isEmpty else { return done() }
    let present = round
    engine.rows(of: box, Array(strange)) { [weak self] boxed in
      guard let self, round == present, case .done(let boxed) = boxed else { return }
      for name in strange { if let row = boxed[name] { find(name, row) } }
      done()
    }
  }

  private func settle(_ number: UInt64, _ boxed: FleetFound, _ adopted: [UInt8]?) {
    guard let row = rows[number] else { return }
    switch (boxed, adopted.flatMap { FleetBoxRow($0) }) {
    case (.finished(let fields), _), (_, .finished(let fields)?):
      if adopted != nil { rows[number]?.place = .adopted }
      onNews(.outcome(number, fields))
      finish(number)
    case (_, .waiting?):
      rows[number]?.place = .adopted
      if row.place != .adopted {
        if row.place == .fresh { onNews(.boxed(number)) }
        onNews(.adopted(number))
      }
    case (.waiting, nil):
      rows[number]?.place = .boxed
      if row.place == .fresh { onNews(.boxed(number)) }
      if row.place == .adopted { onNews(.returned(number)) }
    case (.missing, nil):
      rows[number]?.place = .fresh
      if row.place == .adopted { onNews(.returned(number)) }
    }
  }

  private func find(_ name: String, _ bytes: [UInt8]) {
    // It may have been put, or dropped, meanwhile.
    guard numbers[name] == nil, leaving[name] == nil else { return }
    if case .waiting(let fields) = FleetBoxRow(bytes) { onNews(.found(name, fields)) } else { drop(name) }
  }

  // MARK: - Now and then

  /// Looks what became of what the fleet writes, and puts again what the engine had no room for.
  func look() {
    guard isSettled, !isLooking, life != nil else { return }
    copyFresh()
    let numbers = rows.filter { $0.value.place == .adopted }.keys.sorted()
    if !numbers.isEmpty { look(at: numbers[...]) }
  }

  private func look(at numbers: ArraySlice<UInt64>) {
    let own = numbers.prefix(Self.portion).compactMap { number in rows[number].map { (number, adoptedName($0.name)) } }
    let present = round
    isLooking = true
    engine.rows(of: place.key(.adopted), own.map(\.1)) { [weak self] adopted in
      guard let self else { return }
      isLooking = false
      guard round == present, case .done(let adopted) = adopted else { return }
      for (number, name) in own where rows[number]?.place == .adopted { settle(number, .missing, adopted[name]) }
      guard round == present, !numbers.dropFirst(Self.portion).isEmpty else { return copyFresh() }
      look(at: numbers.dropFirst(Self.portion))
    }
  }
}
