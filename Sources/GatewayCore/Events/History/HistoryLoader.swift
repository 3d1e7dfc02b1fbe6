/// Puts a history together from its segments, as far as these are whole.
struct HistoryLoader {
  /// A segment that has to be set aside.
  struct Finding: Equatable {
    var segment: HistorySegment.ID
    var damage: StorageProblem
  }

  /// Numbers that are left out where the end of a history is missing, so that none is used twice: more than can have
  /// been given out since.
  static let safetyDistance: UInt64 = 10_000_000

  private let settings: HistorySettings
  private let boot: String
  private let checksum: (UnsafeRawBufferPointer) -> UInt32
  private let now: MonotonicInstant
  private let wall: Int64

  /// Nil where nothing was found.
  private(set) var history: EventHistory?
  private(set) var resumption: (Resumption, target: UInt64)?
  private(set) var findings: [Finding] = []
  /// Nothing that was given out is missing at the end.
  private(set) var isWhole = true

  init(
    _ settings: HistorySettings, boot: String, now: MonotonicInstant, wall: Int64,
    checksum: @escaping (UnsafeRawBufferPointer) -> UInt32
  ) {
    self.settings = settings
    self.boot = boot
    self.now = now
    self.wall = wall
    self.checksum = checksum
  }

  /// Takes the next segment, the oldest first.
  mutating func load(_ segment: HistorySegment, _ content: Result<[UInt8], StorageProblem>) {
    // What was wrong with an earlier one is made good by a later one, which begins where it ended.
    isWhole = true
    do throws(StorageProblem) { try take(segment, content) } catch {
      isWhole = false
      findings.append(Finding(segment: segment.id, damage: error))
    }
  }

  /// To be called behind the last segment. Where the end is missing another epoch begins.
  mutating func finish(freshEpoch: String) {
    history?.trim(now)
    guard !isWhole else { return }
    resumption = nil
    let room = HistoryFormat.numberLimit - 1 - (history?.sequence ?? 0)
    history?.begin(epoch: freshEpoch, skipping: min(Self.safetyDistance, room))
  }

  private mutating func take(
    _ segment: HistorySegment, _ content: Result<[UInt8], StorageProblem>
  ) throws(StorageProblem) {
    let bytes = try content.get()
    var reader = HistoryReader(bytes, checksum: checksum)
    var scene = Scene()
    try reader.read { take($0, &scene) }
    guard scene.hasEpoch else { throw .torn(at: bytes.count) }
    // What a machine that lost its power had not written yet leaves no trace in the file.
    if segment.isCut || (!scene.hasEnded && scene.header?.boot != boot) { isWhole = false }
  }

  /// What is known of the segment that is being read.
  private struct Scene {
    var header: HistoryHeader?
    var hasEpoch = false
    var hasEnded = false
  }

  private mutating func take(_ record: HistoryRecord, _ scene: inout Scene) -> Bool {
    scene.hasEnded = false
    switch record {
    case .header(let header):
      guard scene.header == nil else { return false }
      scene.header = header
      if header.isComplete {
        history = nil
        resumption = nil
      }
    case .epoch(let epoch, let start):
      guard scene.header != nil else { return false }
      scene.hasEpoch = true
      return enter(epoch, after: start)
    case .position(let sequence):
      guard scene.hasEpoch, let known = history?.sequence, sequence >= known else { return false }
      history?.skip(to: sequence)
    case .resumption(let resumption, let target): self.resumption = resumption.map { ($0, target) }
    case .event(let arrival, let tail):
      guard scene.hasEpoch, let next, LocalNotification.place(inTail: tail.span.bytes)?.sequence == next else {
        return false
      }
      let name = LocalNotification.nameRange(inTail: tail.span.bytes)
      let arrived = instant(arrival)
      history?.append(.event(tail), name: name ?? 0..<0, at: arrived)
    case .hole(let arrival, let reason, let name):
      guard scene.hasEpoch, next != nil else { return false }
      let arrived = instant(arrival)
      history?.append(.hole(reason, name: name), at: arrived)
    case .end: scene.hasEnded = true
    }
    return true
  }

  /// The number of the next event; nil where there is none left.
  private var next: UInt64? {
    guard let last = history?.sequence, last + 1 < HistoryFormat.numberLimit else { return nil }
    return last + 1
  }

  private mutating func enter(_ epoch: String, after start: UInt64) -> Bool {
    guard let current = history?.current, let sequence = history?.sequence else {
      history = EventHistory(settings, epoch: epoch, after: start)
      return true
    }
    // A later segment names the epoch that goes on.
    if current.epoch == epoch { return current.start == start }
    // The name of an epoch is what clients and later segments know its numbers by: it comes once.
    guard start >= sequence, history?.past.contains(where: { $0.epoch == epoch }) == false else { return false }
    history?.begin(epoch: epoch, skipping: start - sequence)
    return true
  }

  /// When an event arrived, on the clock of this run; what seems to come arrived now.
  private func instant(_ arrival: Int64) -> MonotonicInstant {
    let (age, overflow) = wall.subtractingReportingOverflow(arrival)
    guard !overflow, age > 0 else { return now }
    let (nanoseconds, isHuge) = age.multipliedReportingOverflow(by: 1_000_000)
    return MonotonicInstant(nanoseconds: isHuge ? .min / 2 : now.nanoseconds &- nanoseconds)
  }
}
