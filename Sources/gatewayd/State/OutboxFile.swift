import GatewayCore
import Glibc

/// The outbox's file in the state folder: opened if it is whole, and otherwise set aside, never deleted, with whatever
/// can be read of it taken over into a new one.
struct OutboxFile {
  static let name = "outbox.sqlite"

  /// What was found.
  struct Contents {
    var database: OutboxDatabase
    /// By number.
    var entries: [OutboxEntry]
    /// What had to be done about a damaged file; nil if there was none.
    var repair: Repair?
  }

  /// A damaged file was set aside.
  struct Repair: Equatable {
    /// Where it is now.
    var path: String
    var damage: String
    /// Entries that could be taken over.
    var saved: Int
  }

  private let path: String
  private let now: Int64
  private var fresh: String { path + ".new" }

  /// `now`, in milliseconds since 1970, tells the files apart that were set aside.
  init(in folder: String, now: Int64) {
    path = folder + "/" + Self.name
    self.now = now
  }

  /// The database and its entries; a damaged file is set aside first.
  func open() throws(StorageProblem) -> Contents {
    try finishRepair()
    switch Result(catching: { () throws(OutboxDatabase.Refusal) in try OutboxDatabase(path: path) }) {
    case .success(let database):
      let (entries, damage) = database.load()
      guard let damage else { return Contents(database: database, entries: entries) }
      database.keepAsItIs()
      return try repair(damage, saving: entries)
    case .failure(.damaged(let damage)): return try repair(damage, saving: OutboxDatabase.salvage(path))
    case .failure(.unusable(let problem)): throw problem
    }
  }

  /// The new file is complete before the old one moves, so that a crash in between loses nothing.
  private func repair(_ damage: String, saving entries: [OutboxEntry]) throws(StorageProblem) -> Contents {
    removeFresh()
    do throws(StorageProblem) { try make(entries) } catch {
      // What there is of it takes room that the disk may not have.
      removeFresh()
      throw error
    }
    try setAside()
    try finishRepair()
    switch Result(catching: { () throws(OutboxDatabase.Refusal) in try OutboxDatabase(path: path) }) {
    case .success(let database):
      // What counts is what the new file has, not what was meant to be in it.
      let (kept, fresh) = database.load()
      if let fresh { throw StorageProblem(.damaged, "\(path) is damaged again: \(fresh)") }
      return Contents(
        database: database, entries: kept, repair: Repair(path: aside, damage: damage, saved: kept.count))
    case .failure(.unusable(let problem)): throw problem
    case .failure(.damaged(let damage)): throw StorageProblem(.damaged, "\(path) is damaged again: \(damage)")
    }
  }

  private func removeFresh() {
    for suffix in Self.suffixes { unlink(fresh + suffix) }
  }

  /// Makes the new file, with everything in it: what stayed in its write-ahead log would not move with it.
  private func make(_ entries: [OutboxEntry]) throws(StorageProblem) {
    let made: OutboxDatabase
    do throws(OutboxDatabase.Refusal) { made = try OutboxDatabase(path: fresh) } catch {
      switch error {
      case .damaged(let damage): throw StorageProblem(.damaged, "\(fresh): \(damage)")
      case .unusable(let problem): throw problem
      }
    }
    do throws(SQLiteDatabase.Failure) {
      try made.apply(entries.map { .add(.init($0)) })
      try made.moveLog()
    } catch {
      throw StorageProblem(error, fresh)
    }
  }

  private static let suffixes = ["", "-wal", "-journal", "-shm"]

  private var aside: String { "\(path).damaged-\(now)" }

  /// The file first: a log that is left behind by a crash in between is moved by `finishRepair`.
  private func setAside() throws(StorageProblem) {
    for suffix in Self.suffixes where access(path + suffix, F_OK) == 0 {
      guard rename(path + suffix, aside + suffix) == 0 else {
        throw StorageProblem("set the damaged \(path + suffix) aside")
      }
    }
  }

  /// Puts a new file in the place of one that was set aside, also where a crash came between the two.
  private func finishRepair() throws(StorageProblem) {
    guard access(path, F_OK) != 0, access(fresh, F_OK) == 0 else { return }
    // The old file's log must not be taken for the new one's.
    try setAside()
    guard rename(fresh, path) == 0 else {
      throw StorageProblem("put \(fresh) in its place")
    }
    let folder = Glibc.open(String(path.dropLast(Self.name.count)), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return }
    fsync(folder)
    close(folder)
  }
}
