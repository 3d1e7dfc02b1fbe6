import GatewayCore
import Glibc

/// The thread that writes the outbox. Whatever waits when it comes round goes into one transaction, so that many sends
/// share one sync of the disk; while the disk is busy the next ones gather.
///
/// `inbox`, `rest` and `isClosing` are only touched under `lock`; `database`, `unsaved`, `offset`,
/// `hasFailed`, `hasTriedLast` and `logMoving` only by the thread. Decisions 0030 and 0062.
final class OutboxWriter: @unchecked Sendable {
  /// Changes on their way to the disk, in order, and what has to be known of all of them.
  struct Batch: Sendable {
    struct Item: Sendable {
      var change: OutboxChange
      /// A client waits for it; the others may wait for company.
      var isAwaited: Bool
    }

    private(set) var items: [Item] = []
    /// How many a client waits for.
    private(set) var awaited = 0
    /// The clock was set among them.
    private(set) var hasShift = false

    /// With room for so many.
    init(room: Int = 0) { items.reserveCapacity(room) }

    var count: Int { items.count }
    var isEmpty: Bool { items.isEmpty }

    mutating func append(_ change: consuming OutboxChange, isAwaited: Bool) {
      if isAwaited { awaited += 1 }
      if change.isShift { hasShift = true }
      items.append(Item(change: change, isAwaited: isAwaited))
    }

    mutating func append(_ later: Batch) {
      guard !isEmpty else { return self = later }
      items += later.items
      awaited += later.awaited
      hasShift = hasShift || later.hasShift
    }

    /// Takes the oldest so many out.
    mutating func takeFirst(_ count: Int) -> Batch {
      guard items.count > count else {
        defer { self = Batch() }
        return self
      }
      var first = Batch(room: count)
      for item in items[..<count] { first.append(item.change, isAwaited: item.isAwaited) }
      items.removeFirst(count)
      awaited -= first.awaited
      if hasShift { hasShift = items.contains(where: \.change.isShift) }
      return first
    }
  }

  /// What the thread tells the loop.
  enum Letter: Sendable {
    /// As many awaited changes as the batch has, the oldest ones, are decided. The loop takes apart what it has made: memory
    /// that one thread allocates and another frees costs both of them a lock.
    case decided(StorageProblem?, Batch)
    /// What is written cannot be tidied up; nil when it can again.
    case warned(StorageProblem?)
    /// Everything is written, as far as it could be, and the files are closed.
    case closed
  }

  /// What the thread waits for, if it waits: the loop wakes it for nothing else.
  private enum Rest {
    case none
    /// Anything to do.
    case forAnything
    /// Something that a client waits for; the rest has time until the end of its patience.
    case forAwaited
  }

  /// How long a change that no caller waits for may wait for company in a transaction. The loop has a patience of its
  /// own before it hands such changes over, `DiskOutbox.patience`: here a transaction is saved, there a lock per
  /// change.
  static let patience: Duration = .milliseconds(50)
  /// The pause after changes that no caller waits for could not be written.
  private static let retryPause: Duration = .seconds(1)
  /// Most changes in one transaction, so that none waits for a very long one.
  private static let batchLimit = 4_096

  let mailbox: Mailbox<Letter>
  private var database: OutboxDatabase?
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let wake = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var inbox = Batch()
  private var isClosing = false
  private var rest = Rest.none
  private var hasTriedLast = false
  /// What no caller waits for and could not be written yet, by number.
  private var unsaved: [UInt64: OutboxChange] = [:]
  /// What no caller waits for could not be written the last time.
  private var hasFailed = false
  /// By how much the clock was set, all in all; what was posted is brought back by it before it is written.
  private var offset: Int64
  private var logMoving = LogMoving()

  /// Starts the thread, which ends after `close()`.
  init(_ database: OutboxDatabase) throws(SystemError) {
    mailbox = try Mailbox()
    database.reserveLog()
    self.database = database
    offset = database.offset
    pthread_mutex_init(lock, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(wake, &attributes)
    var thread = pthread_t()
    let me = Unmanaged.passRetained(self)
    let result = pthread_create(
      &thread, nil,
      { me in
        me.map { Unmanaged<OutboxWriter>.fromOpaque($0).takeRetainedValue().work() }
        return nil
      }, me.toOpaque())
    guard result == 0 else {
      me.release()
      throw SystemError("start the thread of the outbox", code: result)
    }
    pthread_detach(thread)
  }

  deinit {
    pthread_cond_destroy(wake)
    pthread_mutex_destroy(lock)
    lock.deallocate()
    wake.deallocate()
  }

  /// Hands over changes, in order. Called by the loop.
  func post(_ batch: Batch) {
    pthread_mutex_lock(lock)
    inbox.append(batch)
    let wakes = rest == .forAnything || (rest == .forAwaited && batch.awaited > 0)
    if wakes { rest = .none }
    pthread_mutex_unlock(lock)
    if wakes { pthread_cond_signal(wake) }
  }

  /// Lets the thread finish what it has, and end.
  func close() {
    pthread_mutex_lock(lock)
    isClosing = true
    pthread_mutex_unlock(lock)
    pthread_cond_signal(wake)
  }

  // MARK: - On the thread

  private func work() {
    while let batch = nextBatch() { write(batch) }
    database = nil
    mailbox.post(.closed)
  }

  /// Waits for something to do; nil when there will be nothing more.
  private func nextBatch() -> Batch? {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    awaitWork()
    guard isClosing else { return inbox.takeFirst(Self.batchLimit) }
    if inbox.isEmpty, !owes || hasTriedLast { return nil }
    // What could not be written before gets one more chance.
    hasTriedLast = inbox.isEmpty
    return inbox.takeFirst(Self.batchLimit)
  }

  private func awaitWork() {
    var due: timespec?
    defer { rest = .none }
    while !isClosing, inbox.awaited == 0 {
      if inbox.isEmpty, !owes {
        rest = .forAnything
        pthread_cond_wait(wake, lock)
        continue
      }
      // What only waits for room holds up nothing else.
      let waitsForRoom = inbox.isEmpty && !hasFailed
      rest = waitsForRoom ? .forAnything : .forAwaited
      var deadline = due ?? Self.monotonic(in: hasFailed || waitsForRoom ? Self.retryPause : Self.patience)
      due = waitsForRoom ? nil : deadline
      if pthread_cond_timedwait(wake, lock, &deadline) == ETIMEDOUT { return }
    }
  }

  /// Something could not be written yet that no caller waits for.
  private var owes: Bool { !unsaved.isEmpty || database.map { $0.offset != offset } == true }

  private func write(_ batch: Batch) {
    let batch = offset != 0 || batch.hasShift ? withoutClockSteps(batch) : batch
    let late = unsaved.isEmpty ? [] : unsaved.sorted { $0.key < $1.key }.map(\.value)
    let problem = late.isEmpty ? apply(batch) : apply(late + batch.items.map(\.change))
    hasFailed = problem != nil
    if problem == nil {
      keepPostponed()
    } else {
      // What no caller waits for is owed all the same, and may fit where the whole batch does not.
      let owed = batch.items.filter { !$0.isAwaited }.map(\.change)
      for change in owed { owe(change) }
      if batch.awaited > 0, owes, apply(late + owed) == nil {
        hasFailed = false
        keepPostponed()
      }
    }
    if !owes { hasFailed = false }
    if batch.awaited > 0 { mailbox.post(.decided(problem, batch)) }
    tidyLog()
  }

  /// All is on the disk, but for what that had no room for.
  private func keepPostponed() {
    unsaved.removeAll()
    for change in database?.postponed ?? [] { owe(change) }
  }

  private func owe(_ change: OutboxChange) {
    guard let number = change.number else { return }
    // What has no row yet goes on waiting for room to have one.
    if case .addEnded = unsaved[number], case .update(let snapshot) = change {
      unsaved[number] = .addEnded(snapshot)
    } else {
      unsaved[number] = change
    }
  }

  private func tidyLog() {
    guard let database, database.hasLongLog else { return }
    let now = SystemTime().now
    guard logMoving.isDue(at: now) else { return }
    var problem: StorageProblem?
    do { try database.moveLog() } catch {
      problem = StorageProblem(error, database.path)
      problem?.message += "; its write-ahead log cannot move to it, and grows"
    }
    if logMoving.ended(problem == nil, at: now) { mailbox.post(.warned(problem)) }
  }

  /// The same changes by a clock that was never set.
  private func withoutClockSteps(_ batch: Batch) -> Batch {
    var bare = Batch(room: batch.count)
    for item in batch.items { bare.append(withoutClockSteps(item.change), isAwaited: item.isAwaited) }
    return bare
  }

  private func withoutClockSteps(_ change: OutboxChange) -> OutboxChange {
    switch change {
    case .add(let snapshot): return .add(withoutClockSteps(snapshot))
    case .addEnded(let snapshot): return .addEnded(withoutClockSteps(snapshot))
    case .replace(let number, let snapshot): return .replace(number, withoutClockSteps(snapshot))
    case .update(let snapshot): return .update(withoutClockSteps(snapshot))
    case .shift(let step):
      offset &+= step
      return change
    case .remove: return change
    }
  }

  private func withoutClockSteps(_ snapshot: OutboxChange.Snapshot) -> OutboxChange.Snapshot {
    OutboxChange.Snapshot(snapshot.entry.moved(by: 0 &- offset))
  }

  private func apply(_ changes: [OutboxChange]) -> StorageProblem? {
    attempt { (database) throws(SQLiteDatabase.Failure) in try database.apply(changes, offset: offset) }
  }

  private func apply(_ batch: Batch) -> StorageProblem? {
    attempt { (database) throws(SQLiteDatabase.Failure) in try database.apply(batch, offset: offset) }
  }

  private func attempt(_ work: (OutboxDatabase) throws(SQLiteDatabase.Failure) -> Void) -> StorageProblem? {
    guard let database else { return StorageProblem(.failed, "the outbox is closed") }
    do throws(SQLiteDatabase.Failure) { try work(database) } catch {
      // A log that cannot grow has room again when it has moved to the file.
      guard error.isFull, error != OutboxRoom.refusal, (try? database.moveLog()) != nil else {
        return StorageProblem(error, database.path)
      }
      do throws(SQLiteDatabase.Failure) { try work(database) } catch { return StorageProblem(error, database.path) }
    }
    return nil
  }

  private static func monotonic(in delay: Duration) -> timespec {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    let nanoseconds = Int64(now.tv_nsec) + delay.nanoseconds
    return timespec(
      tv_sec: now.tv_sec + Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}

extension OutboxChange {
  /// The clock was set.
  fileprivate var isShift: Bool { if case .shift = self { true } else { false } }

  /// The number of the entry that a change leaves behind or removes; nil where it is about all of them.
  fileprivate var number: UInt64? {
    switch self {
    case .add(let snapshot), .addEnded(let snapshot), .replace(_, let snapshot), .update(let snapshot): snapshot.number
    case .remove(let number): number
    case .shift: nil
    }
  }
}

/// When a write-ahead log that is long enough moves to its file. After a failure that is tried again in `firstPause`,
/// and each time in twice as long, up to `longestPause`; until then the log grows, as far as the disk has room. Nothing
/// of it is lost meanwhile.
struct LogMoving {
  static let firstPause: Duration = .seconds(1)
  static let longestPause: Duration = .seconds(64)

  private var pause: Duration?
  private var next = MonotonicInstant(nanoseconds: .min)

  /// Whether it is time for another attempt.
  func isDue(at now: MonotonicInstant) -> Bool { now >= next }

  /// The outcome of an attempt. Returns whether it is worth a word: the first failure, or the end of a series of them.
  mutating func ended(_ isMoved: Bool, at now: MonotonicInstant) -> Bool {
    let wasFailing = pause != nil
    guard !isMoved else {
      self = LogMoving()
      return wasFailing
    }
    let longer = min(pause.map { $0 * 2 } ?? Self.firstPause, Self.longestPause)
    pause = longer
    next = now + longer
    return !wasFailing
  }
}
