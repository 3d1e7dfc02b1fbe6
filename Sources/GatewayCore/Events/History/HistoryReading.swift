/// Reads what an earlier daemon left of one history, and writes it anew as one segment that is not published: until its
/// `HistoryLog` takes over what was found nothing on the disk has changed. It touches nothing that belongs to the loop,
/// so that a long history can be read beside it. Decision 0098.
final class HistoryReading {
  /// What the stream had meanwhile.
  enum Occasion {
    /// Nothing.
    case first
    /// It has told an epoch of its own, and what came in was not written down: the epoch that is found has ended.
    case late
    /// Events, which replace what is on the disk: nothing is read.
    case replaced
  }

  let segments: [HistorySegment]
  private let identity: HistoryLog.Identity
  /// How much of the past is to be kept; to be set before it is read.
  var settings: HistorySettings
  private let store: any HistoryStore
  private let now: MonotonicInstant
  private let wall: Int64
  private let epoch: String
  private let occasion: Occasion

  /// Nil where nothing was found that can be used.
  private(set) var history: EventHistory?
  /// Nothing that was given out is missing at the end.
  private(set) var isContinuous = false
  /// Holds only for the same server and credentials.
  private(set) var resumption: Resumption?
  private(set) var findings: [HistoryLoader.Finding] = []
  /// All of the history, or why it cannot be written.
  private(set) var fresh: Result<FreshSegment, StorageProblem>?
  /// Why it cannot be read now.
  private(set) var problem: StorageProblem?

  /// `epoch`: the name of one that begins if the one that is found has ended.
  init(
    _ segments: [HistorySegment], of identity: HistoryLog.Identity, _ settings: HistorySettings,
    in store: any HistoryStore, now: MonotonicInstant, wall: Int64, epoch: String, _ occasion: Occasion
  ) {
    self.segments = segments
    self.identity = identity
    self.settings = settings
    self.store = store
    self.now = now
    self.wall = wall
    self.epoch = epoch
    self.occasion = occasion
  }

  /// Bytes that there are to be read.
  var size: Int { occasion == .replaced ? 0 : segments.reduce(0) { $0 + $1.size } }

  /// The segments that need not be kept for a person to look at.
  var undamaged: [HistorySegment.ID] {
    segments.map(\.id).filter { id in !findings.contains { $0.segment == id } }
  }

  /// The whole work. Takes about eight milliseconds for each megabyte.
  func read() {
    guard occasion != .replaced, !segments.isEmpty else { return }
    var loader = HistoryLoader(settings, boot: store.boot, now: now, wall: wall, checksum: store.checksum)
    do throws(StorageProblem) {
      for segment in segments { try loader.load(segment, store.content(of: segment)) }
    } catch {
      problem = error
      return
    }
    loader.finish(freshEpoch: epoch)
    findings = loader.findings
    guard var history = loader.history else { return }
    if occasion == .late, loader.isWhole { history.begin(epoch: epoch) }
    isContinuous = loader.isWhole && occasion == .first
    if occasion == .first, let (found, target) = loader.resumption, target == identity.target { resumption = found }
    let result = Result { () throws(StorageProblem) in try write(history) }
    fresh = result
    self.history = consume history
  }

  private func write(_ history: EventHistory) throws(StorageProblem) -> FreshSegment {
    let id = HistorySegment.ID(name: identity.name, number: (segments.last?.id.number ?? 0) + 1)
    let header = HistoryHeader(identity, settings, boot: store.boot, isComplete: true)
    var fresh = try FreshSegment(id, header, in: store, now: now, wall: wall)
    _ = try fresh.write(history, upTo: .max)
    try fresh.finish(resumption, target: identity.target)
    return fresh
  }

  /// Hands the history over: nothing of it stays here.
  func takeHistory() -> EventHistory? {
    defer { history = nil }
    return history
  }

  /// Lets go of everything: of what is long that takes time, too.
  func discard() {
    history = nil
    fresh = nil
  }
}

extension HistoryHeader {
  init(_ identity: HistoryLog.Identity, _ settings: HistorySettings, boot: String, isComplete: Bool) {
    self.init(
      boot: boot, age: settings.age.milliseconds, upstream: identity.upstream, namespace: identity.namespace,
      isComplete: isComplete)
  }
}
