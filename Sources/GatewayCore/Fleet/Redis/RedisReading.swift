/// Reads a fleet's streams on, on a connection of its own: one XREAD over all of them, which waits for as long as there is
/// nothing. What is to be read may change meanwhile: then the command connection ends the waiting.
final class RedisReading {
  /// A receiver of a stream, and how far it has heard.
  private final class Reader {
    let key: FleetKey
    weak var receiver: (any FleetEngineReceiver)?
    var position: FleetPosition
    /// Whether it has to hear that it has all that there was: once, and again when a refusal is over.
    var awaitsEnd = true
    /// Nothing is told any more.
    var isOver = false

    init(_ key: FleetKey, _ receiver: any FleetEngineReceiver, after position: FleetPosition) {
      self.key = key
      self.receiver = receiver
      self.position = position
    }
  }

  private enum State {
    /// Nothing is asked. May become `asking` or `over`.
    case idle
    /// Nothing is asked until then. May become `asking` or `over`.
    case resting(Timers.ID)
    /// May become `idle`, `asking` again, or `over`.
    case asking(Question)
    /// Nothing is told any more.
    case over
  }

  /// One XREAD, and how far its answer has come.
  private struct Question {
    let number: UInt64
    /// In the order in which the server goes through them.
    var streams: [Stream]
    /// Its answer may take as long as it likes.
    let waits: Bool
    let asked: MonotonicInstant
    /// Which of the streams comes; nil before the first one.
    var at: Int?
    /// How many entries of it have come.
    var entries = 0
    /// A stream did not come to its end. What comes of those behind it may be younger than what is left of it, and is
    /// read again.
    var isCut = false
    /// UNBLOCK was sent to end it.
    var isEnded = false
    /// The server will not answer it.
    var isRefused = false

    var places: Set<FleetPlace> { Set(streams.map(\.key.place)) }
    var subject: RedisPipeline.Subject? {
      let keys = streams.map(\.key)
      return keys.first.map { .init(call: "XREAD", key: $0, others: keys.dropFirst()) }
    }
  }

  /// A key, and its receivers.
  private struct Stream {
    let key: FleetKey
    let readers: [Reader]
    /// All that was in it has come.
    var isAtEnd = true

    /// Behind which all of them have heard nothing.
    var position: FleetPosition { readers.lazy.map(\.position).min() ?? .start }
  }

  private let connection: RedisConnection
  private let calls: RedisPipeline
  private let timers: Timers
  private let settings: RedisSettings
  /// Told when the connection is worth nothing.
  private let lose: (RedisTrouble) -> Void
  private var readers: [Reader] = [] {
    didSet { streams = nil }
  }
  /// What is asked for; nil when that has to be found out.
  private var streams: [Stream]?
  /// Upstreams of which something cannot be read, until they are tried again.
  private var aside: Set<FleetPlace> = [] {
    didSet { streams = nil }
  }
  /// Upstreams that are asked for alone, one after the other, because something of one of them may not be readable.
  private var alone: [FleetPlace] = [] {
    didSet { streams = nil }
  }
  private var state = State.idle
  private var nextNumber: UInt64 = 1
  /// How soon it asks again.
  var pace = RedisPace()
  /// Looks at what is to be read now.
  private var change: Timers.ID?
  /// Entries of one stream that are told together.
  private var gathered: [FleetRecord] = []
  private var lastWord: MonotonicInstant
  private var quietTimer: Timers.ID?

  init(
    on connection: RedisConnection, _ calls: RedisPipeline, timers: Timers, settings: RedisSettings,
    lose: @escaping (RedisTrouble) -> Void
  ) {
    self.connection = connection
    self.calls = calls
    self.timers = timers
    self.settings = settings
    self.lose = lose
    lastWord = timers.now
    watchQuiet()
  }

  deinit { timers.cancel(quietTimer) }

  private var isOver: Bool {
    if case .over = state { true } else { false }
  }

  /// Nothing is told any more.
  func end() {
    if case .resting(let timer) = state { timers.cancel(timer) }
    state = .over
    for reader in readers { reader.isOver = true }
    readers = []
    gathered = []
    timers.cancel(quietTimer)
  }

  func read(_ key: FleetKey, after position: FleetPosition, for receiver: any FleetEngineReceiver) {
    stop { $0.key == key && $0.receiver === receiver }
    readers.append(Reader(key, receiver, after: position))
    lookSoon()
  }

  func readNoMore(_ key: FleetKey, for receiver: any FleetEngineReceiver) {
    stop { $0.key == key && $0.receiver === receiver }
  }

  func remove(_ receiver: any FleetEngineReceiver) {
    stop { $0.receiver == nil || $0.receiver === receiver }
  }

  private func stop(_ isMeant: (Reader) -> Bool) {
    for reader in readers where isMeant(reader) { reader.isOver = true }
    readers.removeAll { $0.isOver }
  }

  /// What is to be read is another: at the end of the turn, once for all changes of it.
  private func lookSoon() {
    guard change == nil else { return }
    change = timers.after(.zero) { [weak self] in
      guard let self else { return }
      change = nil
      switch state {
      case .idle: ask()
      case .resting(let timer):
        timers.cancel(timer)
        ask()
      case .asking: endWaiting()
      case .over: break
      }
    }
  }

  // MARK: - Asking

  private func ask() {
    if readers.contains(where: { $0.receiver == nil }) { stop { $0.receiver == nil } }
    let streams = self.streams ?? findStreams()
    self.streams = streams
    guard !streams.isEmpty else { return state = .idle }
    let waits = alone.isEmpty && !streams.contains { $0.readers.contains { $0.awaitsEnd } }
    let question = Question(number: nextNumber, streams: streams, waits: waits, asked: timers.now)
    nextNumber += 1
    state = .asking(question)
    // The list of streams, of each its name and its entries, of these each.
    connection.ask(opening: 3, isPatient: question.waits) {
      write(question, &$0)
    } _: { [unowned self] nodes, bytes, isLast in
      take(nodes, bytes, isLast)
    }
  }

  private func findStreams() -> [Stream] {
    let present = Set(readers.map(\.key.place))
    if alone.contains(where: { !present.contains($0) }) { alone.removeAll { !present.contains($0) } }
    let first = alone.first
    let readers = self.readers.filter { reader in
      if let first { reader.key.place == first } else { !aside.contains(reader.key.place) }
    }
    var streams: [Stream] = []
    for reader in readers where !streams.contains(where: { $0.key == reader.key }) {
      streams.append(Stream(key: reader.key, readers: readers.filter { $0.key == reader.key }))
    }
    return streams
  }

  private func write(_ question: Question, _ writer: inout RESPWriter) {
    writer.write("XREAD") {
      $0.append("COUNT" as StaticString)
      $0.append(settings.readLimit)
      if question.waits {
        $0.append("BLOCK" as StaticString)
        $0.append(0)
      }
      $0.append("STREAMS" as StaticString)
      for stream in question.streams { $0.append(stream.key.text) }
      for stream in question.streams { $0.append(stream.position) }
    }
  }

  // MARK: - Ending the waiting

  /// Nothing may have come for long, or something else is to be read.
  private func endWaiting() {
    guard case .asking(var question) = state, question.waits, !question.isEnded else { return }
    question.isEnded = true
    state = .asking(question)
    let number = question.number
    unblock(number)
    timers.after(settings.answerLimit) { [weak self] in
      guard let self, isWaiting(number) else { return }
      lose(.silent(settings.answerLimit))
    }
  }

  private func isWaiting(_ number: UInt64) -> Bool {
    guard case .asking(let question) = state else { return false }
    return question.number == number
  }

  private func unblock(_ number: UInt64) {
    guard let client = connection.server?.client else { return }
    calls.ask {
      $0.write("CLIENT") {
        $0.append("UNBLOCK" as StaticString)
        $0.append(client)
      }
    } _: { [weak self] reply in
      guard let self, isWaiting(number) else { return }
      switch reply {
      case nil, .value(.integer(1)), .uncopied: break
      // The question has not come to the server, or the answer not to us.
      case .value:
        timers.after(Self.unblockRest) { [weak self] in
          guard let self, isWaiting(number) else { return }
          unblock(number)
        }
      case .error(let error): lose(.forbidden(error.text))
      }
    }
  }

  /// How it is named where it is refused.
  static let call = "XREAD"
  private static let unblockRest: Duration = .milliseconds(2)

  /// A connection that waits says nothing, also when it is dead.
  private func watchQuiet() {
    quietTimer = timers.at(lastWord + settings.quietLimit) { [weak self] in
      guard let self, !isOver else { return }
      defer { watchQuiet() }
      guard timers.now - lastWord >= settings.quietLimit else { return }
      lastWord = timers.now
      switch state {
      case .asking: endWaiting()
      case .idle: connection.ask({ $0.write("PING") }, { _, _, _ in nil })
      case .resting, .over: break
      }
    }
  }

  // MARK: - Answers

  private func take(_ nodes: [RESPNode], _ bytes: RawSpan, _ isLast: Bool) -> RedisTrouble? {
    lastWord = timers.now
    guard !isOver else { return nil }
    guard case .asking(var question) = state else { return .senseless("entries that nobody asked for") }
    switch nodes.first {
    case .error(let range)?:
      let error = RedisError(bytes.extracting(range))
      switch error.meaning {
      case .wrongServer(let trouble): return trouble
      case .fenced, .passed, .unknownScript: return .senseless(error.text)
      case .refused: break
      }
      question.isRefused = true
      refused(question, error)
    // Nothing, or the waiting was ended.
    case .null?: break
    case .bulk(let name)?:
      endStream(&question)
      guard !isOver else { return nil }
      question.at = question.streams.firstIndex { bytes.extracting(name).equals($0.key.text) }
      guard let at = question.at else { return .senseless("a stream that nobody asked for") }
      question.streams[at].isAtEnd = !question.isCut
    case .array?:
      guard question.at != nil, let record = FleetRecord(nodes, bytes) else {
        return .senseless("no entry of a stream")
      }
      guard record.position.isPlausible else {
        // It is not passed over: what the holder says afterwards would stand before it.
        if !question.isRefused {
          refused(question, RedisError("ERR it has an entry at \(record.position), where no host puts one"))
        }
        question.isRefused = true
        break
      }
      question.entries += 1
      if !question.isCut, !question.isRefused { gathered.append(record) }
    case .simple?, .integer?, nil: return .senseless("no entry of a stream")
    }
    guard !isOver else { return nil }
    state = .asking(question)
    if isLast { endAnswer(question) }
    return nil
  }

  /// Which of several upstreams it is about is not said: each is asked for alone. The one that it is about is tried again
  /// later, and the others go on.
  private func refused(_ question: Question, _ error: RedisError) {
    let places = question.places
    guard places.count == 1, let place = places.first else {
      return alone = Array(places)
    }
    alone.removeAll { $0 == place }
    aside.insert(place)
    if let subject = question.subject { calls.note(error, subject) }
    for reader in readers where reader.key.place == place && !reader.isOver {
      reader.awaitsEnd = true
      reader.receiver?.engineRefusedReading(of: reader.key)
    }
    timers.after(Self.asideTime) { [weak self] in
      guard let self, !isOver, aside.remove(place) != nil else { return }
      alone.append(place)
      lookSoon()
    }
  }

  private static let asideTime: Duration = .seconds(1)

  /// All that came of a stream has come.
  private func endStream(_ question: inout Question) {
    tellGathered(question)
    if let at = question.at, question.entries >= settings.readLimit, !question.isCut {
      question.isCut = true
      question.streams[at].isAtEnd = false
    }
    question.entries = 0
  }

  private func endAnswer(_ question: Question) {
    var question = question
    endStream(&question)
    guard !isOver else { return }
    guard !question.isRefused else { return ask() }
    if let place = alone.first, question.places == [place] {
      alone.removeFirst()
      if let subject = question.subject { calls.noteDone(subject) }
    }
    for stream in question.streams where stream.isAtEnd {
      for reader in stream.readers where reader.awaitsEnd && !reader.isOver {
        reader.awaitsEnd = false
        reader.receiver?.engineReachedEnd(of: stream.key)
      }
    }
    guard !isOver else { return }
    let due = question.asked + pace.rest
    if question.waits, change == nil, due > timers.now {
      state = .resting(timers.at(due) { [weak self] in if let self, !isOver { ask() } })
    } else {
      // What was told reaches its programs first: the next question wakes the server, which may need their processor.
      state = .idle
      lookSoon()
    }
  }

  /// The others have their turn: what there is is told.
  func rest() {
    if case .asking(let question) = state { tellGathered(question) }
  }

  private func tellGathered(_ question: Question) {
    guard let at = question.at, let last = gathered.last else { return }
    let records = gathered
    gathered = []
    let stream = question.streams[at]
    for reader in stream.readers where !reader.isOver && reader.position < last.position {
      let position = reader.position
      reader.position = last.position
      let isAllNew = records.first.map { $0.position > position } ?? true
      reader.receiver?.engineRead(isAllNew ? records : records.filter { $0.position > position }, of: stream.key)
    }
  }
}

extension FleetRecord {
  /// From an entry: its position, and names and values in turn.
  init?(_ nodes: [RESPNode], _ bytes: RawSpan) {
    guard nodes.count >= 3, nodes[0] == .array(2), case .bulk(let id) = nodes[1], case .array(let count) = nodes[2],
      count.isMultiple(of: 2), nodes.count == count + 3, let position = FleetPosition(bytes.extracting(id))
    else { return nil }
    var fields = FleetFields()
    for at in stride(from: 3, to: nodes.count, by: 2) {
      guard case .bulk(let name) = nodes[at], case .bulk(let value) = nodes[at + 1] else { return nil }
      fields.add(
        bytes.extracting(name).withUnsafeBytes { String(decoding: $0, as: UTF8.self) },
        bytes.extracting(value).withUnsafeBytes { [UInt8]($0) })
    }
    self.init(position: position, fields: fields)
  }
}

extension RawSpan {
  fileprivate func equals(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { text in
      text.count == byteCount && withUnsafeBytes { $0.elementsEqual(UnsafeRawBufferPointer(text)) }
    }
  }
}
