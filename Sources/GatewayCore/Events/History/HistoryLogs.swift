/// Histories, wherever they are, that have something to be written before any client is told of it. One for all, because
/// it is asked before each write to a client.
final class HistoryCommits {
  private var pending: [HistoryLog] = []

  /// Whether anything has to be handed over before a client is told of it.
  @inline(__always)
  var isPending: Bool { !pending.isEmpty }

  func add(_ log: HistoryLog) { pending.append(log) }

  /// One write for each history that has something new.
  func commit() {
    let due = pending
    pending = []
    for log in due { log.commit() }
  }
}

/// The histories in one place where they outlive the daemon, of all connections that have theirs there: opens them.
final class HistoryLogs {
  /// What becomes of the history of a connection that is let go while the daemon lives.
  enum Remainder {
    /// It stays for the next one, as long as it is not too old, or too much.
    case kept
    /// It goes with the connection, as one does that is in memory alone.
    case removed
  }

  let time: any TimeSource
  let timers: Timers
  private let random: any RandomSource
  private let opening: Result<any HistoryStore, StorageProblem>
  let remainder: Remainder
  private let commits: HistoryCommits
  /// What the files may take together, where the folder is in memory; nil: nothing is counted.
  private let files: MemoryBudget?
  /// The names of those that are open.
  private var open: Set<String> = []

  /// A history that is to be read beside the loop.
  private struct Order {
    let reading: HistoryReading
    let log: HistoryLog
  }
  /// One after the other, so that they take one processor and the memory of one. Whose is the next goes round over
  /// users.
  private var unread = UserRound<Order>()
  /// The one that is being read.
  private var present: Order?
  /// A shorter one is read at once, in bytes: that takes two milliseconds.
  private static let shortLimit = 256 << 10

  /// Ticks since the last walk over the histories without a connection began, and how many may pass: about an hour.
  private var ticks = 0
  private static let tickLimit = 120
  /// Those that the present walk has not come to.
  private var unseen: ArraySlice<String> = []
  /// What it has found that an earlier daemon left, and when that was written last.
  private var inherited: [(modified: Int64, name: String)] = []
  /// The names of those that the configuration wants, whether a program uses them or not: they are never too old, or
  /// too much.
  private var kept: Set<String> = []
  /// The names of those that the configuration does not want here any more, whoever left them.
  private var unwanted: [String] = []
  /// Those that may stay for now; none of `kept`.
  private var unused = UnusedHistories()
  /// How many of them are looked at in one go, which is a few milliseconds.
  private static let portion = 128

  /// Told what happens to a history.
  var onReport: ((HistoryLog.Identity, HistoryReport) -> Void)?

  init(
    _ opening: Result<any HistoryStore, StorageProblem>, _ remainder: Remainder, _ commits: HistoryCommits,
    _ files: MemoryBudget? = nil, time: any TimeSource, timers: Timers, random: any RandomSource
  ) {
    self.commits = commits
    self.files = files
    self.opening = opening
    self.remainder = remainder
    self.time = time
    self.timers = timers
    self.random = random
  }

  /// Tells what became of a history on the disk.
  func report(_ identity: HistoryLog.Identity, _ report: HistoryReport) { onReport?(identity, report) }

  /// The log has something to be handed over.
  func add(_ log: HistoryLog) { commits.add(log) }

  // MARK: - Opening

  /// Why there can be no history on disk; nil: there can.
  var problem: StorageProblem? {
    if case .failure(let problem) = opening { problem } else { nil }
  }

  /// Opens a history, which begins when it is told to. Nil where there is no disk, or where another connection has it.
  func open(_ identity: HistoryLog.Identity, _ settings: HistorySettings, for stream: EventStream, of account: Account)
    -> HistoryLog?
  {
    guard case .success(let store) = opening, open.insert(identity.name).inserted else { return nil }
    unused.forget(identity.name)
    return HistoryLog(
      identity, logs: self, store: store, stream: stream, settings: settings, account: account,
      memory: files.map { MemoryHold($0, for: account) })
  }

  /// The name of an epoch that was never used.
  func makeEpoch() -> String { EventStream.freshEpoch(random) }

  /// Has a history read: at once if it is short, otherwise beside the loop. Its log then takes over what was found.
  func read(_ reading: HistoryReading, for log: HistoryLog) {
    // What an earlier log of the same files has begun comes to its end before.
    guard reading.size > Self.shortLimit || present?.log.identity.name == log.identity.name else {
      log.willRead(reading)
      reading.read()
      return log.take(reading)
    }
    unread.append(Order(reading: reading, log: log), for: log.account)
    if present == nil { readNext() }
  }

  private func readNext() {
    present = nil
    guard case .success(let store) = opening else { return }
    while let order = unread.popFirst() {
      guard !order.log.isClosed else { continue }
      order.log.willRead(order.reading)
      present = order
      let reading = order.reading
      return store.beside({ reading.read() }, { [weak self] in self?.finish(order, store) })
    }
  }

  private func finish(_ order: Order, _ store: any HistoryStore) {
    // Another log may be waiting for the same files: until they are left alone its turn has not come.
    let reading = order.reading
    guard !order.log.isClosed else { return store.beside({ reading.discard() }, { [weak self] in self?.readNext() }) }
    readNext()
    order.log.take(reading)
  }

  /// Ends a history in order; it may be opened again.
  func close(_ log: HistoryLog, _ end: HistoryLog.End) {
    log.close(end)
    open.remove(log.identity.name)
    guard case .success(let store) = opening, end == .connection else { return }
    if remainder == .removed { return remove(log.identity.name) }
    guard log.account != .configuration else { return }
    // One without events has no files.
    guard !kept.contains(log.identity.name), store.has(log.identity.name) else { return }
    unused.add(log.identity.name, of: log.account)
    removeExcess()
  }

  // MARK: - Those without a connection

  /// To be called now and then: goes on looking for old files.
  func tick() {
    ticks += 1
    removeExcess()
    if !unseen.isEmpty || !inherited.isEmpty { return removeOld() }
    if ticks > Self.tickLimit { beginRemovingOld() }
  }

  /// A configuration is in force that wants those of the names `kept`. Of the others that no connection has as many may
  /// stay as `bounds` says.
  func adopt(keeping kept: Set<String>, atMost bounds: SharedBounds) {
    self.kept = kept
    for name in kept { unused.forget(name) }
    unused.bounds = bounds
    removeExcess()
    beginRemovingOld()
  }

  /// A configuration is in force with which only these upstreams have histories here. What an earlier daemon left of
  /// others goes, some of it now and the rest with the next ticks.
  func adopt(ofUpstreams names: [String], atMost bounds: SharedBounds) {
    unused.bounds = bounds
    guard case .success(let store) = opening else { return }
    let beginnings = Set(names.map(HistoryLog.Identity.fileName))
    unwanted = store.names().filter { !beginnings.contains(HistoryLog.Identity.upstreamPart(of: $0)) }
    removeExcess()
  }

  /// Removes what is too old, or too much, of histories that are not open, some of them now and the others with the
  /// next ticks.
  private func beginRemovingOld() {
    ticks = 0
    guard case .success(let store) = opening else { return }
    unseen = store.names()[...]
    inherited = []
    removeOld()
  }

  private func removeOld() {
    guard case .success(let store) = opening else { return }
    let now = time.wallMilliseconds
    guard !unseen.isEmpty else { return countInherited() }
    let portion = unseen.prefix(Self.portion)
    unseen = unseen.dropFirst(Self.portion)
    for name in portion where isUnused(name) && !kept.contains(name) {
      guard let listing = store.listing(of: name) else { continue }
      let header = HistoryReader.header(listing.head, checksum: store.checksum)
      // One that cannot be read is found out when it is opened, and kept until then.
      guard let header else { continue }
      if now - header.age > listing.modified {
        remove(name)
      } else if !unused.contains(name) {
        inherited.append((listing.modified, name))
      }
    }
    guard unseen.isEmpty else { return }
    inherited.sort { $0.modified > $1.modified }
    countInherited()
  }

  /// What an earlier daemon left is no user's, and so many of it stay, the newest. Counts some of them.
  private func countInherited() {
    for _ in 0..<min(Self.portion, inherited.count) {
      guard let oldest = inherited.popLast(), isUnused(oldest.name) else { continue }
      unused.add(oldest.name, of: .configuration)
    }
    removeExcess()
  }

  /// Removes what is too much, some of it now and the others with the next ticks.
  private func removeExcess() {
    for _ in 0..<Self.portion {
      guard let name = unwanted.popLast() ?? unused.popExcess() else { return }
      remove(name)
    }
  }

  private func isUnused(_ name: String) -> Bool { !open.contains(name) && name != present?.log.identity.name }

  private func remove(_ name: String) {
    unused.forget(name)
    guard isUnused(name), case .success(let store) = opening else { return }
    for segment in store.listing(of: name)?.segments ?? [] { store.remove(segment) }
  }
}
