/// The history of one connection on disk, where its settings ask for one, and the calls that wait to be told of it.
final class ConnectionHistory {
  private let stream: EventStream
  private let logs: HistoryLogs
  private let timers: Timers
  private var connector: any UpstreamConnector
  /// The settings in force ask for one, and the connection may have it.
  private var isWanted = false
  /// Calls that wait until what an earlier daemon received is known.
  private var waiting = Ring<() -> Void>()
  /// Told when the past is known, and all that waited for it have heard. Set by the connection, once.
  var onKnown: (() -> Void)?

  init(of stream: EventStream, connector: any UpstreamConnector, context: ConnectionContext) {
    self.stream = stream
    self.connector = connector
    logs = context.histories
    timers = context.timers
  }

  /// Opens or ends the history on disk, as the settings in force say.
  func adopt(_ specification: UpstreamSpecification, connector: any UpstreamConnector) {
    self.connector = connector
    let settings = specification.settings.history
    isWanted = settings.disk && specification.name != nil
    guard settings.disk, let identity = HistoryLog.Identity(specification) else { return end(.connection) }
    if let log = stream.log {
      guard log.identity != identity else { return }
      end(.connection)
    }
    guard let log = logs.open(identity, settings, for: stream, of: specification.requester) else { return }
    stream.log = log
    log.onBegun = { [weak self, unowned log] resumption in
      guard let self else { return }
      self.connector.resumption = resumption
      log.resumption = { [weak self] in self?.connector.resumption }
      answerAboutPast()
    }
    log.begin()
  }

  /// Ends the history on disk in order.
  func end(_ end: HistoryLog.End) {
    guard let log = stream.log else { return }
    let wasReading = log.isReadingPast
    logs.close(log, end)
    stream.log = nil
    if wasReading { answerAboutPast() }
  }

  // MARK: - What waits for it

  /// Whether what an earlier daemon received is not known yet: no client is told of the past, or of the present epoch,
  /// before.
  var isReadingPast: Bool { stream.log?.isReadingPast == true }

  /// Nothing is tried as long as the past is not known, or a client waits to be told of it.
  var awaitsPast: Bool { isReadingPast || waiting.count > 0 }

  /// Calls back once, later, when the past is known. A call that waits has a lease.
  func afterReadingPast(_ body: @escaping () -> Void) { waiting.append(body) }

  /// The calls that waited are answered, one in each turn of the loop: each may ask for all of a long past.
  private func answerAboutPast() {
    timers.after(.zero) { [weak self] in
      guard let self, !isReadingPast else { return }
      guard let next = waiting.popFirst() else {
        onKnown?()
        return
      }
      next()
      answerAboutPast()
    }
  }

  // MARK: - The status

  /// What `status` says of the history on disk.
  enum Condition: String, CaseIterable {
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

  var condition: Condition {
    guard let log = stream.log else { return problem == nil ? .off : .unavailable }
    if log.isReadingPast { return .reading }
    return log.problem == nil ? .working : .failing
  }

  var problem: StorageProblem? {
    isWanted ? stream.log.map(\.problem) ?? logs.problem : nil
  }

  /// Whether the server should keep what it knows of us for the next daemon.
  var outlivesDaemon: Bool { stream.log != nil && connector.resumption != nil }
}
