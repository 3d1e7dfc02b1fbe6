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
    guard let log = context.histories.open(identity, settings, for: stream, of: account) else { return }
    stream.log = log
    log.onBegun = { [weak self, unowned log] resumption in
      guard let self else { return }
      connector.resumption = resumption
      log.resumption = { [weak self] in self?.connector.resumption }
      answerAboutPast()
    }
    log.begin()
  }

  // MARK: - What waits for it

  /// Whether what an earlier daemon received is not known yet: nobody is told of the past, or of the present epoch, before.
  var isReadingPast: Bool { stream.log?.isReadingPast == true }

  /// Nothing is tried as long as the past is not known, or somebody waits to be told of it.
  var awaitsPast: Bool { isReadingPast || pastWaiters.count > 0 }

  /// Calls back once, later, when the past is known. Who waits has a lease.
  func afterReadingPast(_ body: @escaping () -> Void) { pastWaiters.append(body) }

  /// Who waited is answered, one in each turn of the loop: each may ask for all of a long past.
  private func answerAboutPast() {
    context.timers.after(.zero) { [weak self] in
      guard let self, !isReadingPast else { return }
      guard let next = pastWaiters.popFirst() else { return review() }
      next()
      answerAboutPast()
    }
  }

  /// Ends the history on disk in order.
  func endHistory() {
    guard let log = stream.log else { return }
    let wasReading = log.isReadingPast
    context.histories.close(log, isDraining ? .daemon : .connection)
    stream.log = nil
    if wasReading { answerAboutPast() }
  }

  /// What `status` says of the history on disk.
  enum HistoryCondition: String, CaseIterable {
    /// Not asked for, or not to be had for a connection by URL.
    case off
    case working
    /// What an earlier daemon kept is being read; the connection is not tried before that.
    case reading
    /// The last write failed; everything is written anew as soon as that works.
    case failing
    /// There is no state folder.
    case unavailable
  }

  var historyCondition: HistoryCondition {
    guard let log = stream.log else { return historyProblem == nil ? .off : .unavailable }
    if log.isReadingPast { return .reading }
    return log.problem == nil ? .working : .failing
  }

  var historyProblem: HistoryProblem? {
    guard specification.settings.history.disk, specification.name != nil else { return nil }
    return stream.log.map(\.problem) ?? context.histories.problem
  }

  /// Whether the server should keep what it knows of us for the next daemon.
  var outlivesDaemon: Bool { stream.log != nil && connector.resumption != nil }
}
