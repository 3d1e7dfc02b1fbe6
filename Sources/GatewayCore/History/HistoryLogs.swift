/// The histories on disk of all connections: opens them, and knows which have something to hand over.
final class HistoryLogs {
  let time: any TimeSource
  private let random: any RandomSource
  private let opening: Result<any HistoryStore, HistoryProblem>
  private var pending: [HistoryLog] = []
  /// The names of those that are open.
  private var open: Set<String> = []

  /// Ticks since the last walk over the histories that nobody has began, and how many may pass: about an hour.
  private var ticks = 0
  private static let tickLimit = 120
  /// Those that the present walk has not come to.
  private var unseen: ArraySlice<String> = []
  /// How many of them are looked at in one go, which is a few milliseconds.
  private static let portion = 128

  /// Told what happens to a history.
  var onReport: ((HistoryLog.Identity, HistoryReport) -> Void)?

  init(_ opening: Result<any HistoryStore, HistoryProblem>, time: any TimeSource, random: any RandomSource) {
    self.opening = opening
    self.time = time
    self.random = random
  }

  func report(_ identity: HistoryLog.Identity, _ report: HistoryReport) { onReport?(identity, report) }

  // MARK: - What waits

  /// Whether anything has to be handed over before anybody is told of it.
  @inline(__always)
  var hasPending: Bool { !pending.isEmpty }

  func add(_ log: HistoryLog) { pending.append(log) }

  /// One write for each history that has something new.
  func commit() {
    let due = pending
    pending = []
    for log in due { log.commit() }
  }

  // MARK: - Opening

  /// What a history was found with.
  struct Opened {
    var log: HistoryLog
    /// Holds only for the same server and credentials.
    var resumption: Resumption?
  }

  /// Why there can be no history on disk; nil: there can.
  var problem: HistoryProblem? {
    if case .failure(let problem) = opening { problem } else { nil }
  }

  /// Opens a history. A stream that has had no event takes over what is found; another one replaces it.
  func open(_ identity: HistoryLog.Identity, _ settings: HistorySettings, for stream: EventStream) -> Opened? {
    guard case .success(let store) = opening, open.insert(identity.name).inserted else { return nil }
    let log = HistoryLog(identity, logs: self, store: store, stream: stream, settings: settings)
    return Opened(log: log, resumption: log.begin())
  }

  /// What of a history is on the disk.
  struct Found {
    var segments: [HistorySegment.ID] = []
    /// The highest number that a segment has, also of those that were set aside.
    var number: UInt64 = 0
    /// Holds only for the same server and credentials.
    var resumption: Resumption?
  }

  /// Reads a history into its stream, if that has had no event yet. `isLate`: what came in meanwhile was not written down,
  /// so that the epoch that is found has ended.
  func read(
    _ identity: HistoryLog.Identity, _ settings: HistorySettings, into stream: EventStream, isLate: Bool
  ) throws(HistoryProblem) -> Found {
    guard case .success(let store) = opening else { return Found() }
    let segments = try store.segments(of: identity.name)
    var found = Found(segments: segments.map(\.id), number: segments.last?.id.number ?? 0)
    found.resumption = load(segments, store, identity, settings, into: stream, isLate, &found.segments)
    return found
  }

  private func load(
    _ segments: [HistorySegment], _ store: any HistoryStore, _ identity: HistoryLog.Identity,
    _ settings: HistorySettings, into stream: EventStream, _ isLate: Bool, _ found: inout [HistorySegment.ID]
  ) -> Resumption? {
    var loader = HistoryLoader(
      settings, boot: store.boot, now: time.now, wall: time.wallMilliseconds, checksum: store.checksum)
    loader.load(segments, random: random)
    for finding in loader.findings {
      // A mark is no damage: all of the segment was read.
      guard finding.damage != .cut else { continue }
      found.removeAll { $0 == finding.segment }
      do throws(HistoryProblem) {
        let path = try store.setAside(finding.segment)
        report(identity, .setAside(path: path, damage: finding.damage.description))
      } catch { report(identity, .failing(error)) }
    }
    guard let history = loader.history, stream.sequence == 0 else { return nil }
    guard !isLate else {
      stream.restore(history, isContinuous: false)
      if loader.isWhole { stream.beginEpoch() }
      return nil
    }
    stream.restore(history, isContinuous: loader.isWhole)
    guard let (resumption, target) = loader.resumption, target == identity.target else { return nil }
    return resumption
  }

  /// Ends a history in order; it may be opened again.
  func close(_ log: HistoryLog, _ end: HistoryLog.End) {
    log.close(end)
    open.remove(log.identity.name)
  }

  // MARK: - Those that nobody has

  /// To be called now and then: goes on looking for old files. `kept` are the names of those that are never too old.
  func tick(keeping kept: () -> Set<String>) {
    ticks += 1
    if !unseen.isEmpty { return removeOld(keeping: kept()) }
    if ticks > Self.tickLimit { beginRemovingOld(keeping: kept()) }
  }

  /// Removes what is too old of histories that are not open, some of them now and the others with the next ticks.
  func beginRemovingOld(keeping kept: Set<String>) {
    ticks = 0
    guard case .success(let store) = opening else { return }
    unseen = store.names()[...]
    removeOld(keeping: kept)
  }

  private func removeOld(keeping kept: Set<String>) {
    guard case .success(let store) = opening else { return }
    let now = time.wallMilliseconds
    let portion = unseen.prefix(Self.portion)
    unseen = unseen.dropFirst(Self.portion)
    for name in portion where !open.contains(name) && !kept.contains(name) {
      guard let listing = store.listing(of: name) else { continue }
      let header = HistoryReader.header(listing.head, checksum: store.checksum)
      // One that cannot be read is found out when it is opened, and kept until then.
      guard let header, now - header.age > listing.modified else { continue }
      for segment in listing.segments { store.remove(segment) }
    }
  }
}
