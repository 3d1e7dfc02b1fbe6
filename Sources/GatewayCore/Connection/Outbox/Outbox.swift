/// Every send that is kept on disk: which there are, how many there may be, and what became of them. It moves nothing
/// itself: the connections write, and tell by way of the gateway what happened.
final class Outbox {
  private let time: any TimeSource
  private var wallClock: WallClockWatch
  private(set) var settings: OutboxSettings
  /// Every entry by its id, finished or not.
  private var known = IncrementalTable<String, OutboxRecord>()
  let usage = OutboxUsage()
  private(set) var archive = OutboxArchive()
  /// What of them is on the disk.
  let rows: OutboxRows
  /// Where else they are; nil: nowhere.
  var copies: (any OutboxCopies)? {
    get { rows.copies }
    set { rows.copies = newValue }
  }

  init(_ opening: OutboxOpening, settings: OutboxSettings, time: any TimeSource) {
    self.settings = settings
    self.time = time
    wallClock = WallClockWatch(wall: time.wallMilliseconds, now: time.now)
    rows = OutboxRows(opening)
    guard case .open(_, let entries) = opening else { return }
    for entry in entries { load(entry) }
  }

  private func load(_ entry: OutboxEntry) {
    // A clock that is before an entry is wrong: for what it is good for, the entry is of this moment.
    let early = min(0, time.wallMilliseconds &- (entry.ended ?? entry.created))
    let record = OutboxRecord(entry.moved(by: early), isCommitted: true)
    if let other = known[entry.id] {
      // Sent again by a version that removed the old row later than it added the new one.
      let isNewer = entry.number > other.entry.number
      rows.note(.remove(isNewer ? other.entry.number : entry.number))
      guard isNewer else { return }
      if !archive.remove(other) { usage.remove(other) }
    }
    known[entry.id] = record
    // On the disk as well, before the clock's next step moves everything there.
    if early != 0 { rows.note(.update(record.snapshot)) }
    if entry.state.isFinal { archive.add(record) } else { usage.add(record) }
  }

  /// The highest number that was ever given, as far as the disk knows.
  var lastNumber: UInt64 {
    known.values.reduce(0) { max($0, $1.entry.number) }
  }

  /// How many there are, finished or not.
  var count: Int { known.count }

  /// What is not finished.
  var unfinished: some Sequence<OutboxRecord> { usage.allLines.lazy.flatMap(\.inOrder) }

  /// An entry that is on disk, finished or not.
  func record(_ id: String) -> OutboxRecord? {
    guard let record = known[id], record.isCommitted || record.line == nil else { return nil }
    return record
  }

  /// There is nothing of that id.
  func isUnknown(_ id: String) -> Bool { known[id] == nil }

  /// The unfinished entry that is carried as this command; nil where it has another one by now, or none.
  func record(of command: Command) -> OutboxRecord? {
    guard command.isStored, let record = usage.record(command.number), record.command === command else { return nil }
    return record
  }

  /// Whether there is any on disk for a target that is wanted, among the finished ones only of users who are concerned.
  func holdsAny(
    concerning concerns: (_ owner: UInt32) -> Bool, where isWanted: (OutboxTarget, _ owner: UInt32) -> Bool
  ) -> Bool {
    if usage.allLines.contains(where: { isWanted($0.target, $0.owner) && $0.reader(from: 0) != nil }) { return true }
    var reader = OutboxArchive.Reader(archive, where: concerns)
    while let record = reader.next(in: archive) {
      if isWanted(record.entry.target, record.entry.owner) { return true }
    }
    return false
  }

  func adopt(_ settings: OutboxSettings) {
    self.settings = settings
    trimArchive()
  }

  // MARK: - Adding

  /// Whether an entry of that size would be taken, in the place of an older one or beside all. With `drop_oldest` a
  /// full outbox takes it if older entries of the same user can give way.
  func checkRoom(
    cost: Int, target: OutboxTarget, owner: UInt32, inPlaceOf older: OutboxRecord? = nil
  ) throws(SubmissionProblem) {
    if let problem = rows.unavailability(of: target) { throw .notStored(problem) }
    let more = max(0, cost - (older?.entry.cost ?? 0))
    guard let overrun = usage.overrun(adding: more, to: target, of: owner, count: older == nil ? 1 : 0, settings)
    else { return }
    try settings.checkFits(cost)
    guard settings.whenFull == .dropOldest, usage.victim(of: overrun, target: target, owner: owner) != nil,
      usage.mayPass(adding: cost, to: target, of: owner, settings)
    else {
      throw .outboxFull(overrun.limit, unit: overrun.unit)
    }
  }

  /// Whether a failed entry would be taken once more. Nothing gives way to it.
  func checkRoom(again record: OutboxRecord) throws(SubmissionProblem) {
    let entry = record.entry
    if let problem = rows.unavailability(of: entry.target) { throw .notStored(problem) }
    guard let overrun = usage.overrun(adding: entry.cost, to: entry.target, of: entry.owner, settings) else { return }
    try settings.checkFits(entry.cost)
    throw .outboxFull(overrun.limit, unit: overrun.unit)
  }

  /// Takes an entry, which a connection may carry already, and makes it last; `done` hears later whether that worked,
  /// and whether it still had no outcome then. Until then it is not committed. In one step with it the entry of the
  /// number `old` goes.
  func add(
    _ entry: consuming OutboxEntry, replacing old: UInt64? = nil,
    carriedBy carrier: (connection: Connection, command: Command)? = nil,
    _ done: @escaping (OutboxRecord, StorageProblem?, Bool) -> Void
  ) {
    guard let record = take(entry, carriedBy: carrier) else { return }
    makeLast(
      record, replacing: old,
      OutboxWaiter { [weak self] problem in
        if let self { done(record, problem, decided(record, problem)) }
      })
  }

  /// The same of an entry that was found where copies are.
  func addFound(_ entry: consuming OutboxEntry, _ done: @escaping (OutboxRecord, StorageProblem?, Bool) -> Void) {
    guard let record = take(entry, carriedBy: nil) else { return }
    rows.keepFound(record.snapshot) { [weak self] problem in
      if let self { done(record, problem, decided(record, problem)) }
    }
  }

  /// The first half of `add`: takes an entry; nil where nothing keeps it.
  func take(
    _ entry: consuming OutboxEntry, carriedBy carrier: (connection: Connection, command: Command)?
  ) -> OutboxRecord? {
    guard rows.canBeKept(entry.target) else { return nil }
    let record = OutboxRecord(entry, isCommitted: false)
    if let carrier { record.carry(carrier.command, on: carrier.connection) }
    known[record.entry.id] = record
    usage.add(record)
    return record
  }

  /// The second half: makes it last. What the waiter hears is to be told to `decided`.
  func makeLast(_ record: OutboxRecord, replacing old: UInt64? = nil, _ waiter: consuming OutboxWaiter) {
    rows.commit(old.map { .replace($0, record.snapshot) } ?? .add(record.snapshot), waiter)
  }

  /// Whether an entry was made last. Returns whether it still had no outcome then.
  func decided(_ record: OutboxRecord, _ problem: StorageProblem?) -> Bool {
    // What took it back meanwhile has said so to the store.
    guard record.line != nil else { return false }
    if problem == nil { record.commit() } else { forget(record) }
    return true
  }

  /// The next entry that has to give way to a newer one of the same user, once that one is safe.
  func surplus(after record: OutboxRecord) -> OutboxRecord? {
    guard settings.whenFull == .dropOldest else { return nil }
    let entry = record.entry
    guard let overrun = usage.overrun(adding: 0, to: entry.target, of: entry.owner, count: 0, settings),
      let victim = usage.victim(of: overrun, target: entry.target, owner: entry.owner), victim.isCommitted,
      victim.entry.number < entry.number
    else { return nil }
    return victim
  }

  // MARK: - Changing

  /// The entry was written once more, or is suspected, and is not finished.
  func noteAttempts(_ command: Command) {
    guard let record = record(of: command), record.isCommitted else { return }
    let reason = command.isSuspected ? OutboxEntry.suspected : nil
    let attempts = record.attempts
    guard record.entry.attempts != attempts || record.entry.reason != reason else { return }
    record.change { ($0.attempts, $0.reason) = (attempts, reason) }
    rows.note(.update(record.snapshot))
  }

  /// The entry is sent in the name of a program with other groups from now on.
  func setGroups(of record: OutboxRecord, _ groups: [UInt32]) {
    record.change { $0.groups = groups }
    rows.note(.update(record.snapshot))
  }

  /// The entry has its outcome; false if it had one before. With `done` the caller waits until the disk knows. Unless
  /// `attempts` says otherwise it was written as often as its command knows.
  @discardableResult
  func finish(
    _ record: OutboxRecord, _ state: OutboxState, reason: String? = nil, attempts: Int? = nil, result: [UInt8]? = nil,
    _ done: ((StorageProblem?) -> Void)? = nil
  ) -> Bool {
    guard record.line != nil else { return false }
    let now = wallMilliseconds()
    usage.remove(record)
    let attempts = attempts ?? record.attempts
    record.end()
    copies?.drop(record.entry)
    record.change { entry in
      (entry.state, entry.reason, entry.ended, entry.attempts) = (state, reason, now, attempts)
      if let result, result.count <= OutboxEntry.resultLimit { entry.result = result }
      if !entry.isRepeatable { entry.message.dropContent() }
    }
    archive.add(record)
    commit(.update(record.snapshot), done)
    trimArchive(at: now)
    return true
  }

  /// An uncommitted entry is taken back by its sender, as if it had never been.
  func retract(_ command: Command) {
    guard let record = record(of: command) else { return }
    forget(record)
    rows.note(.remove(record.entry.number))
  }

  /// Takes a failed entry out that shall be sent again. Its row stays until the new one is there.
  func revive(_ id: String) -> OutboxRecord? {
    guard let record = known[id], record.entry.isRepeatable, archive.remove(record) else { return nil }
    known[id] = nil
    return record
  }

  /// The new row of a revived entry is not there, and so the old one still is. What was taken back meanwhile has
  /// neither.
  func settleFailedRevival(of old: OutboxRecord, isAwaited: Bool) {
    guard isAwaited else {
      rows.note(.remove(old.entry.number))
      return
    }
    known[old.entry.id] = old
    archive.add(old)
    // What was owed to its row while it was out may have been to remove it.
    rows.note(.update(old.snapshot))
  }

  /// Forgets a finished entry, and its key with it; `done` hears when the disk has.
  func purge(_ record: OutboxRecord, _ done: @escaping (StorageProblem?) -> Void) {
    guard archive.remove(record) else { return done(nil) }
    known[record.entry.id] = nil
    commit(.remove(record.entry.number), done)
  }

  /// Forgets finished entries that were shown long enough, or are too many.
  func trimArchive() {
    trimArchive(at: wallMilliseconds())
    rows.removeLeaving()
  }

  private func trimArchive(at now: Int64) {
    let horizon = now - settings.keep.milliseconds
    while let record = archive.takeSurplus(count: settings.keepEntries, bytes: settings.bytes, endedBefore: horizon) {
      known[record.entry.id] = nil
      rows.forget(record, at: now)
    }
    rows.forgetOldKeys(at: now)
  }

  // MARK: - The clock

  /// The wall clock, to be asked here for whatever becomes an instant of an entry: so none is moved that was made after
  /// the clock was set, and each that was made before.
  func wallMilliseconds() -> Int64 { clocks().wallMilliseconds }

  /// The same instant on both clocks.
  func clocks() -> Arrival {
    let clocks = Arrival(instant: time.now, wallMilliseconds: time.wallMilliseconds)
    if let step = wallClock.step(wall: clocks.wallMilliseconds, now: clocks.instant) { move(by: step) }
    return clocks
  }

  /// The instants of all entries move with the clock: how long each has waited and may wait stays the same, here and
  /// for the next daemon.
  private func move(by step: Int64) {
    for record in known.values { record.change { $0.move(by: step) } }
    archive.clockWasSet()
    rows.move(by: step)
  }

  /// Writes what is left and lets go of the files.
  func close(_ done: @escaping () -> Void) {
    rows.close(done)
  }

  private func forget(_ record: OutboxRecord) {
    known[record.entry.id] = nil
    usage.remove(record)
    record.detach()
    copies?.drop(record.entry)
  }

  private func commit(_ change: OutboxChange, _ done: ((StorageProblem?) -> Void)?) {
    guard let done else { return rows.note(change) }
    rows.commit(
      change,
      OutboxWaiter { [weak self] problem in
        // What happened has happened: the disk has to learn of it one day, as it is by then.
        if problem != nil, let self { rows.note(owed(change)) }
        done(problem)
      })
  }

  /// A change that was not kept, as it is to be made now. An entry that was forgotten since must not come back, nor
  /// stay on the disk as it was before the change until other rows take it along.
  private func owed(_ change: OutboxChange) -> OutboxChange {
    switch change {
    case .add(let snapshot), .addEnded(let snapshot), .replace(_, let snapshot), .update(let snapshot):
      let entry = known[snapshot.entry.id]?.entry
      let present = entry?.number == snapshot.entry.number ? entry : rows.keyed(snapshot.entry.number)
      return present.map { .update(.init($0)) } ?? .remove(snapshot.entry.number)
    case .remove, .shift: return change
    }
  }
}
