/// Every send that is kept on disk: which there are, how many there may be, and what became of them. It moves nothing
/// itself: the connections write, and tell by way of the gateway what happened.
final class Outbox {
  /// Whether sends can be kept.
  enum Condition: Equatable {
    case working
    /// The last change could not be written; the next one is tried all the same.
    case failing(OutboxProblem)
    /// There is no store, from the start of the daemon to its end.
    case unavailable(OutboxProblem)

    var problem: OutboxProblem? {
      switch self {
      case .working: nil
      case .failing(let problem), .unavailable(let problem): problem
      }
    }
  }

  private let store: (any OutboxStore)?
  private let time: any TimeSource
  private var wallClock: WallClockWatch
  private(set) var settings: OutboxSettings
  private(set) var condition: Condition
  /// Every entry by its id, finished or not.
  private var known: [String: OutboxRecord] = [:]
  private(set) var usage = OutboxUsage()
  private(set) var archive = OutboxArchive()
  /// Finished entries that are not shown any more, but whose keys still count, without their messages.
  private var keyed: [OutboxEntry] = []

  /// Rows of finished entries that are not shown any more, until there are enough of them to go together: they lie next
  /// to each other on the disk.
  private var leaving: [UInt64] = []
  private static let leavingLimit = 64

  /// How long a key is remembered, in milliseconds.
  static let keyLifetime: Int64 = 86_400_000

  /// Told when the store begins to fail, and with nil when it works again.
  var onCondition: ((OutboxProblem?) -> Void)?
  /// What needs attention about the store although it works.
  private(set) var warning: OutboxProblem?
  /// Told when that changes.
  var onWarning: ((OutboxProblem?) -> Void)?

  init(_ opening: OutboxOpening, settings: OutboxSettings, time: any TimeSource) {
    self.settings = settings
    self.time = time
    wallClock = WallClockWatch(wall: time.wallMilliseconds, now: time.now)
    switch opening {
    case .open(let store, let entries):
      self.store = store
      condition = .working
      known.reserveCapacity(entries.count)
      for entry in entries { load(entry) }
      store.onWarning = { [unowned self] in
        warning = $0
        onWarning?($0)
      }
    case .unavailable(let problem):
      store = nil
      condition = .unavailable(problem)
    }
  }

  private func load(_ entry: OutboxEntry) {
    // A clock that is before an entry is wrong: for what it is good for, the entry is of this moment.
    let early = min(0, time.wallMilliseconds &- (entry.ended ?? entry.created))
    let record = OutboxRecord(entry.moved(by: early), isCommitted: true)
    if let other = known[entry.id] {
      // Sent again by a version that removed the old row later than it added the new one.
      let isNewer = entry.number > other.entry.number
      store?.note(.remove(isNewer ? other.entry.number : entry.number))
      guard isNewer else { return }
      if !archive.remove(other) { usage.remove(other) }
    }
    known[entry.id] = record
    // On the disk as well, before the clock's next step moves everything there.
    if early != 0 { store?.note(.update(.init(record.entry))) }
    if entry.state.isFinal { archive.add(record) } else { usage.add(record) }
  }

  /// The highest number that was ever given, as far as the disk knows.
  var lastNumber: UInt64 {
    known.values.reduce(0) { max($0, $1.entry.number) }
  }

  /// What is not finished.
  var unfinished: some Collection<OutboxRecord> { known.values.lazy.filter { $0.line != nil } }

  /// An entry that is on disk, finished or not.
  func record(_ id: String) -> OutboxRecord? {
    guard let record = known[id], record.isCommitted || record.line == nil else { return nil }
    return record
  }

  /// The first so many entries on disk in one of these states, the oldest first. Whether they are wanted is asked once
  /// for all unfinished ones of a user to a target, so that those of others cost nothing.
  func records(
    limit: Int = .max, states: Set<OutboxState>? = nil, where isWanted: (OutboxTarget, _ owner: UInt32) -> Bool
  ) -> [OutboxRecord] {
    let showsQueued = states?.contains(.queued) ?? true
    var found =
      showsQueued ? OutboxLine.oldest(limit, of: usage.allLines.filter { isWanted($0.target, $0.owner) }) : []
    let queued = found.count
    found += archive.records.filter {
      states?.contains($0.entry.state) ?? true && isWanted($0.entry.target, $0.entry.owner)
    }
    if found.count > queued { found.sort { $0.entry.number < $1.entry.number } }
    if found.count > limit { found.removeLast(found.count - limit) }
    return found
  }

  func adopt(_ settings: OutboxSettings) {
    self.settings = settings
    trimArchive()
  }

  // MARK: - Adding

  /// Why an entry is not taken.
  enum Refusal: Error, Equatable {
    case unavailable(OutboxProblem)
    case full(SharedBounds.Overrun, unit: String)
  }

  /// Whether an entry of that size would be taken. With `drop_oldest` a full outbox takes it if older entries of the
  /// same user can give way.
  func checkRoom(cost: Int, target: OutboxTarget, owner: UInt32) throws(Refusal) {
    if case .unavailable(let problem) = condition { throw .unavailable(problem) }
    guard let overrun = overrun(adding: cost, to: target, of: owner) else { return }
    guard settings.whenFull == .dropOldest, victim(for: overrun, target: target, owner: owner) != nil,
      cost <= min(settings.bytes, settings.totalBytes / 2)
    else { throw .full(overrun.limit, unit: overrun.unit) }
  }

  /// Whether a failed entry would be taken once more. Nothing gives way to it.
  func checkRoom(again record: OutboxRecord) throws(Refusal) {
    if case .unavailable(let problem) = condition { throw .unavailable(problem) }
    let entry = record.entry
    guard let overrun = overrun(adding: entry.cost, to: entry.target, of: entry.owner) else { return }
    throw .full(overrun.limit, unit: overrun.unit)
  }

  /// Takes an entry, which a connection may carry already, and makes it last; `done` hears later whether that worked,
  /// and whether it still had no outcome then. Until then it is not committed. In one step with it the entry of the
  /// number `old` goes.
  func add(
    _ entry: OutboxEntry, replacing old: UInt64? = nil,
    carriedBy carrier: (connection: Connection, command: Command)? = nil,
    _ done: @escaping (OutboxRecord, OutboxProblem?, Bool) -> Void
  ) {
    guard let store else { return }
    let record = OutboxRecord(entry, isCommitted: false)
    if let carrier { record.carry(carrier.command, on: carrier.connection) }
    known[entry.id] = record
    usage.add(record)
    let snapshot = OutboxChange.Snapshot(entry)
    store.commit(old.map { .replace($0, snapshot) } ?? .add(snapshot)) { [weak self] problem in
      guard let self else { return }
      note(problem)
      // What took it back meanwhile has said so to the store.
      guard record.line != nil else { return done(record, problem, false) }
      if problem == nil { record.isCommitted = true } else { forget(record) }
      done(record, problem, true)
    }
  }

  /// The next entry that has to give way to a newer one of the same user, once that one is safe.
  func surplus(after record: OutboxRecord) -> OutboxRecord? {
    guard settings.whenFull == .dropOldest else { return nil }
    let entry = record.entry
    guard let overrun = overrun(adding: 0, to: entry.target, of: entry.owner, count: 0) else { return nil }
    guard let victim = victim(for: overrun, target: entry.target, owner: entry.owner), victim.isCommitted,
      victim.entry.number < entry.number
    else { return nil }
    return victim
  }

  private struct Overrun {
    var limit: SharedBounds.Overrun
    var unit: String
    /// All upstreams together are too many, not only the one.
    var isTotal: Bool
  }

  private func overrun(adding cost: Int, to target: OutboxTarget, of owner: UInt32, count: Int = 1) -> Overrun? {
    let amounts = usage.amounts(to: target, of: owner)
    return overrun(
      count, cost, own: amounts.ownHere, all: amounts.here, isTotal: false,
      entries: SharedBounds(share: settings.entries), bytes: SharedBounds(share: settings.bytes))
      ?? overrun(
        count, cost, own: amounts.own, all: amounts.total, isTotal: true,
        entries: SharedBounds(total: settings.totalEntries), bytes: SharedBounds(total: settings.totalBytes))
  }

  private func overrun(
    _ count: Int, _ cost: Int, own: OutboxUsage.Amount, all: OutboxUsage.Amount, isTotal: Bool, entries: SharedBounds,
    bytes: SharedBounds
  ) -> Overrun? {
    do throws(SharedBounds.Overrun) { try entries.check(count, own: own.count, all: all.count) } catch {
      return Overrun(limit: error, unit: "sends", isTotal: isTotal)
    }
    do throws(SharedBounds.Overrun) { try bytes.check(cost, own: own.bytes, all: all.bytes) } catch {
      return Overrun(limit: error, unit: "bytes", isTotal: isTotal)
    }
    return nil
  }

  /// The oldest one that nothing was written of on the present link.
  private func victim(for overrun: Overrun, target: OutboxTarget, owner: UInt32) -> OutboxRecord? {
    overrun.isTotal
      ? usage.oldest(of: owner) { !$0.isWritten } : usage.oldest(to: target, of: owner) { !$0.isWritten }
  }

  // MARK: - Changing

  /// The entry was written once more, or is suspected, and is not finished.
  func noteAttempts(_ command: Command) {
    guard let record = command.record, record.line != nil, record.isCommitted else { return }
    let reason = command.isSuspected ? OutboxEntry.suspected : nil
    guard record.entry.attempts != record.attempts || record.entry.reason != reason else { return }
    (record.entry.attempts, record.entry.reason) = (record.attempts, reason)
    store?.note(.update(.init(record.entry)))
  }

  /// The entry is sent in the name of a program with other groups from now on.
  func setGroups(of record: OutboxRecord, _ groups: [UInt32]) {
    record.entry.groups = groups
    store?.note(.update(.init(record.entry)))
  }

  /// The entry has its outcome; false if it had one before. With `done` the caller waits until the disk knows. Unless
  /// `attempts` says otherwise it was written as often as its command knows.
  @discardableResult
  func finish(
    _ record: OutboxRecord, _ state: OutboxState, reason: String? = nil, attempts: Int? = nil, result: [UInt8]? = nil,
    _ done: ((OutboxProblem?) -> Void)? = nil
  ) -> Bool {
    guard record.line != nil else { return false }
    let now = wallMilliseconds()
    usage.remove(record)
    record.detach()
    record.entry.state = state
    record.entry.reason = reason
    record.entry.ended = now
    record.entry.attempts = attempts ?? record.entry.attempts
    if let result, result.count <= OutboxEntry.resultLimit { record.entry.result = result }
    if !record.entry.isRepeatable {
      record.entry.message = PreparedMessage(event: record.entry.message.event, body: [])
    }
    archive.add(record)
    commit(.update(.init(record.entry)), done)
    trimArchive(at: now)
    return true
  }

  /// An uncommitted entry is taken back by its sender, as if it had never been.
  func retract(_ command: Command) {
    guard let record = command.record, record.line != nil else { return }
    forget(record)
    store?.note(.remove(record.entry.number))
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
      store?.note(.remove(old.entry.number))
      return
    }
    known[old.entry.id] = old
    archive.add(old)
    // What was owed to its row while it was out may have been to remove it.
    store?.note(.update(.init(old.entry)))
  }

  /// Forgets a finished entry, and its key with it; `done` hears when the disk has.
  func purge(_ record: OutboxRecord, _ done: @escaping (OutboxProblem?) -> Void) {
    guard archive.remove(record) else { return done(nil) }
    known[record.entry.id] = nil
    commit(.remove(record.entry.number), done)
  }

  /// Forgets finished entries that were shown long enough, or are too many.
  func trimArchive() {
    trimArchive(at: wallMilliseconds())
    removeLeaving()
  }

  private func trimArchive(at now: Int64) {
    let horizon = now - settings.keep.milliseconds
    while let record = archive.takeSurplus(count: settings.keepEntries, bytes: settings.bytes, endedBefore: horizon) {
      known[record.entry.id] = nil
      forgetRow(of: record, at: now)
    }
    guard !keyed.isEmpty else { return }
    let over = keyed.prefix { $0.created + Self.keyLifetime <= now }
    for row in over { store?.note(.remove(row.number)) }
    keyed.removeFirst(over.count)
  }

  /// What has a key stays on disk without its message for as long as the key counts.
  private func forgetRow(of record: OutboxRecord, at now: Int64) {
    guard record.entry.key != nil, record.entry.created + Self.keyLifetime > now else {
      leaving.append(record.entry.number)
      if leaving.count >= Self.leavingLimit { removeLeaving() }
      return
    }
    var bare = record.entry
    bare.message = PreparedMessage(event: bare.message.event, body: [])
    bare.result = nil
    keyed.append(bare)
    if !record.entry.message.body.isEmpty { store?.note(.update(.init(bare))) }
  }

  private func removeLeaving() {
    for number in leaving { store?.note(.remove(number)) }
    leaving.removeAll(keepingCapacity: true)
  }

  // MARK: - The clock

  /// The wall clock, to be asked here for whatever becomes an instant of an entry: so none is moved that was made after
  /// the clock was set, and each that was made before.
  func wallMilliseconds() -> Int64 {
    let wall = time.wallMilliseconds
    if let step = wallClock.step(wall: wall, now: time.now) { move(by: step) }
    return wall
  }

  /// The instants of all entries move with the clock: how long each has waited and may wait stays the same, here and
  /// for the next daemon.
  private func move(by step: Int64) {
    for record in known.values { record.entry.move(by: step) }
    for index in keyed.indices { keyed[index].move(by: step) }
    // The disk keeps how far all of them have moved: one row, however many entries there are.
    store?.note(.shift(step))
  }

  /// Writes what is left and lets go of the files.
  func close(_ done: @escaping () -> Void) {
    guard let store else { return done() }
    removeLeaving()
    store.close(done)
  }

  private func forget(_ record: OutboxRecord) {
    known[record.entry.id] = nil
    usage.remove(record)
    record.detach()
  }

  private func commit(_ change: OutboxChange, _ done: ((OutboxProblem?) -> Void)?) {
    guard let done else {
      store?.note(change)
      return
    }
    store?.commit(change) { [weak self] problem in
      self?.note(problem)
      // What happened has happened: the disk has to learn of it one day, as it is by then.
      if problem != nil, let self { store?.note(owed(change)) }
      done(problem)
    }
  }

  /// A change that was not kept, as it is to be made now. An entry that was forgotten since must not come back, nor
  /// stay on the disk as it was before the change until other rows take it along.
  private func owed(_ change: OutboxChange) -> OutboxChange {
    switch change {
    case .add(let snapshot), .replace(_, let snapshot), .update(let snapshot):
      let entry = known[snapshot.entry.id]?.entry
      let present = entry?.number == snapshot.entry.number ? entry : keyed.first { $0.number == snapshot.entry.number }
      return present.map { .update(.init($0)) } ?? .remove(snapshot.entry.number)
    case .remove, .shift: return change
    }
  }

  private func note(_ problem: OutboxProblem?) {
    let fresh: Condition = problem.map { .failing($0) } ?? .working
    guard fresh != condition else { return }
    condition = fresh
    onCondition?(problem)
  }
}

extension OutboxEntry {
  /// Whether a finished entry keeps its message, so that it can be sent again: it never arrived for certain, and no newer one has
  /// taken its place.
  var isRepeatable: Bool {
    switch state {
    case .dropped where reason == Self.coalesced: false
    case .expired, .cancelled, .refused, .dropped, .lost: true
    case .queued, .sent, .acked: false
    }
  }
}
