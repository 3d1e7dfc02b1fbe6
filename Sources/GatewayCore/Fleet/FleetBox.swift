/// The durable sends of this host, as the fleet has them: what would be lost with the host is written by the fleet then. It
/// moves nothing itself.
///
/// | a row is | and then |
/// |---|---|
/// | fresh: this host has it, the engine perhaps not | put again on every new connection → boxed |
/// | boxed | its host writes it; its outcome is heard, or found here → finished |
/// | adopted: this host was taken for dead, and whoever holds writes it | its outcome is found in the box → finished. The engine has lost it → fresh |
/// | withheld: no host may write it for now | removed where it waits in the box → forgotten. Where the box has the only copy that lasts it is put there as one that no host writes → set aside. Its outcome is found there → finished. It was adopted before → adopted |
/// | set aside: withheld, and the engine has it as such | its outcome is found in the box → finished. The engine has lost it → withheld. It may be sent again → fresh |
/// | leaving: it has its outcome | removed on every new connection, until the engine has said that it is → forgotten. It is sent again → fresh, and an outcome that is found is the old one |
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
    /// The engine has a row that this host does not know, by its name: it is to be put, dropped, or left.
    case found(String, FleetFields)
    /// What became of such a row, which is removed.
    case ended(String, FleetFields)
  }

  /// What is known of where the rows are. What was asked in one round counts for nothing in the next.
  private enum State {
    /// This host has no life: nothing is put. May become `settling`, `withdrawn`.
    case absent
    /// A life has begun, or another server is reached: a round looks where each row is, and then reads the rows that the
    /// engine has and this host does not know. May become `settled`, `settling` in another round, `absent`,
    /// `withdrawn`.
    case settling(life: UInt64)
    /// Where each row is, is known: what is fresh is put, and what is boxed may be written. `isLooking`: what became of
    /// adopted rows, and of what is withheld or set aside, is being asked. May become `settling`, `absent`, `withdrawn`.
    case settled(life: UInt64, isLooking: Bool)
    /// This host takes part no more, whatever lives it has.
    case withdrawn
  }

  let place: FleetPlace
  private(set) var host: String
  private let engine: any FleetEngine
  private let timers: Timers
  private var rows = FleetBoxRows()
  /// What the engine has in the present life and this host does not know.
  private var unknown = FleetUnknownNames()
  /// Fresh rows behind it are to be put; nil: all. The others were, or are put again with the next sign of life.
  private var lastPut: UInt64?
  /// What was put and has no answer.
  private var putting = (count: 0, bytes: 0)
  private var putAgain: Timers.ID?
  /// Looks for what is withheld since this turn.
  private var lookSoon: Timers.ID?
  private var leaving: FleetRemoval
  /// Those of them that this host has taken no part for: what became of one meanwhile is not known, until it is looked.
  private var returned = SortedSet<String>()
  /// The engine did not remove some of what is leaving: it is asked again with the next sign of life.
  private var isRemovalRefused = false
  private var state = State.absent
  /// Whether it has all that its host carries. Before, none of it can be told from what the host does not know, nor what was
  /// adopted from what is new.
  private var isFilled = true
  /// Its host has another name since the last round that was over: none of the rows is known to be under it.
  private var isRenamed = false
  /// Tells answers apart that came too late: it grows wherever `state` becomes `absent` or `settling`.
  private var round = 0
  /// Rows that are looked for in one go.
  static let portion = 64
  /// Most that is put at once: what else is asked of the engine stands behind it.
  static let putLimit = (count: 256, bytes: 1 << 20)

  var onNews: (News) -> Void = { _ in }
  var onSettled: () -> Void = {}
  var onFenced: (UInt64) -> Void = { _ in }

  init(_ place: FleetPlace, host: String, engine: any FleetEngine, timers: Timers) {
    self.place = place
    self.host = host
    self.engine = engine
    self.timers = timers
    leaving = FleetRemoval(engine: engine)
  }

  /// Where each row is, is known.
  var isSettled: Bool { if case .settled = state { true } else { false } }

  /// Nothing of this host is there, or is to be removed there.
  var isEmpty: Bool { rows.isEmpty && leaving.names.isEmpty && unknown.isEmpty }

  private var life: UInt64? {
    switch state {
    case .absent, .withdrawn: nil
    case .settling(let life), .settled(let life, _): life
    }
  }

  private var box: FleetKey { place.key(.box(host: host)) }
  private func adoptedName(_ name: String) -> String { "\(host)/\(name)" }

  // MARK: - Rows

  /// The name of a row, where it is one.
  func name(of number: UInt64) -> String? { rows[number]?.name }

  /// Whether the engine has one, by the present name of its host.
  func hasBoxed(_ number: UInt64) -> Bool {
    isSettled && rows[number].map { $0.place == .boxed || $0.place == .setAside } ?? false
  }

  /// All that its host carries already is put from now on, until it is `filled`: nothing is looked for, and none is written.
  func beginFilling() { isFilled = false }

  func filled() {
    guard !isFilled else { return }
    isFilled = true
    settleAgain()
  }

  /// A durable send, before it is written for the first time: by the name that its fields say, which is unique for all
  /// time. One that is here already stays as it is.
  func put(_ number: UInt64, _ fields: @autoclosure () -> FleetFields) {
    let known = rows[number]
    guard known == nil || known?.place == .withheld || known?.place == .setAside else { return }
    let name = rows.add(number, fields(), .fresh)
    if leaving.contains(name), !returned.contains(name) { rows.noteAgain(number) }
    leaving.keep(name)
    if let last = lastPut, number <= last { lastPut = number > 0 ? number - 1 : nil }
    // What earlier processes left is put again before anything new: then a holder that adopts both knows their order.
    putOn()
  }

  /// A durable send that no host may write for now. One that was adopted before cannot be taken back: what becomes of it is
  /// told as ever, and so is what became of it already.
  func withhold(_ number: UInt64, _ fields: FleetFields, _ copy: FleetBoxRows.Copy) {
    switch rows[number]?.place {
    case .adopted: return
    case .setAside where copy == .only: return
    case .setAside, .fresh, .boxed, .withheld, nil: break
    }
    rows.add(number, fields, .withheld, copy)
    guard lookSoon == nil else { return }
    lookSoon = timers.after(.zero) { [weak self] in
      self?.lookSoon = nil
      self?.look()
    }
  }

  /// It has its outcome, or is taken back.
  func finish(_ number: UInt64) {
    if let row = rows.forget(number) { drop(row.name) }
  }

  /// A row of the engine is not wanted.
  func drop(_ name: String) {
    leaving.add(name)
    if engine.server != nil { leaving.remove(name, of: box) { [weak self] in self?.noteRemoval($0) } }
  }

  /// A row that was found cannot be kept here: it stays where it is, and the first of those is found again with each sign of
  /// life.
  func leave(_ name: String) { unknown.noteUnkept(name) }

  /// One that was found is kept here: then the others may be, too.
  func findLeft() {
    if isSettled, unknown.tryAll() { readUnknown {} }
  }

  /// This host takes part no more: nothing that the engine may still have is to be left to others. Nil where that is nothing.
  func withdraw() -> FleetWithdrawal? {
    let withdrawal = takeLeaving()
    rows = FleetBoxRows()
    lifeEnded()
    state = .withdrawn
    return withdrawal
  }

  /// What the engine may have under the present name, which is not this box's any more.
  private func takeLeaving() -> FleetWithdrawal? {
    let left = leaving.names
    leaving.stop()
    leaving = FleetRemoval(engine: engine)
    guard !rows.isEmpty || !left.isEmpty else { return nil }
    return FleetWithdrawal(place, host: host, rows, leaving: left, engine: engine, timers: timers)
  }

  /// What was to be removed when this host last took part by its name. What it has, or puts again, stays.
  func drop(_ names: SortedSet<String>) {
    if rows.isEmpty, leaving.names.isEmpty {
      (leaving, returned) = (FleetRemoval(names, engine: engine), names)
    } else {
      for name in names.all where !rows.has(name) {
        leaving.add(name)
        returned.insert(name)
      }
    }
    removeLeaving()
  }

  /// Not as what is leaving: where this is not heard it may be adopted yet, and its outcome is not to be removed unread.
  private func removeWithheld(_ number: UInt64, _ name: String) {
    engine.remove([name], of: box) { [weak self] outcome in
      guard let self, case .done = outcome, rows[number]?.place == .withheld else { return }
      rows.forget(number)
    }
  }

  /// Before that is heard it may be adopted, and is written: then this is fenced.
  private func setAside(_ number: UInt64, _ row: FleetBoxRows.Row) {
    guard let life else { return }
    let step = FleetPut(place: place, host: host, life: life, name: row.name, row: .withheld(row.fields))
    engine.run(step) { [weak self, host] outcome in
      guard let self, self.host == host else { return }
      switch outcome {
      case .done: if rows[number]?.place == .withheld { isSetAside(number) }
      case .fenced: onFenced(life)
      // Once more with the next sign of life, or in the next round.
      case .refused, .uncopied, .unanswered: break
      }
    }
  }

  private func isSetAside(_ number: UInt64) {
    rows.move(number, to: .setAside)
    onNews(.boxed(number))
  }

  private func removeLeaving() {
    if engine.server != nil { leaving.begin(of: box) { [weak self] in self?.noteRemoval($0) } }
  }

  private func noteRemoval(_ outcome: FleetOutcome<Void>) {
    if case .refused = outcome { isRemovalRefused = true }
  }

  // MARK: - Putting

  /// Puts what is fresh, as much at a time as is let.
  private func putOn() {
    while isSettled, engine.server != nil, putting.count < Self.putLimit.count, putting.bytes < Self.putLimit.bytes,
      let number = rows.nextFresh(behind: lastPut)
    {
      lastPut = number
      if let row = rows[number], row.place == .fresh, !row.isPutting { put(number, row) }
    }
  }

  private func put(_ number: UInt64, _ row: FleetBoxRows.Row) {
    guard let life else { return }
    let size = row.fields.byteCount
    putting = (putting.count + 1, putting.bytes + size)
    rows.note(number, isPutting: true)
    let step = FleetPut(place: place, host: host, life: life, name: row.name, row: .waiting(row.fields))
    engine.run(step) { [weak self, host] outcome in
      guard let self else { return }
      putting = (putting.count - 1, putting.bytes - size)
      rows.note(number, isPutting: false)
      switch outcome {
      case .done:
        guard self.host == host, rows[number]?.place == .fresh else { break }
        rows.move(number, to: .boxed)
        onNews(.boxed(number))
      case .fenced: onFenced(life)
      case .refused(let refusal): if rows[number] != nil { onNews(.refused(number, refusal)) }
      case .uncopied: putLater()
      case .unanswered: break
      }
      putOn()
    }
  }

  private func putLater() {
    timers.cancel(putAgain)
    putAgain = timers.after(FleetRefusal.pause) { [weak self] in self?.putFresh() }
  }

  private func putFresh() {
    lastPut = nil
    putOn()
  }

  // MARK: - Lives

  /// A life has begun, with rows of these names in the box.
  func begin(_ life: UInt64, _ names: FleetNames) {
    if case .withdrawn = state { return }
    unknown = FleetUnknownNames(names)
    settle(in: life)
  }

  /// Its host has another name from now on, under which the engine has nothing yet: the next round finds it so. What it has under
  /// the old one would outlive its outcome there: it is to go as soon as all of it is under the new one. Nil where that is
  /// nothing.
  func rename(_ host: String) -> FleetWithdrawal? {
    let former = takeLeaving()
    former?.isMoved = { [weak self, last = rows.last ?? 0] in self?.hasPut(upTo: last) ?? true }
    lifeEnded()
    (self.host, isRenamed) = (host, true)
    return former
  }

  /// The engine has all rows up to a number, or is to have none of them.
  private func hasPut(upTo number: UInt64) -> Bool {
    switch state {
    case .absent, .settling: false
    case .settled: rows.nextFresh(behind: nil).map { $0 > number } ?? true
    case .withdrawn: true
    }
  }

  func lifeEnded() {
    if case .withdrawn = state { return }
    beginRound(.absent)
    unknown = FleetUnknownNames()
  }

  /// What is being looked at counts for nothing any more.
  private func beginRound(_ state: State) {
    round += 1
    self.state = state
  }

  func engineGained() {
    removeLeaving()
    // Another server may not have what the last one had, nor the same one that has followed another meanwhile.
    settleAgain()
  }

  /// Looks where each row is.
  private func settle(in life: UInt64) {
    beginRound(.settling(life: life))
    if isFilled { settle(behind: nil, upTo: rows.last) }
  }

  /// The same once more in the present life: what was not read is read then.
  private func settleAgain() {
    if let life { settle(in: life) }
  }

  /// - Parameter end: what is put behind it meanwhile is fresh, as everything that is new.
  private func settle(behind last: UInt64?, upTo end: UInt64?) {
    let next = rows.next(Self.portion, behind: last).filter { $0 <= end ?? 0 }
    if let last = next.last {
      return look(for: next) { [weak self] in self?.settle(behind: last, upTo: end) }
    }
    readUnknown { [weak self] in
      guard let self, case .settling(let life) = state else { return }
      state = .settled(life: life, isLooking: false)
      isRenamed = false
      returned = SortedSet()
      putFresh()
      onSettled()
    }
  }

  /// Finds where rows are that this host knows. What still waits is not read for that: there may be much of it.
  private func look(for numbers: [UInt64], _ done: @escaping () -> Void) {
    let own = numbers.compactMap { number in rows[number].map { (number, $0.name) } }
    guard let life, !own.isEmpty else { return done() }
    let present = round
    // In this order: an outcome brings a row back into the box, and what takes it from there ends the life.
    engine.sizes(of: place.key(.adopted), own.map { self.adoptedName($0.1) }) { [weak self] adopted in
      guard let self, round == present, let adopted = found(adopted), adopted.count == own.count else { return }
      engine.run(FleetFind(place: place, host: host, life: life, names: own.map(\.1))) { [weak self] boxed in
        guard let self, round == present else { return }
        if case .fenced = boxed { return onFenced(life) }
        guard let boxed = found(boxed), boxed.count == own.count else { return }
        for (place, (number, _)) in own.enumerated() { settle(number, boxed[place], isAdopted: adopted[place] > 0) }
        if round == present { done() }
      }
    }
  }

  /// Reads rows that this host does not know, when all of them stand in their order.
  private func readUnknown(_ done: @escaping () -> Void) {
    let present = round
    guard !unknown.look(where: isUnknown) else {
      timers.after(.zero) { [weak self] in if self?.round == present { self?.readUnknown(done) } }
      return
    }
    let portion = unknown.next(FleetPortions.portion)
    guard !portion.isEmpty else { return done() }
    FleetPortions(key: box, engine: engine).read(portion) { [weak self] rows in
      guard let self, round == present else { return }
      for name in CommandID.inOrder(Array(rows.keys)) { if let row = rows[name] { find(name, row) } }
    } _: { [weak self] outcome in
      guard let self, round == present, found(outcome) != nil else { return }
      unknown.noteRead(portion)
      readUnknown(done)
    }
  }

  /// It may have been put, or dropped, since its name was read.
  private func isUnknown(_ name: String) -> Bool { !rows.has(name) && !leaving.contains(name) }

  /// What the engine has answered. What it refuses it is asked for again, until it does not.
  private func found<Value>(_ outcome: FleetOutcome<Value>) -> Value? {
    switch outcome {
    case .done(let value): return value
    case .refused:
      let present = round
      timers.after(FleetRefusal.pause) { [weak self] in if self?.round == present { self?.settleAgain() } }
      return nil
    case .fenced, .unanswered, .uncopied: return nil
    }
  }

  private func settle(_ number: UInt64, _ boxed: FleetFound, isAdopted: Bool) {
    guard let row = rows[number] else { return }
    switch (boxed, isAdopted) {
    case (.finished(let fields), _) where !row.isAgain:
      onNews(.outcome(number, fields))
      finish(number)
    case (_, true):
      rows.move(number, to: .adopted)
      if row.place != .adopted {
        if row.place == .fresh { onNews(.boxed(number)) }
        onNews(.adopted(number))
      }
    case (let found, false) where row.place == .withheld || row.place == .setAside:
      settleWithheld(number, row, found)
    case (.waiting, false):
      rows.move(number, to: .boxed)
      if row.place == .fresh || isRenamed { onNews(.boxed(number)) }
      if row.place == .adopted { onNews(.returned(number)) }
    case (.missing, false), (.withheld, false), (.finished, false):
      rows.move(number, to: .fresh)
      if row.place == .adopted { onNews(.returned(number)) }
    }
  }

  private func settleWithheld(_ number: UInt64, _ row: FleetBoxRows.Row, _ found: FleetFound) {
    switch (row.copy, found) {
    case (.only, .withheld): if row.place == .withheld || !isSettled { isSetAside(number) }
    case (.only, .missing), (.only, .waiting), (.only, .finished):
      rows.move(number, to: .withheld)
      setAside(number, row)
    case (.spare, .missing): if !row.isPutting { rows.forget(number) }
    case (.spare, .waiting), (.spare, .withheld), (.spare, .finished): removeWithheld(number, row.name)
    }
  }

  private func find(_ name: String, _ bytes: [UInt8]) {
    guard isUnknown(name) else { return }
    switch FleetBoxRow(bytes) {
    case .waiting(let fields)?, .withheld(let fields)?: onNews(.found(name, fields))
    case .finished(let fields)?:
      onNews(.ended(name, fields))
      drop(name)
    case nil: drop(name)
    }
  }

  // MARK: - Now and then

  /// Looks what became of what the fleet writes and of what is withheld or set aside, and asks again for what the engine
  /// refused, and what this host could not keep.
  func look() {
    if isRemovalRefused {
      isRemovalRefused = false
      removeLeaving()
    }
    guard case .settled(_, isLooking: false) = state else { return }
    putFresh()
    if unknown.tryFirst() { readUnknown {} }
    look(behind: nil)
  }

  private func look(behind last: UInt64?) {
    let next = rows.nextLookedFor(Self.portion, behind: last)
    guard let end = next.last, case .settled(let life, _) = state else { return }
    state = .settled(life: life, isLooking: true)
    look(for: next) { [weak self] in
      guard let self else { return }
      state = .settled(life: life, isLooking: false)
      if rows.nextLookedFor(1, behind: end).isEmpty { putFresh() } else { look(behind: end) }
    }
  }
}
