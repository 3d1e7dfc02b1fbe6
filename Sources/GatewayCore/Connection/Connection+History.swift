/// The connection's history on disk, where its settings ask for one.
extension Connection {
  /// Opens or ends the history on disk, as the settings in force say.
  func lookAfterHistory() {
    let settings = specification.settings.history
    guard settings.disk, let identity = HistoryLog.Identity(specification) else { return endHistory() }
    if let log = stream.log {
      guard log.identity != identity else { return }
      endHistory()
    }
    guard let opened = context.histories.open(identity, settings, for: stream) else { return }
    stream.log = opened.log
    connector.resumption = opened.resumption
    opened.log.resumption = { [weak self] in self?.connector.resumption }
  }

  /// Ends the history on disk in order.
  func endHistory() {
    guard let log = stream.log else { return }
    context.histories.close(log, isDraining ? .daemon : .connection)
    stream.log = nil
  }

  /// What `status` says of the history on disk.
  enum HistoryCondition: String, CaseIterable {
    /// Not asked for, or not to be had for a connection by URL.
    case off
    case working
    /// The last write failed; everything is written anew as soon as that works.
    case failing
    /// There is no state folder.
    case unavailable
  }

  var historyCondition: HistoryCondition {
    guard let log = stream.log else { return historyProblem == nil ? .off : .unavailable }
    return log.problem == nil ? .working : .failing
  }

  var historyProblem: HistoryProblem? {
    guard specification.settings.history.disk, specification.name != nil else { return nil }
    return stream.log.map(\.problem) ?? context.histories.problem
  }

  /// Whether the server should keep what it knows of us for the next daemon.
  var outlivesDaemon: Bool { stream.log != nil && connector.resumption != nil }
}
