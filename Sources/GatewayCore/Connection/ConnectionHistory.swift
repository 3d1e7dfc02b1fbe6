/// The history of one connection where it outlives the daemon, if its settings and its surroundings allow that, and the
/// calls that wait to be told of it.
final class ConnectionHistory {
  private let stream: EventStream
  private let places: HistoryPlaces
  private let timers: Timers
  private var connector: any UpstreamConnector
  /// Where the settings in force want it, if the connection may have one; nil: in memory alone.
  private var place: HistoryLogs?
  /// Calls that wait until what an earlier daemon received is known.
  private var waiting = Ring<() -> Void>()
  /// Told when the past is known, and all that waited for it have heard. Set by the connection, once.
  var onKnown: (() -> Void)?

  init(of stream: EventStream, connector: any UpstreamConnector, context: ConnectionContext) {
    self.stream = stream
    self.connector = connector
    places = context.histories
    timers = context.timers
  }

  /// Opens or ends what outlives the daemon, as the settings in force say.
  func adopt(_ specification: UpstreamSpecification, connector: any UpstreamConnector) {
    self.connector = connector
    let settings = specification.settings.history
    // The past of a fleet's upstream is read of the fleet.
    place = specification.name == nil || specification.settings.fleet ? nil : places.place(of: settings)
    guard let place, let identity = HistoryLog.Identity(specification) else { return end(.connection) }
    if let log = stream.log {
      guard log.identity != identity || log.logs !== place else { return }
      end(.connection)
    }
    guard let log = place.open(identity, settings, for: stream, of: specification.requester) else { return }
    stream.log = log
    log.onBegun = { [weak self, unowned log] resumption in
      guard let self else { return }
      self.connector.resumption = resumption
      log.resumption = { [weak self] in self?.connector.resumption }
      answerAboutPast()
    }
    log.begin()
  }

  /// Ends what outlives the daemon in order.
  func end(_ end: HistoryLog.End) {
    guard let log = stream.log else { return }
    let wasReading = log.isReadingPast
    // A past that was only looked at is left as an earlier daemon left it.
    log.logs.close(log, log.logs.remainder == .removed && !stream.continuity.hasConversed ? .daemon : end)
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

  /// What `status` says of the history in a place where it outlives the daemon.
  enum Condition: String, CaseIterable {
    /// Not asked for, or not to be had for a connection by URL.
    case off
    case working
    /// What an earlier daemon kept is being read; the connection is not tried before that.
    case reading
    /// The last write failed; everything is written anew as soon as that works.
    case failing
    /// There is no folder for it.
    case unavailable
  }

  /// On the disk.
  var disk: Condition { condition(in: places.state) }
  /// In the folder that ends with the machine.
  var runtime: Condition { condition(in: places.runtime) }

  private func condition(in logs: HistoryLogs?) -> Condition {
    guard let place, place === logs else { return .off }
    guard let log = stream.log else { return problem == nil ? .off : .unavailable }
    if log.isReadingPast { return .reading }
    return log.problem == nil ? .working : .failing
  }

  /// Why it does not outlive the daemon although it should.
  var problem: StorageProblem? {
    place.flatMap { place in stream.log.map(\.problem) ?? place.problem }
  }

  /// Whether the server should keep what it knows of us for the next daemon.
  var outlivesDaemon: Bool { stream.log != nil && connector.resumption != nil }
}
