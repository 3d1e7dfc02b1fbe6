/// A segment under construction: it is not seen before its file is published. What is long is written in portions,
/// while the history may go on.
struct FreshSegment {
  /// What is in a segment.
  struct Fill {
    var events = 0
    /// Of the events, as the history counts them.
    var bytes = 0
    /// When the oldest event arrived, in milliseconds since 1970.
    var first = Int64.max
    /// Bytes of the file.
    var all = 0

    mutating func note(_ content: EventHistory.Content, arrival: Int64) {
      events += 1
      bytes += content.byteCount
      first = min(first, arrival)
    }
  }

  let id: HistorySegment.ID
  let file: any HistoryFile
  private(set) var fill = Fill()
  private let store: any HistoryStore
  private var frame = HistoryWriter()
  /// Events before it are written.
  private var place: UInt64 = 0
  /// The last epoch that is written.
  private var epoch: String?
  /// What was the same moment on both clocks: arrivals are kept by one and written by the other.
  private let now: MonotonicInstant
  private let wall: Int64

  /// Makes the file, with its beginning.
  init(
    _ id: HistorySegment.ID, _ header: HistoryHeader, in store: any HistoryStore, now: MonotonicInstant, wall: Int64
  ) throws(StorageProblem) {
    self.id = id
    self.store = store
    self.now = now
    self.wall = wall
    file = try store.make(id)
    try Self.append(HistoryWriter.prefix, to: file)
    frame.write(.header(header))
    try flush()
  }

  /// Writes what is kept and not written yet, up to about so many bytes more. Returns whether that was all.
  mutating func write(_ history: EventHistory, upTo limit: Int) throws(StorageProblem) -> Bool {
    let start = fill.all
    repeat {
      let hasJumped = epoch == nil || place < history.oldestPlace
      place = max(place, history.oldestPlace)
      let spans = history.spans
      let known = spans.lastIndex { $0.epoch == epoch } ?? -1
      var next = history.nextPlace
      for index in max(known, 0)..<spans.count {
        let span = spans[index]
        let end = index + 1 < spans.count ? spans[index + 1].place : history.nextPlace
        guard span.place <= place else { break }
        if index > known { frame.write(.epoch(span.epoch, start: span.start)) }
        if hasJumped, min(place, end) > span.place {
          frame.write(.position(span.start + (min(place, end) - span.place)))
        }
        (epoch, next) = (span.epoch, end)
      }
      writeEvents(of: history, before: next)
      if frame.count >= Self.portion { try flush() }
      // The last epoch may have no event.
      if place == history.nextPlace, epoch == history.current.epoch { return true }
    } while fill.all + frame.count - start < limit
    return false
  }

  private mutating func writeEvents(of history: EventHistory, before end: UInt64) {
    while place < end, frame.count < Self.portion, let slot = history.slot(at: place) {
      let arrival = wall - (now - slot.arrival).milliseconds
      switch slot.content {
      case .event(let tail): frame.event(tail, arrival: arrival)
      case .hole(let reason, let name): frame.write(.hole(arrival: arrival, reason, name: name))
      }
      fill.note(slot.content, arrival: arrival)
      place += 1
    }
  }

  /// The segment begins where an earlier one ends.
  mutating func goOn(from history: EventHistory) {
    frame.write(.epoch(history.current.epoch, start: history.current.start))
    frame.write(.position(history.sequence))
  }

  /// Writes what the upstream needs to go on, behind everything else.
  mutating func finish(_ resumption: Resumption?, target: UInt64) throws(StorageProblem) {
    frame.write(.resumption(resumption, target: target))
    try flush()
  }

  /// How much is gathered at least before it is handed to the system, in bytes.
  private static let portion = 256 << 10

  private mutating func flush() throws(StorageProblem) {
    frame.close(store.checksum)
    fill.all += frame.bytes.count
    defer { frame.reset() }
    try Self.append(frame.bytes, to: file)
  }

  static func append(_ bytes: [UInt8], to file: any HistoryFile) throws(StorageProblem) {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(StorageProblem) in try file.append(bytes) }
    }
    try result.get()
  }
}
