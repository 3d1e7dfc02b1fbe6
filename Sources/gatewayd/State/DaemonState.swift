import GatewayCore

/// What survives a restart of the daemon, as it was found: the locked folder and the outbox in it. Without them the
/// daemon runs all the same, and only durable sends fail.
final class DaemonState {
  /// Locked for as long as this object lives.
  private let folder: StateFolder?
  /// Handed over by `opening`.
  private var found: Result<OutboxFile.Contents, StorageProblem>
  /// Where histories are kept: in the same locked folder, whatever became of the outbox.
  let histories: Result<any HistoryStore, StorageProblem>
  private let historyFolder: HistoryFolder?
  /// For the log.
  let records: [LogRecord]

  private init(folder: StateFolder?, found: Result<OutboxFile.Contents, StorageProblem>, records: [LogRecord]) {
    self.folder = folder
    self.found = found
    historyFolder = folder.map { HistoryFolder(in: $0.path) }
    switch (historyFolder, found) {
    case (let folder?, _): histories = .success(folder)
    case (nil, .failure(let problem)): histories = .failure(StorageProblem(.folder, problem.message))
    case (nil, .success): histories = .failure(.none)
    }
    self.records = records
  }

  /// Opens the folder and the outbox. A folder that was named for this daemon and that another daemon has is the one
  /// reason not to start.
  static func open(
    _ choice: StateFolder.Choice, time: any TimeSource
  ) throws(StartFailure) -> DaemonState {
    let folder: StateFolder
    do throws(StorageProblem) { folder = try StateFolder(choice.path) } catch {
      if error.kind == .locked, choice.isNamed { throw StartFailure(.unavailable, error.message) }
      return DaemonState(folder: nil, found: .failure(error), records: [unavailable(error, choice)])
    }
    do throws(StorageProblem) {
      let contents = try OutboxFile(in: folder.path, now: time.wallMilliseconds).open()
      let repair = contents.repair.map {
        LogRecord(.outboxRepaired, [.path: $0.path, .detail: $0.damage, .saved: String($0.saved)])
      }
      return DaemonState(folder: folder, found: .success(contents), records: repair.map { [$0] } ?? [])
    } catch {
      return DaemonState(folder: folder, found: .failure(error), records: [unavailable(error, choice)])
    }
  }

  /// A folder that the administrator did not name may be out of reach without being a fault.
  private static func unavailable(_ problem: StorageProblem, _ choice: StateFolder.Choice) -> LogRecord {
    LogRecord(
      .outboxUnavailable, level: choice.isNamed ? .error : nil,
      [.reason: problem.kind.rawValue, .detail: problem.message])
  }

  /// Starts the writer's thread, to which the outbox's files belong from then on. To be called once.
  func opening(on loop: EventLoop) throws(SystemError) -> OutboxOpening {
    historyFolder?.attach(to: loop)
    defer { found = .failure(StorageProblem.none) }
    switch found {
    case .success(let contents):
      return .open(try DiskOutbox(loop: loop, database: contents.database), contents.entries)
    case .failure(let problem): return .unavailable(problem)
    }
  }
}
