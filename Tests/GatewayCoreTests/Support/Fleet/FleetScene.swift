@testable import GatewayCore

/// One host of a fleet, a store, and a clock that stands still until it is moved.
final class FleetScene {
  let time = FakeTime()
  let timers: Timers
  let store = FleetStore()
  let engine: FleetMemoryEngine
  let settings: FleetSettings
  /// Another host's words come by this one.
  let other: FleetMemoryEngine

  init(delay: ClosedRange<Int64> = 0...0) {
    timers = Timers(time: time)
    engine = FleetMemoryEngine(store, network: timers, random: FakeRandom())
    other = FleetMemoryEngine(store, network: timers, random: FakeRandom())
    settings = FleetSettings(place: FleetPlace(fleet: "f", upstream: "u"), host: "a")
    engine.begin()
    other.begin()
    settle()
    engine.way.delay = delay
  }

  var place: FleetPlace { settings.place }

  /// Does what is due now.
  func settle() { while timers.nextDeadline.map({ $0 <= time.now }) ?? false { timers.fire() } }

  /// The same. Returns how often one turn asked something of the engine at most.
  func settleCountingCalls() -> Int {
    var most = 0
    while timers.nextDeadline.map({ $0 <= time.now }) ?? false {
      let before = engine.asked
      timers.fire()
      most = max(most, engine.asked - before)
    }
    return most
  }

  func turn(by duration: Duration) {
    let end = time.now + duration
    while let next = timers.nextDeadline, next <= end {
      if next > time.now { time.advance(by: next - time.now) }
      timers.fire()
    }
    if time.now < end { time.advance(by: end - time.now) }
  }

  /// A step of another host, done at once.
  @discardableResult
  func run<Step: FleetStep>(_ step: Step) -> Step.Result? {
    guard case .reply(let reply) = store.run(Step.name, step.keys, step.arguments) else { return nil }
    return Step.result(reply)
  }

  /// The lease is taken by another host, as it is.
  @discardableResult
  func take(_ host: String) -> FleetOwn {
    let own = store.text(place.key(.lease), "own") ?? ""
    let beat = store.text(place.key(.lease), "beat") ?? ""
    let step = FleetTake(place: place, host: host, seen: FleetSight(own: own, beat: beat), run: store.run)
    let taken = run(step).flatMap { $0 }
    return FleetOwn(term: taken?.term ?? 0, host: host)
  }

  @discardableResult
  func open(_ own: FleetOwn, epoch: String = "e1", sequence: UInt64 = 0) -> UInt64 {
    run(FleetOpen(place: place, own: own, run: store.run, epoch: epoch, sequence: sequence))?.conversation ?? 0
  }

  func say(_ position: FleetPosition, _ text: String, epoch: String? = nil) {
    _ = store.append(Self.event(text, epoch: epoch).fields, to: place.key(.events), at: position)
  }

  static func event(_ text: String, epoch: String? = nil, offset: String? = nil) -> FleetEntry {
    let head = FleetEvent.Head(time: 1, epoch: epoch, offset: offset)
    return .event(FleetEvent(head: head, name: Array("\"e\"".utf8), arguments: Array("\"\(text)\"".utf8), kwargs: nil))
  }

  /// The word that an event has as its argument.
  static func word(_ arguments: [UInt8]) -> String {
    String(decoding: arguments.filter { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
  }

  /// What is in the stream of events, as words.
  var events: [String] {
    store.records(of: place.key(.events), after: .start).map { record in
      switch FleetEntry(record.fields) {
      case .event(let event): "\(record.position) \(Self.word(event.arguments))"
      case .marker(let marker): "\(record.position) \(marker.kind)"
      case .dropped, .tooLong, nil: "\(record.position) ?"
      }
    }
  }
}

/// Writes down what a channel tells.
final class FleetOwner: UpstreamChannelOwner {
  private(set) var heard: [String] = []
  private var place: EventPlace?
  /// How often all that there was had been told.
  private(set) var pasts = 0
  /// Kept for as long as another is not dialled.
  var channel: (any UpstreamChannel)?
  /// What it does as soon as one has ended.
  var onEnd: () -> Void = {}

  func takeAll() -> [String] {
    defer { heard = [] }
    return heard
  }

  func channelOpened(_ channel: any UpstreamChannel) { heard.append("opened") }
  func channelEnded(_ channel: any UpstreamChannel, _ failure: UpstreamFailure) {
    heard.append("ended: \(failure.reason.rawValue), \(failure.detail)")
    onEnd()
  }
  func channel(_ channel: any UpstreamChannel, at place: EventPlace) { self.place = place }
  func channel(_ channel: any UpstreamChannel, waitsFor failure: UpstreamFailure) {
    heard.append("waits: \(failure.reason.rawValue), \(failure.detail)")
  }
  func channelToldPast(_ channel: any UpstreamChannel) { pasts += 1 }
  func channel(
    _ channel: any UpstreamChannel, receivedEvent name: RawSpan, arguments: RawSpan, kwargs: RawSpan?, ack: UInt64?
  ) {
    let text = FleetScene.word(arguments.withUnsafeBytes { Array($0) })
    let question = ack.map { " asks \($0)" } ?? ""
    heard.append("\(place?.epoch ?? "?")/\(place?.sequence ?? 0) \(text)\(question)")
    place = nil
  }
  func channel(_ channel: any UpstreamChannel, dropped event: DroppedEvent) {
    heard.append("dropped \(event.reason.rawValue)")
  }
  func channel(_ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan, kwargs: RawSpan?) {
    heard.append("acknowledged \(id)")
  }
  func channel(_ channel: any UpstreamChannel, refused write: UnconfirmedWrite, _ problem: MessageProblem) {
    heard.append("refused \(write): \(problem.clause)")
  }
  func channelHasNewCredentials(_ channel: any UpstreamChannel) {}
}

/// A server that takes messages when the test says so.
final class FleetSink: UpstreamConnector, UpstreamChannel {
  private(set) var written: [String] = []
  private(set) var forgotten: [UInt64] = []
  private(set) weak var owner: (any UpstreamChannelOwner)?
  /// Bytes that its machine has not acknowledged.
  var unsentBytes = 0
  /// What each message adds to them.
  var cost = 0
  private(set) var limit: MonotonicInstant?

  func takeAll() -> [String] {
    defer { written = [] }
    return written
  }

  let kind = "sink"
  let partsLimit = Int.max
  let hosts: [String] = []
  var route: DialRequest { fatalError("nothing is examined here") }
  var observer: (any UpstreamObserver)?
  func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    PreparedMessage(event: draft.event, body: draft.args)
  }
  func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage {
    PreparedMessage(event: "", body: draft.args)
  }
  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    message.body.count > 100 ? .tooLarge(limit: 100, size: message.body.count) : nil
  }
  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    self.owner = owner
    return self
  }

  func write(_ message: PreparedMessage, ack: UInt64?) {
    written.append(String(decoding: message.body, as: UTF8.self) + (ack == nil ? "" : " acknowledged"))
    if let ack { acks.append(ack) }
    unsentBytes += cost
  }
  func open() { owner?.channelOpened(self) }
  private(set) var acks: [UInt64] = []
  func acknowledge(_ ack: UInt64) {
    let answer = Array("1".utf8)
    owner?.channel(self, acknowledged: ack, arguments: answer.span.bytes)
  }

  func answer(_ id: UInt64, _ message: PreparedMessage) { written.append("answer \(id)") }
  func decline(_ id: UInt64, _ why: AnswerAbsence) -> Bool {
    written.append("decline \(id)")
    return true
  }
  func want(_ interest: Interest) { written.append("want \(interest)") }
  func drop(_ interest: Interest) { written.append("drop \(interest)") }
  func forget(ack: UInt64) { forgotten.append(ack) }
  func checkHeartbeat() {}
  func verify() {}
  func close() { written.append("close") }
  func mayWrite(until limit: MonotonicInstant) { self.limit = limit }
  var isCongested: Bool { false }
  func repeatsCredentials(_ failure: UpstreamFailure) -> Bool { false }
  var facts: ChannelFacts { ChannelFacts(link: "sink") }
}
