/// Writes the history of one connection down. What happened is gathered as one frame, and handed to the system before
/// anybody is told of it. Where the disk fails everything else goes on, and all of the history is written anew as soon as
/// it can be.
final class HistoryLog {
  /// Whose history it is, on this machine and at the server.
  struct Identity: Equatable {
    /// The name of the segments.
    var name: String
    var upstream: String
    /// As it may be shown.
    var namespace: String
    /// Changes with everything that decides whom the server takes us for.
    var target: UInt64
  }

  /// What ends with it.
  enum End {
    case connection, daemon
  }

  /// A segment is not left for another one before it has as many bytes.
  private static let segmentLimit = 256 << 10

  /// A segment on the disk that is not written any more.
  private struct Older {
    var id: HistorySegment.ID
    /// The place behind its last event.
    var end: UInt64
  }

  let identity: Identity
  private let logs: HistoryLogs
  private let store: any HistoryStore
  private unowned let stream: EventStream
  private var settings: HistorySettings
  /// The last segment's.
  private var number: UInt64 = 0
  private var older: [Older] = []
  /// Nil before there is anything to keep, while the disk fails, and after the end.
  private var file: (any HistoryFile)?
  /// Nothing was found and nothing has come: there is no file yet. A namespace that never brings anything gets none.
  private var isUnmade = false
  private var written = (events: 0, bytes: 0, first: Int64.max, all: 0)
  private var frame = HistoryWriter()
  private var isListed = false
  private var lastResumption: Resumption?
  private(set) var problem: HistoryProblem?
  /// What is on the disk was taken over; before that nothing of it is touched.
  private var isTakenOver = false
  /// The disk shows what it has of the present epoch as if it were all.
  private var isStale = false
  /// The present epoch has to end for that reason, as soon as no event is being delivered.
  private var mustLeaveEpoch = false

  /// What the upstream needs to go on, as it is now.
  var resumption: () -> Resumption? = { nil }

  init(
    _ identity: Identity, logs: HistoryLogs, store: any HistoryStore, stream: EventStream, settings: HistorySettings
  ) {
    self.identity = identity
    self.logs = logs
    self.store = store
    self.stream = stream
    self.settings = settings
  }

  /// Takes over what is on the disk, and returns what the upstream needs to go on from there. Where the disk cannot even be
  /// looked at, that is tried again now and then.
  func begin() -> Resumption? {
    let found: HistoryLogs.Found
    do throws(HistoryProblem) {
      found = try logs.read(identity, settings, into: stream, isLate: problem != nil)
    } catch {
      fail(error)
      return nil
    }
    isTakenOver = true
    // Their content is the stream's by now: they are not needed as soon as it was written anew.
    older = found.segments.map { Older(id: $0, end: 0) }
    number = found.number
    lastResumption = found.resumption
    if problem == nil { resumption = { found.resumption } }
    isUnmade = problem == nil && number == 0 && stream.sequence == 0
    if !isUnmade { writeAnew() }
    return found.resumption
  }

  // MARK: - From the stream

  /// Something came in, so many milliseconds after 1970.
  func append(_ content: EventHistory.Content, arrival: Int64) {
    if isUnmade { writeAnew() }
    guard file != nil else { return }
    if frame.count >= HistoryFormat.frameTarget { handOver() }
    switch content {
    case .event(let tail): frame.event(tail, arrival: arrival)
    case .hole(let reason, let name): frame.write(.hole(arrival: arrival, reason, name: name))
    }
    written.events += 1
    written.bytes += content.byteCount
    written.first = min(written.first, arrival)
    list()
  }

  /// An epoch has begun in the stream.
  func begin(_ span: EpochSpan) {
    guard file != nil else { return }
    frame.write(.epoch(span.epoch, start: span.start))
    list()
  }

  /// What the upstream needs to go on may be something else now.
  func noteResumption() {
    guard resumption() != lastResumption else { return }
    if isUnmade { return writeAnew() }
    if file != nil { list() }
  }

  private func list() {
    guard !isListed else { return }
    isListed = true
    logs.add(self)
  }

  // MARK: - To the disk

  /// Hands over what was gathered. To be called before anybody is given any of it, and while no event is being delivered.
  func commit() {
    isListed = false
    handOver()
    guard mustLeaveEpoch else { return }
    mustLeaveEpoch = false
    stream.beginEpoch()
  }

  private func handOver() {
    guard let file else { return }
    let now = resumption()
    if now != lastResumption {
      frame.write(.resumption(now, target: identity.target))
      lastResumption = now
    }
    guard !frame.isEmpty else { return }
    do throws(HistoryProblem) {
      try write(to: file)
      try turnOverIfFull()
    } catch { fail(error) }
  }

  private func write(to file: any HistoryFile) throws(HistoryProblem) {
    frame.close(store.checksum)
    written.all += frame.bytes.count
    defer { frame.reset() }
    let bytes = frame.bytes
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(HistoryProblem) in try file.append(bytes) }
    }
    try result.get()
  }

  /// A segment that alone holds as much as the history may begins another one; those before it go.
  private func turnOverIfFull() throws(HistoryProblem) {
    let isFull = written.events >= settings.events || written.bytes >= settings.bytes
    // What is not counted as events, such as epochs of a link that flaps, must not make a file grow for ever either.
    let isLong = written.all / 2 >= max(settings.bytes, Self.segmentLimit)
    if isLong, !older.isEmpty { return writeAnew() }
    guard isLong || isFull && written.all >= Self.segmentLimit else { return }
    dropOlder()
    guard older.isEmpty else { return }
    try turnOver()
  }

  private func turnOver() throws(HistoryProblem) {
    let fresh = try make(isComplete: false)
    let current = stream.history.current
    frame.write(.epoch(current.epoch, start: current.start))
    frame.write(.position(stream.history.sequence))
    try finish(fresh)
    older.append(Older(id: id(number - 1), end: stream.history.nextPlace))
  }

  /// The segments of which the history has nothing any more.
  private func dropOlder() {
    while let first = older.first, first.end <= stream.history.oldestPlace {
      store.remove(first.id)
      older.removeFirst()
    }
  }

  /// Writes all of the history as one new segment, and removes the others.
  private func writeAnew() {
    isUnmade = false
    do throws(HistoryProblem) {
      let fresh = try make(isComplete: true)
      try writeHistory(to: fresh)
      try finish(fresh)
      for segment in older { store.remove(segment.id) }
      older = []
      (isStale, mustLeaveEpoch) = (false, false)
      guard problem != nil else { return }
      problem = nil
      logs.report(identity, .working)
    } catch { fail(error) }
  }

  private func writeHistory(to file: any HistoryFile) throws(HistoryProblem) {
    let history = stream.history
    let (now, wall) = (logs.time.now, logs.time.wallMilliseconds)
    var place = history.oldestPlace
    for (index, span) in history.spans.enumerated() {
      frame.write(.epoch(span.epoch, start: span.start))
      let next = index + 1 < history.spans.count ? history.spans[index + 1].place : history.nextPlace
      if index == 0 { frame.write(.position(span.start + (place - span.place))) }
      while place < next, let slot = history.slot(at: place) {
        let arrival = wall - (now - slot.arrival).milliseconds
        switch slot.content {
        case .event(let tail): frame.event(tail, arrival: arrival)
        case .hole(let reason, let name): frame.write(.hole(arrival: arrival, reason, name: name))
        }
        written.events += 1
        written.bytes += slot.content.byteCount
        written.first = min(written.first, arrival)
        place += 1
        if frame.count >= HistoryFormat.frameTarget { try write(to: file) }
      }
    }
  }

  /// A segment with its beginning.
  private func make(isComplete: Bool) throws(HistoryProblem) -> any HistoryFile {
    frame.reset()
    let fresh = try store.make(id(number + 1))
    written = (0, 0, .max, 0)
    let result = HistoryWriter.prefix.withUnsafeBytes { bytes in
      Result { () throws(HistoryProblem) in try fresh.append(bytes) }
    }
    try result.get()
    frame.write(
      .header(
        HistoryHeader(
          boot: store.boot, age: settings.age.milliseconds, upstream: identity.upstream, namespace: identity.namespace,
          isComplete: isComplete)))
    try write(to: fresh)
    return fresh
  }

  private func finish(_ fresh: any HistoryFile) throws(HistoryProblem) {
    let now = resumption()
    frame.write(.resumption(now, target: identity.target))
    try write(to: fresh)
    try fresh.publish()
    lastResumption = now
    number += 1
    file = fresh
  }

  private func id(_ number: UInt64) -> HistorySegment.ID { .init(name: identity.name, number: number) }

  // MARK: - A disk in trouble

  /// What is on the disk must not be taken for all that there was, should the daemon die now. Where it cannot even be
  /// marked, the numbers from now on belong to another epoch, which the disk does not know: so none is used twice.
  private func fail(_ problem: HistoryProblem) {
    if file != nil { older.append(Older(id: id(number), end: 0)) }
    file = nil
    frame.reset()
    var told = problem
    var isMarked = true
    for segment in older {
      do throws(HistoryProblem) { try store.cut(segment.id) } catch {
        told.message += "; \(error.message)"
        isMarked = false
      }
    }
    if !isMarked, !isStale {
      (isStale, mustLeaveEpoch) = (true, true)
      list()
    }
    guard self.problem?.kind != problem.kind else { return }
    self.problem = told
    logs.report(identity, .failing(told))
  }

  // MARK: - Now and then

  /// Lets go of what is too old on the disk as well, and tries again what failed. To be called now and then.
  func lookAfter() {
    guard !isUnmade else { return }
    guard file != nil else { return tryAgain() }
    dropOlder()
    let oldest = logs.time.wallMilliseconds - settings.age.milliseconds
    guard written.events > 0, written.first < oldest, older.isEmpty else { return }
    commit()
    do throws(HistoryProblem) { if file != nil { try turnOver() } } catch { fail(error) }
  }

  private func tryAgain() {
    if isTakenOver { writeAnew() } else { _ = begin() }
  }

  /// New bounds count from the next segment on.
  func adopt(_ settings: HistorySettings) { self.settings = settings }

  /// The end, in order. With the daemon's own end it is made sure that what was written can be trusted whatever happens to
  /// the machine; as long as it serves others it does not wait for a disk.
  func close(_ end: End) {
    guard !isUnmade else { return }
    // Who still waits to be asked for what it has gathered may be asked when the stream is gone.
    defer { mustLeaveEpoch = false }
    noteResumption()
    commit()
    if file == nil { tryAgain() }
    guard let file else { return }
    frame.write(.end)
    do throws(HistoryProblem) { try write(to: file) } catch { return fail(error) }
    self.file = nil
    if end == .daemon { file.sync() }
  }
}
