/// Writes all of a history into a new segment, a portion in each turn of the loop. Events come and old ones go meanwhile:
/// the copy ends where it has caught up.
final class HistoryCopy {
  /// What a segment holds.
  struct Amount {
    var events = 0
    var bytes = 0
    /// When the oldest event arrived, in milliseconds since 1970.
    var first = Int64.max
    /// Bytes of the file.
    var all = 0
  }

  /// Bytes of records in one turn, some milliseconds; what is no larger is done at once.
  static let portion = 4 << 20

  let file: any HistoryFile
  private(set) var written: Amount
  private let time: any TimeSource
  private let checksum: (UnsafeRawBufferPointer) -> UInt32
  private var frame = HistoryWriter()
  /// The place of the next event, and the epoch that was named last; nil before the beginning.
  private var place: UInt64?
  private var epoch: String?

  /// `written` is what the segment holds already.
  init(
    _ file: any HistoryFile, written: Amount, time: any TimeSource,
    checksum: @escaping (UnsafeRawBufferPointer) -> UInt32
  ) {
    self.file = file
    self.written = written
    self.time = time
    self.checksum = checksum
  }

  /// One portion. Returns whether all of the history is in the segment now.
  func advance(_ history: EventHistory) throws(HistoryProblem) -> Bool {
    let (now, wall) = (time.now, time.wallMilliseconds)
    let end = written.all + Self.portion
    while written.all + frame.count < end {
      enterEpochs(history)
      guard let place, let slot = history.slot(at: place) else {
        try write()
        return true
      }
      let arrival = wall - (now - slot.arrival).milliseconds
      switch slot.content {
      case .event(let tail): frame.event(tail, arrival: arrival)
      case .hole(let reason, let name): frame.write(.hole(arrival: arrival, reason, name: name))
      }
      written.events += 1
      written.bytes += slot.content.byteCount
      written.first = min(written.first, arrival)
      self.place = place + 1
      if frame.count >= HistoryFormat.frameTarget { try write() }
    }
    try write()
    return false
  }

  /// Names the epochs that begin here. Where events went before they were written, goes on behind them.
  private func enterEpochs(_ history: EventHistory) {
    let isFresh = place == nil
    let hasJumped = place.map { $0 < history.oldestPlace } ?? true
    guard hasJumped || epoch != history.current.epoch else { return }
    let at = max(place ?? 0, history.oldestPlace)
    let spans = history.spans
    var next = epoch.flatMap { epoch in spans.firstIndex { $0.epoch == epoch } }.map { $0 + 1 } ?? 0
    while next < spans.count, spans[next].place <= at {
      // Its number is that of the last event before it, which must not be one that is still to come.
      frame.write(.epoch(spans[next].epoch, start: spans[next].start))
      epoch = spans[next].epoch
      next += 1
      if isFresh { break }
    }
    if hasJumped, let span = spans.first(where: { $0.epoch == epoch }) {
      frame.write(.position(span.start + (max(at, span.place) - span.place)))
    }
    place = at
    if isFresh { enterEpochs(history) }
  }

  private func write() throws(HistoryProblem) {
    guard !frame.isEmpty else { return }
    frame.close(checksum)
    written.all += frame.bytes.count
    defer { frame.reset() }
    let bytes = frame.bytes
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(HistoryProblem) in try file.append(bytes) }
    }
    try result.get()
  }
}
