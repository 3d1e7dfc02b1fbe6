/// Writes the history of one connection down. What happened is gathered as one frame, and handed to the system before
/// any client is told of it. Where the disk fails everything else goes on, and all of the history is written anew as
/// soon as it can be. Decisions 0042 and 0082.
final class HistoryLog {
  /// What ends with it.
  enum End {
    case connection, daemon
  }

  /// What is known of the files.
  private enum Past {
    /// Nothing; before they were looked at nothing of them is touched. May become `reading`.
    case unknown
    /// May become `unknown`, `unmade` or `takenOver`.
    case reading(HistoryReading)
    /// Nothing was found and nothing has come: there is no file yet. A namespace that never brings anything gets none.
    /// May become `takenOver`.
    case unmade
    /// What was there is the stream's, or was put aside.
    case takenOver
  }

  /// What the disk would say of the present epoch.
  private enum Mark {
    case sound
    /// It shows what it has as if it were all, and so the epoch has to end, as soon as no event is being delivered. May
    /// become `left` or `sound`.
    case stale
    /// The same, and the epoch has ended. May become `sound`.
    case left
  }

  /// A segment is not left for another one before it has as many bytes.
  private static let segmentLimit = 256 << 10

  let identity: Identity
  /// Whose connection it is.
  let account: Account
  let logs: HistoryLogs
  private let store: any HistoryStore
  private unowned let stream: EventStream
  private var settings: HistorySettings
  /// What its files take of the memory of all of them; nil where they are on a disk.
  private let memory: MemoryHold?
  /// What is on the disk.
  private var segments: HistorySegments
  private var past = Past.unknown
  /// All of the history, on its way into a new segment. What comes meanwhile is written to the last one
  /// too, if there is one.
  private var rewriting: FreshSegment?
  private var frame = HistoryWriter()
  private var isListed = false
  private var lastResumption: Resumption?
  private(set) var problem: StorageProblem?
  private(set) var isClosed = false
  private var mark = Mark.sound

  /// What the upstream needs to go on, as it is now.
  var resumption: () -> Resumption? = { nil }
  /// Told once when what was on the disk is the stream's, or cannot be: with what the upstream needs to go on from
  /// there.
  var onBegun: ((Resumption?) -> Void)?

  init(
    _ identity: Identity, logs: HistoryLogs, store: any HistoryStore, stream: EventStream, settings: HistorySettings,
    account: Account, memory: MemoryHold?
  ) {
    self.identity = identity
    self.logs = logs
    self.store = store
    self.stream = stream
    self.settings = settings
    self.account = account
    self.memory = memory
    segments = HistorySegments(of: identity.name, in: store)
  }

  // MARK: - The beginning

  /// Whether the stream's past is not known yet: no client may be told any of it, and no event may come before it is.
  var isReadingPast: Bool { isReading && problem == nil }

  private var isReading: Bool {
    if case .reading = past { true } else { false }
  }

  private var isUnmade: Bool {
    if case .unmade = past { true } else { false }
  }

  /// Takes over what is on the disk. Where the disk cannot even be looked at, that is tried again now and then.
  func begin() {
    let segments: [HistorySegment]
    do throws(StorageProblem) { segments = try store.segments(of: identity.name) } catch { return leave(error) }
    // A stream that has had events replaces what is there.
    let reading = HistoryReading(
      segments, of: identity, settings, in: store, now: logs.time.now, wall: logs.time.wallMilliseconds,
      epoch: logs.makeEpoch(), stream.sequence > 0 ? .replaced : problem == nil ? .first : .late)
    past = .reading(reading)
    logs.read(reading, for: self)
  }

  /// The reading's turn has come. It may keep as much as there is memory for.
  func willRead(_ reading: HistoryReading) {
    guard let memory = stream.history.memory else { return }
    reading.settings.bytes = min(reading.settings.bytes, memory.count + memory.room)
    // Others that come meanwhile do not get it.
    _ = memory.change(to: min(reading.settings.bytes, max(reading.size, memory.count)))
  }

  /// What was on the disk is known.
  func take(_ reading: HistoryReading) {
    past = .unknown
    defer { if stream.history.count == 0 { giveBackMemory() } }
    if let problem = reading.problem { return leave(problem) }
    past = .takenOver
    // What was kept before the daemon had events that it did not write down stays for a person.
    let isReplaced = logs.remainder == .kept && !stream.hasTakenOverDisk && stream.sequence > 0
    if logs.remainder == .kept { stream.hasTakenOverDisk = true }
    let left = reading.undamaged.filter { !isReplaced || !setAside($0, as: .replaced, because: Self.replacement) }
    segments.found(
      reading.segments.filter { left.contains($0.id) }, last: reading.segments.last?.id.number ?? 0)
    countFiles()
    defer {
      setAside(reading.findings)
      begun(reading.resumption)
    }
    guard stream.sequence == 0, let history = reading.takeHistory(), let fresh = reading.fresh else {
      // Its file has to be gone before there is another one of that name.
      reading.discard()
      guard problem == nil, segments.areNone, stream.sequence == 0 else { return writeAnew() }
      return past = .unmade
    }
    stream.restore(history, isContinuous: reading.isContinuous)
    stream.history.adopt(settings, now: logs.time.now)
    do throws(StorageProblem) { try replaceAll(by: fresh.get(), reading.resumption) } catch { fail(error) }
  }

  /// What was taken for what is being read.
  private func giveBackMemory() { _ = stream.history.memory?.change(to: stream.history.byteCount) }

  /// What is on the disk cannot be looked at now.
  private func leave(_ problem: StorageProblem) {
    fail(problem)
    begun(nil)
  }

  private func begun(_ resumption: Resumption?) {
    onBegun?(resumption)
    onBegun = nil
    noteResumption()
  }

  private func setAside(_ findings: [HistoryLoader.Finding]) {
    for finding in findings {
      setAside(finding.segment, as: .damaged, because: finding.damage.message)
    }
  }

  @discardableResult
  private func setAside(_ segment: HistorySegment.ID, as reason: HistoryAside, because detail: String) -> Bool {
    do throws(StorageProblem) {
      let path = try store.setAside(segment, as: reason)
      logs.report(identity, .setAside(path: path, detail: detail))
      return true
    } catch {
      logs.report(identity, .failing(error))
      return false
    }
  }

  private static let replacement =
    "events came in before it was read, and have numbers of another epoch"

  // MARK: - From the stream

  /// Something came in, so many milliseconds after 1970.
  func append(_ content: EventHistory.Content, arrival: Int64) {
    if isUnmade { writeAnew() }
    guard segments.file != nil else { return }
    if frame.count >= HistoryFormat.frameTarget { handOver() }
    switch content {
    case .event(let tail): frame.event(tail, arrival: arrival)
    case .hole(let reason, let name): frame.write(.hole(arrival: arrival, reason, name: name))
    }
    segments.written.note(content, arrival: arrival)
    list()
  }

  /// An epoch has begun in the stream.
  func begin(_ span: EpochSpan) {
    guard segments.file != nil else { return }
    frame.write(.epoch(span.epoch, start: span.start))
    list()
  }

  /// What the upstream needs to go on may be something else now.
  func noteResumption() {
    guard resumption() != lastResumption else { return }
    if isUnmade { return writeAnew() }
    if segments.file != nil { list() }
  }

  private func list() {
    guard !isListed else { return }
    isListed = true
    logs.add(self)
  }

  // MARK: - To the disk

  /// Hands over what was gathered. To be called before any subscription is given any of it, and while no event is being
  /// delivered.
  func commit() {
    isListed = false
    handOver()
    guard mark == .stale else { return }
    mark = .left
    stream.beginEpoch()
  }

  private func handOver() {
    guard let file = segments.file else { return }
    let now = resumption()
    if now != lastResumption {
      frame.write(.resumption(now, target: identity.target))
      lastResumption = now
    }
    guard !frame.isEmpty else { return }
    do throws(StorageProblem) {
      try write(to: file)
      try turnOverIfFull()
    } catch { fail(error) }
  }

  private func write(to file: any HistoryFile) throws(StorageProblem) {
    frame.close(store.checksum)
    defer { frame.reset() }
    try reserve(segments.byteCount + frame.bytes.count)
    segments.written.all += frame.bytes.count
    try FreshSegment.append(frame.bytes, to: file)
  }

  /// A segment that alone holds as much as the history may begins another one; those before it go.
  private func turnOverIfFull() throws(StorageProblem) {
    guard rewriting == nil else { return }
    let written = segments.written
    let isFull = written.events >= settings.events || written.bytes >= settings.bytes
    // What is not counted as events, such as epochs of a link that flaps, must not make a file grow for ever either.
    let isLong = written.all / 2 >= max(settings.bytes, Self.segmentLimit)
    if isLong, segments.hasOlder { return writeAnew() }
    guard isLong || isFull && written.all >= Self.segmentLimit else { return }
    dropOlder()
    guard !segments.hasOlder else { return }
    try turnOver()
  }

  private func turnOver() throws(StorageProblem) {
    let end = stream.history.nextPlace
    var fresh = try make(isComplete: false)
    fresh.goOn(from: stream.history)
    let now = resumption()
    try fresh.finish(now, target: identity.target)
    try reserve(segments.byteCount + fresh.fill.all)
    try publish(fresh, now, behind: end)
  }

  /// How much of a history that goes on is written anew in one go, in bytes: that takes a millisecond or two.
  private static let portion = 256 << 10

  /// Writes all of the history as one new segment, and removes the others. What is long takes several turns of the
  /// loop.
  private func writeAnew() {
    if isUnmade { past = .takenOver }
    guard rewriting == nil else { return }
    do throws(StorageProblem) {
      try reserve(max(stream.history.byteCount, memory?.count ?? 0))
      rewriting = try make(isComplete: true)
    } catch { return fail(error) }
    writeOn()
  }

  private func writeOn(upTo limit: Int = portion) {
    do throws(StorageProblem) {
      guard try rewriting?.write(stream.history, upTo: limit) == true else {
        logs.timers.after(.zero) { [weak self] in
          if let self, !isClosed, rewriting != nil { writeOn() }
        }
        return
      }
      guard var fresh = rewriting else { return }
      rewriting = nil
      let now = resumption()
      try fresh.finish(now, target: identity.target)
      try replaceAll(by: fresh, now)
    } catch { fail(error) }
  }

  /// The last segment that counts is a complete one.
  private func replaceAll(by fresh: FreshSegment, _ resumption: Resumption?) throws(StorageProblem) {
    try reserve(max(fresh.fill.all, memory?.count ?? 0))
    try publish(fresh, resumption, behind: 0)
    segments.removeOlder()
    countFiles()
    mark = .sound
    guard problem != nil else { return }
    problem = nil
    logs.report(identity, .working)
  }

  /// A segment with its beginning.
  private func make(isComplete: Bool) throws(StorageProblem) -> FreshSegment {
    try FreshSegment(
      segments.nextID, HistoryHeader(identity, settings, boot: store.boot, isComplete: isComplete), in: store,
      now: logs.time.now, wall: logs.time.wallMilliseconds)
  }

  /// What was gathered for the segment before it is in this one, too.
  private func publish(_ fresh: FreshSegment, _ resumption: Resumption?, behind end: UInt64) throws(StorageProblem) {
    try segments.publish(fresh, behind: end)
    frame.reset()
    lastResumption = resumption
  }

  // MARK: - The memory of files that are in memory

  /// Has room for so many bytes in all of its files.
  private func reserve(_ bytes: Int) throws(StorageProblem) {
    guard let memory, !memory.change(to: bytes) else { return }
    throw .noHistoryMemory
  }

  private func countFiles() { memory?.set(segments.byteCount) }

  private func dropOlder() {
    segments.dropOlder(before: stream.history.oldestPlace)
    countFiles()
  }

  // MARK: - A disk in trouble

  /// What is on the disk must not be taken for all that there was, should the daemon die now. Where it cannot even be
  /// marked, the numbers from now on belong to another epoch, which the disk does not know: so none is used twice.
  private func fail(_ problem: StorageProblem) {
    segments.leaveFile()
    countFiles()
    rewriting = nil
    frame.reset()
    let unmarked = segments.mark()
    var told = problem
    for problem in unmarked { told.message += "; \(problem.message)" }
    if !unmarked.isEmpty, mark == .sound {
      mark = .stale
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
    guard segments.file != nil else { return tryAgain() }
    dropOlder()
    let oldest = logs.time.wallMilliseconds - settings.age.milliseconds
    let written = segments.written
    guard written.events > 0, written.first < oldest, !segments.hasOlder, rewriting == nil else { return }
    commit()
    do throws(StorageProblem) { if segments.file != nil { try turnOver() } } catch { fail(error) }
  }

  private func tryAgain() {
    switch past {
    case .unknown: begin()
    case .reading: break
    case .unmade, .takenOver: writeAnew()
    }
  }

  /// New bounds count from the next segment on.
  func adopt(_ settings: HistorySettings) { self.settings = settings }

  /// The end, in order. With the daemon's own end it is made sure that what was written can be trusted whatever happens
  /// to the machine; as long as it serves others it does not wait for a disk.
  func close(_ end: End) {
    isClosed = true
    if isReading { giveBackMemory() }
    // Where it is still being read nothing has changed, and nothing is to be said.
    guard !isUnmade, !isReadingPast else { return }
    // What still waits to be asked for what it has gathered may be asked when the stream is gone.
    defer { if mark == .stale { mark = .left } }
    noteResumption()
    commit()
    if segments.file == nil, rewriting == nil { tryAgain() }
    if rewriting != nil { writeOn(upTo: .max) }
    guard let file = segments.file else { return }
    frame.write(.end)
    do throws(StorageProblem) { try write(to: file) } catch { return fail(error) }
    segments.closeFile()
    if end == .daemon { file.sync() }
  }
}
