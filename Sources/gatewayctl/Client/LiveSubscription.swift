import GatewayCore

/// A subscription that outlives its connections to the daemon: after a loss it connects again and resumes behind the
/// last event that was handed out. It never waits by itself; `SubscriptionLoop` does.
final class LiveSubscription {
  /// What is asked for.
  struct Parameters: Equatable, Sendable {
    var target: Target
    /// Names or patterns; empty means every event.
    var events: [String]
    var resume: Resume?
    /// Messages that the daemon says to the server at every connect, and those that undo them, as raw JSON.
    var enters: [[UInt8]] = []
    var leaves: [[UInt8]] = []
    /// Receive the tokens of acknowledgements that the server waits for.
    var answers = false
    /// Go on when the daemon closes the connection.
    var reconnects = true
  }

  /// Where to begin.
  enum Resume: Equatable, Sendable {
    case since(Position)
    case last(Int)
  }

  /// An event's place: `seq` never repeats within an epoch.
  struct Position: Equatable, Sendable {
    var epoch: String
    var sequence: UInt64

    /// Bytes of an epoch that the local protocol takes.
    private static let epochLimit = 128
    /// The largest number that it takes.
    private static let sequenceLimit: UInt64 = 9_007_199_254_740_991

    init(epoch: String, sequence: UInt64) {
      self.epoch = epoch
      self.sequence = sequence
    }

    /// `--since EPOCH:SEQ`, as in the events that were printed; nil where it is not given.
    init?(_ arguments: Arguments) throws(Failure) {
      guard let text = arguments.value(.since) else { return nil }
      guard let colon = text.lastIndex(of: ":"), colon != text.startIndex,
        let sequence = UInt64(text[text.index(after: colon)...]), sequence <= Self.sequenceLimit,
        text[..<colon].utf8.count <= Self.epochLimit
      else {
        throw Failure(
          .usage,
          "--since: '\(ShownAddress.word(text))' is not EPOCH:SEQ; write epoch and seq of an event that was printed, such as e7:4101"
        )
      }
      self.init(epoch: String(text[..<colon]), sequence: sequence)
    }

    /// The member of `params` that names it.
    func write(into writer: inout JSONWriter) {
      writer.key("since")
      writer.beginObject()
      writer.key("epoch")
      writer.string(epoch)
      writer.key("seq")
      writer.integer(sequence)
      writer.endObject()
    }
  }

  /// What comes out of the stream, in order.
  enum Fact: Equatable, Sendable {
    case event(ReceivedEvent)
    /// A state of the connection, as a JSON object.
    case state([UInt8])
    case gap(ReceivedGap)
    /// What the daemon said to a call that was posted beside the stream; nil: it was done.
    case answer(call: Int, DaemonError?)
  }

  enum Phase: Equatable, Sendable {
    /// Not connected. Becomes `greeting` by an attempt.
    case down
    /// Connected; before a long call is sent the daemon says how long one may be. Becomes `subscribing`, or `down` again.
    case greeting
    /// The call with this id was sent. Becomes `live`, or `down` again.
    case subscribing(call: Int)
    /// Events flow to the subscription with this id. Becomes `down`.
    case live(subscription: String)
  }

  private let client: Client
  private let parameters: Parameters
  /// The files that the parameters are made of.
  private let inputs: InputFiles?
  private let diagnostics: Diagnostics
  /// How long reaching the daemon may take, each time.
  private let connectTimeout: Duration?
  private(set) var phase = Phase.down
  /// The last event that was handed out, or where the subscription began.
  private var position: Position?
  /// A subscription was live before.
  private var wasLive = false
  private var lastReason = ""
  /// Why the daemon said goodbye, if it did.
  private var goodbyeReason: String?
  private var schedule: RetrySchedule
  /// Set when the stream has said that it waits for the daemon.
  private var saidWaiting = false

  init(
    _ parameters: Parameters, from inputs: InputFiles? = nil, client: Client, diagnostics: Diagnostics,
    connectTimeout: Duration?
  ) {
    self.inputs = inputs
    self.parameters = parameters
    self.client = client
    self.diagnostics = diagnostics
    self.connectTimeout = connectTimeout
    schedule = RetrySchedule(connectTimeout: connectTimeout)
  }

  /// When `advance` has to be called even if nothing arrives.
  var wakeUp: Deadline {
    switch phase {
    case .down: .earlier(schedule.next, schedule.end)
    case .greeting, .subscribing: schedule.end
    case .live: .never
    }
  }

  /// Does what is due: the next attempt to reach the daemon, or giving up.
  func advance() throws(Failure) {
    switch phase {
    case .live: return
    case .greeting, .subscribing:
      guard schedule.end.hasPassed else { return }
      throw client.unanswered("subscribe")
    case .down:
      guard schedule.next.hasPassed || schedule.end.hasPassed else { return }
      try attempt()
    }
  }

  /// The error of a stream that had to end while the daemon was not reachable, or before it had ever answered; nil where
  /// there is none.
  var unreachable: Failure? {
    switch phase {
    case .down: client.unreachable(lastReason)
    case .greeting, .subscribing: wasLive ? nil : client.unanswered("subscribe", moreWith: .for)
    case .live: nil
    }
  }

  /// The oldest fact that was not handed out yet.
  func next() throws(Failure) -> Fact? {
    try subscribe()
    while let message = client.next() {
      if let fact = try take(message) { return fact }
    }
    if !client.isOpen, phase != .down { try lose() }
    return nil
  }

  // MARK: The daemon's comings and goings

  private func attempt() throws(Failure) {
    guard let reason = try client.attempt() else {
      phase = .greeting
      return try subscribe()
    }
    lastReason = reason
    guard !schedule.end.hasPassed else { throw client.unreachable(reason) }
    schedule.postpone()
    guard !wasLive, !saidWaiting, schedule.isLong else { return }
    saidWaiting = true
    diagnostics.notice("waiting for a daemon at \(client.path)")
  }

  /// Asks for the stream of a new connection; a call that no daemon is sure to take once this one has said what it takes.
  private func subscribe() throws(Failure) {
    guard phase == .greeting else { return }
    let params = Client.object(writeParameters)
    guard params.count <= LineLimit.least || client.isGreeted else { return client.write() }
    if let problem = client.problem(withLineOf: "subscribe", params, from: inputs) { throw problem }
    phase = .subscribing(call: client.post("subscribe", params))
    client.write()
  }

  private func lose() throws(Failure) {
    guard parameters.reconnects || !wasLive else {
      throw Failure(.unavailable, "the daemon closed the connection; without --no-reconnect it is waited for")
    }
    guard goodbyeReason != Self.kicked else {
      throw Failure(.refusedByDaemon, "an administrator has ended this connection; ask before subscribing again")
    }
    if case .live = phase {
      let reason = goodbyeReason.map { " (\($0))" } ?? ""
      diagnostics.notice("the daemon closed the connection\(reason); connecting again")
    }
    lastReason = "the daemon closed the connection"
    goodbyeReason = nil
    let wasStarting =
      switch phase {
      case .greeting, .subscribing: true
      case .down, .live: false
      }
    phase = .down
    schedule.begin(afterFailure: wasStarting)
  }

  /// The goodbye that is meant for good.
  private static let kicked = "kicked"

  private func writeParameters(into writer: inout JSONWriter) {
    parameters.target.write(into: &writer)
    if !parameters.events.isEmpty {
      writer.key("events")
      writer.beginArray()
      for event in parameters.events { writer.string(event) }
      writer.endArray()
    }
    for (name, messages) in [("enter", parameters.enters), ("leave", parameters.leaves)] where !messages.isEmpty {
      writer.key(name)
      writer.beginArray()
      for message in messages { writer.raw(message) }
      writer.endArray()
    }
    writer.key("state")
    writer.bool(true)
    if parameters.answers {
      writer.key("answer")
      writer.bool(true)
    }
    switch resume {
    case .since(let position): position.write(into: &writer)
    case .last(let count):
      writer.key("last")
      writer.integer(count)
    case nil: break
    }
  }

  /// After a loss behind the last event, at first as asked.
  private var resume: Resume? { wasLive ? position.map { .since($0) } : parameters.resume }

  // MARK: Messages

  private func take(_ message: Message) throws(Failure) -> Fact? {
    switch (message, phase) {
    case (.result(id: let id?, let result), .subscribing(let call)) where id == call: return try begin(result)
    case (.failure(id: let id?, let error), .subscribing(let call)) where id == call:
      try refuse(error)
      return nil
    case (.failure(id: nil, let error), _): throw error.failure
    case (.result(id: let id?, _), _): return .answer(call: id, nil)
    case (.failure(id: let id?, let error), _): return .answer(call: id, error)
    case (.notification(let method, let params), _):
      guard let members = RawJSONObject(params) else { return nil }
      return try take(method, members)
    case (.result(id: nil, _), _): return nil
    }
  }

  private func take(_ method: String, _ params: RawJSONObject) throws(Failure) -> Fact? {
    switch method {
    case "event":
      guard let event = ReceivedEvent(params, epoch: position?.epoch ?? "") else {
        throw Failure(.protocolMismatch, "the daemon sent an event without its parts; install the same version of both")
      }
      position = Position(epoch: event.epoch, sequence: event.sequence)
      return .event(event)
    case "state":
      // Only a gap moves the position into another epoch: the connection of a host may be behind the subscription.
      return .state(params.text(without: "subscription"))
    case "gap":
      let gap = ReceivedGap(params)
      if let epoch = gap.epoch { enter(epoch, after: gap.start) }
      if let last = gap.range?.upperBound, let now = position, last > now.sequence { position?.sequence = last }
      return .gap(gap)
    case "goodbye":
      schedule.comeBack(in: params.integer("reconnect_in").flatMap { Int64($0) }.map { .milliseconds($0) })
      goodbyeReason = params.string("reason") ?? "no reason given"
      return nil
    default: return nil
    }
  }

  /// Events from now on belong to this epoch, which begins behind a number.
  private func enter(_ epoch: String, after start: UInt64?) {
    if let start {
      position = Position(epoch: epoch, sequence: start)
    } else if position?.epoch != epoch {
      position = Position(epoch: epoch, sequence: position?.sequence ?? 0)
    }
  }

  /// The subscription is live: says whether anything was missed, and hands out the state.
  private func begin(_ result: [UInt8]) throws(Failure) -> Fact? {
    guard let members = RawJSONObject(result), let subscription = members.string("subscription") else {
      throw Failure(.protocolMismatch, "the daemon's answer has no subscription; install the same version of both")
    }
    let asked = resume
    let again = wasLive
    phase = .live(subscription: subscription)
    schedule = RetrySchedule(connectTimeout: connectTimeout)
    wasLive = true
    let recovered = members["recovered"] == Array("true".utf8)
    if let epoch = members.string("epoch") {
      let sequence = members.integer("seq").flatMap { UInt64($0) } ?? 0
      if case .since(let position) = asked {
        // Events of its own epoch come first; a gap tells where another one begins.
        self.position = position
      } else {
        // As long as nothing of a replay is here, all of it would have to come again.
        let replayed = members.integer("replayed").flatMap { Int($0) } ?? 0
        position = Position(
          epoch: members.string("first_epoch") ?? epoch, sequence: replayed > 0 ? 0 : sequence)
      }
    }
    if again { diagnostics.notice(recovered ? "connected again where it was" : "connected again") }
    if again, asked == nil { return .gap(ReceivedGap(reason: "restart")) }
    return .state(snapshot(members))
  }

  /// The state that the subscription found, as a `state` notification would have said it.
  private func snapshot(_ members: RawJSONObject) -> [UInt8] {
    let upstream = members["upstream"].flatMap { RawJSONObject($0) }
    return Client.object { writer in
      for key in ["state", "epoch", "attempt", "in", "reason", "detail", "status"] {
        guard let value = members[key] ?? upstream?[key], value != Array("null".utf8) else { continue }
        writer.key(key)
        writer.raw(value)
      }
    }
  }

  /// The daemon does not want to: final at first, later only if it says that trying again is futile.
  private func refuse(_ error: DaemonError) throws(Failure) {
    guard wasLive, error.retry else { throw error.failure }
    lastReason = error.message
    client.close()
    phase = .down
    schedule.begin(afterFailure: true)
  }
}
