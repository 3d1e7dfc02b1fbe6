/// The rows of the outbox on the disk: whether they can be kept, and how long those stay of what is not shown any more.
final class OutboxRows {
  /// Whether sends can be kept.
  enum Condition: Equatable {
    case working
    /// The last change could not be written; the next one is tried all the same.
    case failing(StorageProblem)
    /// There is no store, from the start of the daemon to its end.
    case unavailable(StorageProblem)

    var problem: StorageProblem? {
      switch self {
      case .working: nil
      case .failing(let problem), .unavailable(let problem): problem
      }
    }
  }

  private let store: (any OutboxStore)?
  private(set) var condition: Condition
  /// Told when the store begins to fail, and with nil when it works again.
  var onCondition: ((StorageProblem?) -> Void)?
  /// What needs attention about the store although it works.
  private(set) var warning: StorageProblem?
  /// Told when that changes.
  var onWarning: ((StorageProblem?) -> Void)?

  /// Where copies are; nil: nowhere.
  weak var copies: (any OutboxCopies)?
  /// The numbers of entries that are there and not on the disk.
  private var afield: Set<UInt64> = []

  /// Finished entries that are not shown any more, but whose keys still count, without their messages.
  private var keyed: [OutboxEntry] = []
  /// Rows of finished entries that are not shown any more, until there are enough of them to go together: they lie next
  /// to each other on the disk.
  private var leaving: [UInt64] = []
  private static let leavingLimit = 64

  /// How long a key is remembered, in milliseconds.
  private static let keyLifetime: Int64 = 86_400_000

  init(_ opening: OutboxOpening) {
    switch opening {
    case .open(let store, _):
      self.store = store
      condition = .working
      store.onDecision = { [unowned self] in decided($0) }
      store.onWarning = { [unowned self] in
        warning = $0
        onWarning?($0)
      }
    case .unavailable(let problem):
      store = nil
      condition = .unavailable(problem)
    }
  }

  // MARK: - Changes

  /// There is something that keeps sends to a target, though it may be failing.
  func canBeKept(_ target: OutboxTarget) -> Bool { store != nil || isAfield(target) }

  /// Sends to a target are on no disk.
  private func isAfield(_ target: OutboxTarget) -> Bool { copies.map { $0.isHome && $0.covers(target) } ?? false }

  /// Why sends to a target are not kept, from the start of the daemon to its end.
  func unavailability(of target: OutboxTarget) -> StorageProblem? {
    if case .unavailable(let problem) = condition, !isAfield(target) { problem } else { nil }
  }

  /// Makes a change last; the waiter hears what it does of `OutboxStore.commit`.
  func commit(_ change: OutboxChange, _ waiter: consuming OutboxWaiter) {
    switch change {
    case .add(let snapshot) where isAfield(snapshot.entry.target): keep(snapshot.entry, waiter)
    case .replace(let old, let snapshot) where isAfield(snapshot.entry.target):
      keep(
        snapshot.entry,
        OutboxWaiter { [weak self, waiter] problem in
          if problem == nil { self?.note(.remove(old)) }
          waiter.hear(problem)
        })
    case .update(let snapshot) where afield.contains(snapshot.number):
      noteAfield(snapshot)
      waiter.hear(nil)
    case .remove(let number) where afield.remove(number) != nil: waiter.hear(nil)
    case .add, .addEnded, .replace, .update, .remove, .shift: store?.commit(change, waiter)
    }
  }

  /// Makes an entry last that was found where copies are; `done` is that of `OutboxStore.commit`. Where it is at home there it
  /// lasts already.
  func keepFound(_ snapshot: OutboxChange.Snapshot, _ done: @escaping (StorageProblem?) -> Void) {
    guard isAfield(snapshot.entry.target) else { return commit(.add(snapshot), OutboxWaiter(done)) }
    afield.insert(snapshot.number)
    done(nil)
  }

  /// Whether the entry of a number is on no disk, because it is where copies are.
  func isAfield(_ number: UInt64) -> Bool { afield.contains(number) }

  /// Makes an entry last on the disk that was not there, and from now on each change of it; `done` is that of
  /// `OutboxStore.commit`. False: there is no disk.
  func bringHome(_ snapshot: OutboxChange.Snapshot, _ done: @escaping (StorageProblem?) -> Void) -> Bool {
    guard let store else { return false }
    afield.remove(snapshot.number)
    store.commit(.add(snapshot), done)
    return true
  }

  /// An entry that is on no disk has changed. With its outcome there is no copy of it any more: what has a key is on the disk
  /// from then on.
  private func noteAfield(_ snapshot: OutboxChange.Snapshot) {
    guard snapshot.entry.key != nil, snapshot.entry.state.isFinal, let store else { return }
    afield.remove(snapshot.number)
    store.note(.addEnded(snapshot))
  }

  private func keep(_ entry: OutboxEntry, _ waiter: OutboxWaiter) {
    afield.insert(entry.number)
    copies?.keep(entry) { [weak self] problem in
      if problem != nil { self?.afield.remove(entry.number) }
      waiter.hear(problem)
    }
  }

  /// A change that is not awaited.
  func note(_ change: OutboxChange) {
    guard !afield.isEmpty else {
      store?.note(change)
      return
    }
    switch change {
    case .update(let snapshot) where afield.contains(snapshot.number): noteAfield(snapshot)
    case .remove(let number) where afield.remove(number) != nil: break
    case .add, .addEnded, .replace, .update, .remove, .shift: store?.note(change)
    }
  }

  /// What the store said of changes.
  private func decided(_ problem: StorageProblem?) {
    let fresh: Condition = problem.map { .failing($0) } ?? .working
    guard fresh != condition else { return }
    condition = fresh
    onCondition?(problem)
  }

  /// Writes what is left and lets go of the files.
  func close(_ done: @escaping () -> Void) {
    guard let store else { return done() }
    removeLeaving()
    store.close(done)
  }

  // MARK: - What is not shown any more

  /// A finished entry is not shown any more: what has a key stays without its message for as long as the key counts.
  func forget(_ record: OutboxRecord, at now: Int64) {
    guard record.entry.key != nil, record.entry.created + Self.keyLifetime > now else {
      leaving.append(record.entry.number)
      if leaving.count >= Self.leavingLimit { removeLeaving() }
      return
    }
    var bare = record.entry
    bare.message = PreparedMessage(event: bare.message.event, body: [])
    bare.result = nil
    keyed.append(bare)
    if record.entry.message.bodyCount > 0 || record.entry.result != nil { note(.update(.init(bare))) }
  }

  /// The rows go of which only the key was left, and that does not count any more.
  func forgetOldKeys(at now: Int64) {
    guard !keyed.isEmpty else { return }
    let over = keyed.prefix { $0.created + Self.keyLifetime <= now }
    for entry in over { note(.remove(entry.number)) }
    keyed.removeFirst(over.count)
  }

  /// The rows go that have been waiting for others to go with.
  func removeLeaving() {
    for number in leaving { note(.remove(number)) }
    leaving.removeAll(keepingCapacity: true)
  }

  /// What is left of the entry of a number because of its key.
  func keyed(_ number: UInt64) -> OutboxEntry? { keyed.first { $0.number == number } }

  /// The wall clock was set: the disk keeps how far all instants have moved in one row, however many entries there are.
  func move(by step: Int64) {
    for index in keyed.indices { keyed[index].move(by: step) }
    note(.shift(step))
  }
}
