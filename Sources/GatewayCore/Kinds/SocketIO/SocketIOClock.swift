/// The looks of one channel at its server's clock: at events that tell the time, and at the answers to questions of its
/// own. It asks a few times soon after the joining, because the shortest round trip decides, and then every so often.
final class SocketIOClock {
  /// How many questions follow each other quickly, and how quickly.
  static let openingQuestions = 4
  static let openingPause: Duration = .seconds(1)
  /// A question without an answer is given up after so long.
  static let answerLimit: Duration = .seconds(10)

  private struct Question {
    var id: UInt64
    var asked: MonotonicInstant
  }

  private let settings: ServerTimeSettings
  private let channel: LightReference<SocketIOChannel>
  private let timers: Timers
  private let time: any TimeSource
  /// The name of the configured event as JSON text.
  private let eventName: [UInt8]?
  /// What the server tells this channel, it cannot have written down earlier.
  private let joined: MonotonicInstant
  private var question: Question?
  private var questions = 0
  private var timer: Timers.ID?

  /// Nil where nothing is configured.
  init?(_ settings: ServerTimeSettings, channel: SocketIOChannel, timers: Timers, time: any TimeSource) {
    guard settings.event != nil || settings.request != nil else { return nil }
    self.settings = settings
    self.channel = channel.reference
    self.timers = timers
    self.time = time
    joined = time.now
    eventName = settings.event.map { name in
      var writer = JSONWriter()
      writer.string(name)
      return writer.bytes
    }
  }

  deinit { timers.cancel(timer) }

  // MARK: - Events

  /// What an event tells about the server's clock; nil for events that tell nothing. `name` and `arguments` as in
  /// `UpstreamChannelOwner`. How long it was on its way is not known: not longer, it is assumed, than the last measured
  /// round trip, and without one not longer than the namespace has been entered.
  func sample(_ name: RawSpan, _ arguments: RawSpan, roundTrip: Duration?) -> ClockSample? {
    guard let eventName, isNamed(name, eventName), let shown = ServerInstant.find(in: arguments, settings) else {
      return nil
    }
    let heard = time.now
    let earliest = roundTrip.map { max(joined, heard + (.zero - $0)) } ?? joined
    return ClockSample(.event, shown: shown, notBefore: min(earliest, heard), notAfter: heard)
  }

  private func isNamed(_ name: RawSpan, _ expected: [UInt8]) -> Bool {
    if name.byteCount == expected.count, name.withUnsafeBytes({ $0.elementsEqual(expected) }) { return true }
    guard name.byteCount <= 6 * expected.count, JSONScanner.byte(name, 0) == UInt8(ascii: "\""),
      JSONScanner.hasEscape(name, 0..<name.byteCount)
    else {
      return false
    }
    return settings.event.isExactly(JSONScanner.decodeString(name, 0..<name.byteCount))
  }

  // MARK: - Questions

  /// The namespace is joined.
  func start() {
    if settings.request != nil { ask() }
  }

  private func ask() {
    guard let channel = channel.object, let event = settings.request else { return }
    let asked = time.now
    // A question that waits would only measure how long it does.
    guard let id = channel.ask(event) else { return wait(Self.openingPause) }
    question = Question(id: id, asked: asked)
    questions += 1
    timers.cancel(timer)
    timer = timers.after(min(Self.answerLimit, settings.every)) { [weak self] in self?.giveUp() }
  }

  private func giveUp() {
    question = nil
    wait(settings.every)
  }

  /// Whether an acknowledgement answers the present question.
  func awaits(_ id: UInt64) -> Bool { question?.id == id }

  /// The answer to the present question; nil for one without a time in it.
  func answered(_ arguments: RawSpan) -> ClockSample? {
    guard let question else { return nil }
    self.question = nil
    let heard = time.now
    let sample = ServerInstant.find(in: arguments, settings).flatMap {
      ClockSample(.request, shown: $0, notBefore: question.asked, notAfter: heard)
    }
    let isOpening = sample != nil && questions < Self.openingQuestions
    wait(isOpening ? min(Self.openingPause, settings.every) : settings.every)
    return sample
  }

  private func wait(_ delay: Duration) {
    timers.cancel(timer)
    timer = timers.after(delay) { [weak self] in self?.ask() }
  }
}
