import GatewayCore

/// What survives a restart of the daemon, as it was found: the locked folder and the outbox in it, and histories.
/// Without them the daemon runs all the same, and only durable sends fail.
final class DaemonState {
  /// Where histories are kept in one of the daemon's folders, which is locked for as long as this object lives.
  private struct Histories {
    let folder: StateFolder?
    let files: HistoryFolder?
    let store: Result<any HistoryStore, StorageProblem>

    init(in folder: StateFolder) {
      let files = HistoryFolder(in: folder.path)
      (self.folder, self.files, store) = (folder, files, .success(files))
    }

    init(_ problem: StorageProblem) {
      (folder, files, store) = (nil, nil, .failure(StorageProblem(.folder, problem.message)))
    }
  }

  /// Handed over by `opening`.
  private var found: Result<OutboxFile.Contents, StorageProblem>
  private let lasting: Histories
  private let passing: Histories?
  /// For the log.
  let records: [LogRecord]

  /// Where histories outlive the machine's restarts: in the folder of the outbox, whatever became of that.
  var histories: Result<any HistoryStore, StorageProblem> { lasting.store }
  /// Where they outlive those of the daemon; nil where no folder is named for that.
  var runtimeHistories: Result<any HistoryStore, StorageProblem>? { passing?.store }

  /// Opens the folders and the outbox. A folder that was named for this daemon and that another daemon has is the one
  /// reason not to start. `runtime` is that of what need not outlive the machine's restarts.
  init(_ choice: StateFolder.Choice, runtime: String?, time: any TimeSource) throws(StartFailure) {
    var records: [LogRecord] = []
    do throws(StorageProblem) {
      let folder = try StateFolder(choice.path)
      lasting = Histories(in: folder)
      do throws(StorageProblem) {
        let contents = try OutboxFile(in: folder.path, now: time.wallMilliseconds).open()
        found = .success(contents)
        if let repair = contents.repair {
          records.append(
            LogRecord(
              .outboxRepaired, [.path: repair.path, .detail: repair.damage, .saved: String(repair.saved)]))
        }
      } catch {
        found = .failure(error)
        records.append(Self.unavailable(error, choice))
      }
    } catch {
      if error.kind == .locked, choice.isNamed { throw StartFailure(.unavailable, error.message) }
      lasting = Histories(error)
      found = .failure(error)
      records.append(Self.unavailable(error, choice))
    }
    passing = runtime.map { path in
      do throws(StorageProblem) { return Histories(in: try StateFolder(path, .runtime)) } catch {
        records.append(
          LogRecord(.historyFailing, level: .warning, [.reason: error.kind.rawValue, .detail: error.message]))
        return Histories(error)
      }
    }
    self.records = records
  }

  /// The folder for what need not outlive the machine's restarts: the first of those that the service manager names.
  static func runtimeFolder(_ environment: (String) -> String?) -> String? {
    environment("RUNTIME_DIRECTORY").flatMap { $0.hasPrefix("/") ? String($0.prefix { $0 != ":" }) : nil }
  }

  /// A folder that the administrator did not name may be out of reach without being a fault.
  private static func unavailable(_ problem: StorageProblem, _ choice: StateFolder.Choice) -> LogRecord {
    LogRecord(
      .outboxUnavailable, level: choice.isNamed ? .error : nil,
      [.reason: problem.kind.rawValue, .detail: problem.message])
  }

  /// Starts the writer's thread, to which the outbox's files belong from then on. To be called once.
  func opening(on loop: EventLoop) throws(SystemError) -> OutboxOpening {
    for histories in [lasting, passing] { histories?.files?.attach(to: loop) }
    defer { found = .failure(StorageProblem.none) }
    switch found {
    case .success(let contents):
      return .open(try DiskOutbox(loop: loop, database: contents.database), contents.entries)
    case .failure(let problem): return .unavailable(problem)
    }
  }
}
