/// Decides everything between a program's calls and the daemon's socket: when to connect, which call is written when, what
/// is made again after a loss, and how each call ends. It does no input or output and knows no clock: the time comes in with
/// each fact, and what is to be done goes out as actions.
struct ClientMachine: Sendable {
  typealias Instant = ContinuousClock.Instant

  enum Action: Sendable, Equatable {
    /// Open the socket, and say how that went: `dialed`.
    case dial
    case write([UInt8])
    /// Close the socket. `lost` is not expected after it.
    case hangUp
    /// The call is over.
    case settle(CallID, Result<RawObject, GatewayError>)
    /// A part of its answer.
    case progress(CallID, RawObject)
    /// The subscription has something for its readers, or has ended.
    case offer(SubscriptionID)
  }

  /// The connection to the daemon.
  enum Link: Sendable, Equatable {
    /// Nothing needs it; becomes `greeting` or `pausing`.
    case idle
    /// An attempt is due at that time, and when it fails the next one after that pause; becomes `greeting` or `idle`.
    case pausing(until: Instant, next: Duration)
    /// The socket is open, and `hello` is not answered; becomes `open` or `pausing`.
    case greeting(until: Instant, next: Duration)
    /// Becomes `pausing` or `idle`.
    case open
    /// Closed by the program, or by an administrator: for ever.
    case ended(GatewayError)
  }

  /// What `hello` is asked with.
  static let protocolVersion = 1
  private static let helloID: CallID = 0

  let path: String
  private let name: String
  private let connectTimeout: Duration
  private var jitter: Jitter

  private(set) var link = Link.idle
  /// What the daemon said of itself, while it is connected.
  private(set) var hello: RawObject?
  private var lineLimit: Int?
  /// The daemon takes longer messages in parts.
  private var takesParts = false
  private var inflightLimit = 1
  private var goodbye: RawObject?
  /// What ended the connection, where the daemon said it as an error without a call.
  private var fault: GatewayError?
  private var wasConnected = false
  /// Why the daemon cannot be used now: the error of a call whose time is over meanwhile.
  private var lastFailure: GatewayError?
  /// The daemon takes no new work until then.
  private var drainEnd: Instant?

  private var calls = CallLedger(behind: helloID)
  private var subscriptions: [SubscriptionID: SubscriptionMachine] = [:]
  private var lastSubscription = 0

  private var actions: [Action] = []
  /// No deadline is earlier but those of calls.
  private var nextEvent: Instant?

  init(path: String, name: String, connectTimeout: Duration, seed: UInt64) {
    self.path = path
    self.name = name
    self.connectTimeout = connectTimeout.bounded
    jitter = Jitter(seed: seed)
  }

  /// When `tick` is due; nil: never, as it is now.
  var nextDeadline: Instant? { [nextEvent, calls.nextDeadline].compactMap { $0 }.min() }

  /// Whether something needs the daemon.
  private var isWanted: Bool { subscriptions.values.contains { !$0.isOver } || calls.isWaitedFor }

  /// Closed, by whomever: nothing ever happens again.
  var isOver: Bool { if case .ended = link { true } else { false } }

  // MARK: What the program does

  /// Makes a call, which ends with `settle`.
  mutating func submit(_ call: Call, now: Instant) -> (CallID, [Action]) {
    let id = add(call, now: now)
    flush(now: now)
    connectIfWanted(now: now)
    return (id, performed())
  }

  /// Nobody waits for the call any more: it is taken back, and not settled.
  mutating func withdraw(_ id: CallID, now: Instant) -> [Action] {
    guard let call = calls[id] else { return [] }
    abandon(id)
    if case .beginning(let subscription) = call.owner { drop(subscription) }
    return performed()
  }

  /// Makes a subscription; the call that is returned is its first `subscribe`.
  mutating func subscribe(_ options: SubscribeOptions, now: Instant) -> (SubscriptionID, CallID, [Action]) {
    lastSubscription += 1
    let id = lastSubscription
    subscriptions[id] = SubscriptionMachine(name: "s\(id)", options: options)
    let (call, actions) = submit(subscribeCall(id, .beginning(id)), now: now)
    return (id, call, actions)
  }

  /// The next item of a subscription.
  mutating func take(_ id: SubscriptionID) -> (SubscriptionMachine.Taken, [Action]) {
    guard let taken = subscriptions[id]?.take() else { return (.end(nil), []) }
    if case .end = taken { subscriptions[id] = nil }
    grant(id)
    return (taken, performed())
  }

  func position(of id: SubscriptionID) -> Position? { subscriptions[id]?.position }

  /// Ends a subscription. What its program has not taken is dropped.
  mutating func unsubscribe(_ id: SubscriptionID) -> [Action] {
    guard subscriptions[id] != nil else { return [] }
    drop(id)
    actions.append(.offer(id))
    return performed()
  }

  /// Ends everything.
  mutating func close() -> [Action] {
    end(GatewayError(.closed, "this client was closed", retry: false))
    return performed()
  }

  // MARK: What happens

  /// The answer to `dial`.
  mutating func dialed(_ error: GatewayError?, now: Instant) -> [Action] {
    guard case .greeting(_, let next) = link else { return performed() }
    if let error {
      refuse(error, next: next, now: now)
    } else {
      var params = Params()
      params["client"] = .string(name)
      params["protocol"] = .number(JSONNumber(Self.protocolVersion))
      actions.append(.write(line("hello", params.text, id: Self.helloID)))
    }
    return performed()
  }

  /// A line came, without its end.
  mutating func received(_ line: [UInt8], now: Instant) -> [Action] {
    switch link {
    case .idle, .pausing, .ended: break
    case .greeting, .open:
      guard let message = try? RawObject(line), message.string("jsonrpc") == "2.0" else {
        fail(noGateway, now: now)
        break
      }
      if let method = message.string("method") {
        hear(method, message.object("params"), now: now)
      } else if let id = message.int("id") {
        answered(id, message, now: now)
      } else {
        // Said of a line, whose call waits in vain, or of the client as a whole: the connection is over with it.
        fail(message.object("error").map { GatewayError(answer: $0) } ?? noGateway, now: now)
      }
    }
    return performed()
  }

  /// The daemon sent a line without end.
  mutating func overflowed(now: Instant) -> [Action] {
    fail(noGateway, now: now)
    return performed()
  }

  /// The daemon closed the connection.
  mutating func lost(now: Instant) -> [Action] {
    lose(now: now)
    return performed()
  }

  /// Time has passed.
  mutating func tick(now: Instant) -> [Action] {
    guard let earliest = nextDeadline, earliest <= now else { return [] }
    nextEvent = nil
    for (id, call) in calls.expired(now: now) { expire(id, call, now: now) }
    if let end = drainEnd {
      if end <= now {
        drainEnd = nil
        flush(now: now)
      } else {
        note(end)
      }
    }
    for id in subscriptions.keys.sorted() { retry(id, now: now) }
    switch link {
    case .pausing(let end, let next) where end <= now:
      link = .idle
      if isWanted { dial(next: next, now: now) }
    case .greeting(let end, let next) where end <= now:
      actions.append(.hangUp)
      refuse(
        GatewayError(.daemonUnavailable, "the daemon at \(path) does not answer", retry: true), next: next, now: now)
    case .pausing(let end, _), .greeting(let end, _): note(end)
    case .idle, .open, .ended: break
    }
    return performed()
  }

  // MARK: Calls

  private mutating func add(_ call: Call, now: Instant) -> CallID {
    guard case .ended(let error) = link else { return calls.add(call, now: now) }
    if case .beginning(let id) = call.owner { subscriptions[id] = nil }
    let id = calls.number()
    actions.append(.settle(id, .failure(error)))
    return id
  }

  /// Writes the calls that the daemon takes now. Beyond its limit they wait here rather than be refused there.
  private mutating func flush(now: Instant) {
    guard link == .open, goodbye == nil, drainEnd == nil else { return }
    while calls.unanswered < inflightLimit, let (id, call) = calls.next() {
      let params = params(of: call, now: now)
      let line = line(call.method, params.text, id: id)
      if let lineLimit, line.count - 1 > lineLimit {
        if let parts = parts(of: call.method, params, id: id, lineLimit: lineLimit) {
          calls.post(id, now: now)
          actions.append(.write(parts))
          continue
        }
        // The daemon would end the connection, and with it everybody else's calls on it.
        settle(id, .failure(tooLarge(line.count - 1, lineLimit)), now: now)
      } else {
        calls.post(id, now: now)
        actions.append(.write(line))
      }
    }
  }

  /// The lines of a call that is longer than one; nil where it cannot be said in parts.
  private func parts(of method: String, _ params: Params, id: CallID, lineLimit: Int) -> [UInt8]? {
    guard takesParts, method == "send" || method == "request" else { return nil }
    guard let parts = params.parts(id: id, lineLimit: lineLimit) else { return nil }
    let earlier = parts.dropLast().map { line(method, $0, id: nil) }
    return Array(earlier.joined()) + line(method, parts[parts.count - 1], id: id)
  }

  private mutating func params(of call: Call, now: Instant) -> Params {
    switch call.owner {
    case .beginning(let id), .resuming(let id): return subscriptions[id]?.ask() ?? call.params
    case .program:
      guard let end = call.end else { return call.params }
      var params = call.params
      params["timeout"] = .number(JSONNumber((end - Schedule.grace - now).wholeMilliseconds))
      return params
    }
  }

  private mutating func answered(_ id: CallID, _ message: RawObject, now: Instant) {
    let outcome: Result<RawObject, GatewayError>
    if let error = message.object("error") {
      outcome = .failure(GatewayError(answer: error))
    } else if let result = message.object("result") {
      outcome = .success(result)
    } else {
      return fail(noGateway, now: now)
    }
    if id == Self.helloID, case .greeting(_, let next) = link { return greeted(outcome, next: next, now: now) }
    if calls.answer(id) != nil {
      if case .failure(let error) = outcome, error.kind == .draining {
        // The daemon is about to stop and has not taken the call: the next one gets it.
        lastFailure = error
        drainEnd = drainEnd ?? now + Schedule.drainPause
        note(drainEnd)
        calls.waitAgain(id, isDrained: true, now: now)
      } else {
        settle(id, outcome, now: now)
      }
    }
    flush(now: now)
  }

  /// The end of a call.
  private mutating func settle(_ id: CallID, _ outcome: Result<RawObject, GatewayError>, now: Instant) {
    guard let call = calls.remove(id) else { return }
    switch call.owner {
    case .program: actions.append(.settle(id, outcome))
    case .beginning(let subscription):
      var outcome = outcome
      if case .success(let result) = outcome, subscriptions[subscription]?.begin(result) != true {
        outcome = .failure(noGateway)
        fail(noGateway, now: now)
      }
      if case .failure = outcome { subscriptions[subscription] = nil }
      actions.append(.settle(id, outcome))
    case .resuming(let subscription): resumed(subscription, outcome, now: now)
    }
  }

  /// Takes a call back, where it was written at the daemon as well.
  private mutating func abandon(_ id: CallID) {
    guard calls.abandon(id) else { return }
    var params = Params()
    params["id"] = .number(JSONNumber(id))
    notify("rpc.cancel", params)
  }

  /// The time of a call is over.
  private mutating func expire(_ id: CallID, _ call: Call, now: Instant) {
    if call.stage == .waiting {
      let error =
        lastFailure ?? GatewayError(.daemonUnavailable, "the daemon at \(path) took no call in time", retry: true)
      settle(id, .failure(error), now: now)
    } else {
      abandon(id)
      let text = "the daemon did not answer '\(call.method)' in time, and may still carry it out"
      actions.append(.settle(id, .failure(GatewayError(.callTimeout, text))))
    }
  }

  // MARK: Subscriptions

  private func subscribeCall(_ id: SubscriptionID, _ owner: Call.Owner) -> Call {
    let reach: Duration? = owner == .beginning(id) ? connectTimeout : nil
    return Call(
      method: "subscribe", params: Params(), patience: .unbounded, reach: reach, isRepeatable: true, owner: owner)
  }

  /// Makes a subscription again that was there before.
  private mutating func resume(_ id: SubscriptionID, now: Instant) {
    subscriptions[id]?.retryAt = nil
    guard subscriptions[id]?.stage == .away, calls.find(.resuming(id)) == nil else { return }
    _ = add(subscribeCall(id, .resuming(id)), now: now)
  }

  private mutating func resumed(
    _ id: SubscriptionID, _ outcome: Result<RawObject, GatewayError>, now: Instant
  ) {
    switch outcome {
    case .success(let result):
      guard subscriptions[id] != nil else { return }
      guard subscriptions[id]?.begin(result) == true else { return fail(noGateway, now: now) }
      grant(id)
    case .failure(let error) where error.retry == true:
      // What the daemon cannot do now is asked for again.
      let time = now + Schedule.retryPause
      subscriptions[id]?.retryAt = time
      note(time)
    case .failure(let error): subscriptions[id]?.finish(error)
    }
    actions.append(.offer(id))
  }

  private mutating func retry(_ id: SubscriptionID, now: Instant) {
    guard let time = subscriptions[id]?.retryAt else { return }
    guard time <= now else { return note(time) }
    resume(id, now: now)
    flush(now: now)
  }

  /// Lets the daemon send more events where there is room for them.
  private mutating func grant(_ id: SubscriptionID) {
    guard link == .open, let name = subscriptions[id]?.name, let room = subscriptions[id]?.grant() else { return }
    var params = Params()
    params["subscription"] = .string(name)
    params["n"] = .number(JSONNumber(room))
    notify("credit", params)
  }

  private mutating func drop(_ id: SubscriptionID) {
    guard let subscription = subscriptions.removeValue(forKey: id) else { return }
    if let call = calls.find(.resuming(id)) { abandon(call) }
    if let call = calls.find(.beginning(id)) {
      abandon(call)
      actions.append(.settle(call, .failure(GatewayError(.closed, "this subscription was closed", retry: false))))
    }
    guard !subscription.isOver else { return }
    var params = Params()
    params["subscription"] = .string(subscription.name)
    notify("unsubscribe", params)
  }

  // MARK: The daemon's comings and goings

  private mutating func connectIfWanted(now: Instant) {
    if link == .idle, isWanted { dial(next: Schedule.shortestPause, now: now) }
  }

  private mutating func dial(next: Duration, now: Instant) {
    let end = now + max(connectTimeout, Schedule.longestPause)
    link = .greeting(until: end, next: next)
    note(end)
    actions.append(.dial)
  }

  private mutating func greeted(_ outcome: Result<RawObject, GatewayError>, next: Duration, now: Instant) {
    switch outcome {
    case .success(let hello):
      let limits = hello.object("limits")
      guard hello.string("instance") != nil, let inflight = limits?.int("inflight"), inflight > 0 else {
        return fail(noGateway, now: now)
      }
      link = .open
      self.hello = hello
      lineLimit = limits?.int("line")
      takesParts = hello.json("features")?.array?.contains("parts") ?? false
      inflightLimit = inflight
      wasConnected = true
      lastFailure = nil
      calls.forgetDrains()
      for id in subscriptions.keys.sorted() { resume(id, now: now) }
      flush(now: now)
    case .failure(let error) where error.kind == .invalidParams || error.kind == .invalidRequest:
      actions.append(.hangUp)
      let text = "the daemon does not speak protocol \(Self.protocolVersion): \(error.message)"
      refuse(GatewayError(.protocolMismatch, text, retry: false), next: next, now: now)
    case .failure(let error):
      // Turned away: too many clients, or about to stop.
      actions.append(.hangUp)
      refuse(error, next: next, now: now)
    }
  }

  /// An attempt has failed.
  private mutating func refuse(_ error: GatewayError, next: Duration, now: Instant) {
    lastFailure = error
    fault = nil
    goodbye = nil
    // A socket that was usable before may be closed for the moment in which its daemon makes it.
    if error.retry == false, !wasConnected { giveUp(error) }
    guard isWanted else {
      link = .idle
      return
    }
    let end = now + jitter(next)
    link = .pausing(until: end, next: min(next * 2, Schedule.longestPause))
    note(end)
  }

  private mutating func hear(_ method: String, _ params: RawObject?, now: Instant) {
    guard let params else { return fail(noGateway, now: now) }
    switch method {
    case "goodbye": goodbye = params
    case "progress":
      if let id = params.int("id"), calls[id]?.stage == .posted { actions.append(.progress(id, params)) }
    case "event", "gap", "state":
      guard let name = params.string("subscription"), let id = Int(name.dropFirst()), subscriptions[id] != nil else {
        return
      }
      guard subscriptions[id]?.take(method, params) == true else { return fail(noGateway, now: now) }
      actions.append(.offer(id))
    default: break
    }
  }

  /// What came is not of the protocol.
  private mutating func fail(_ error: GatewayError, now: Instant) {
    fault = error
    actions.append(.hangUp)
    lose(now: now)
  }

  private mutating func lose(now: Instant) {
    switch link {
    case .idle, .pausing, .ended: return
    case .greeting(_, let next):
      let silence = GatewayError(.daemonUnavailable, "the daemon at \(path) closed the connection", retry: true)
      return refuse(fault ?? silence, next: next, now: now)
    case .open: break
    }
    let reason = goodbye?.string("reason")
    let announced = Duration.milliseconds(max(0, goodbye?.int("reconnect_in") ?? 0))
    let said = fault
    (hello, goodbye, fault, drainEnd) = (nil, nil, nil, nil)
    if reason == "kicked" {
      return end(GatewayError(.kicked, "an administrator has ended this connection", retry: false))
    }
    let error =
      said ?? GatewayError(.daemonLost, "the daemon closed the connection" + (reason.map { " (\($0))" } ?? ""))
    let end =
      now + min(announced, Schedule.longestAnnouncement) + jitter(Schedule.shortestPause)
    link = .pausing(until: end, next: Schedule.shortestPause)
    note(end)
    for (id, call) in calls.interrupt() {
      if call.isRepeatable, error.kind == .daemonLost {
        calls.waitAgain(id, isDrained: false, now: now)
      } else {
        settle(id, .failure(error), now: now)
      }
    }
    for id in subscriptions.keys.sorted() {
      subscriptions[id]?.lose(error)
      actions.append(.offer(id))
    }
  }

  /// Ends what is under way; a later call tries again.
  private mutating func giveUp(_ error: GatewayError) {
    for (id, call) in calls.removeAll() {
      if case .resuming = call.owner { continue }
      if case .beginning(let subscription) = call.owner { subscriptions[subscription] = nil }
      actions.append(.settle(id, .failure(error)))
    }
    for id in subscriptions.keys.sorted() {
      subscriptions[id]?.finish(error.kind == .closed ? nil : error)
      actions.append(.offer(id))
    }
  }

  /// Ends what is under way, and whatever may come.
  private mutating func end(_ error: GatewayError) {
    guard !isOver else { return }
    let isOpen = link == .open
    if case .greeting = link { actions.append(.hangUp) }
    giveUp(error)
    if isOpen { actions.append(.hangUp) }
    link = .ended(error)
    hello = nil
    nextEvent = nil
  }

  // MARK: Lines

  /// A call without an `id`, which the daemon does not answer.
  private mutating func notify(_ method: String, _ params: Params) {
    guard link == .open else { return }
    actions.append(.write(line(method, params.text, id: nil)))
  }

  private func line(_ method: String, _ params: [UInt8], id: CallID?) -> [UInt8] {
    var line = Array("{\"jsonrpc\":\"2.0\",".utf8)
    if let id { line += "\"id\":\(id),".utf8 }
    line += "\"method\":".utf8
    JSONWriter.write(method, to: &line)
    line += ",\"params\":".utf8
    line += params
    line += "}\n".utf8
    return line
  }

  private var noGateway: GatewayError {
    GatewayError(.protocolMismatch, "what answers at \(path) does not speak gatewayd's protocol", retry: false)
  }

  private func tooLarge(_ size: Int, _ limit: Int) -> GatewayError {
    GatewayError(
      .payloadTooLarge, "the call is \(size) bytes long, and the daemon takes lines of at most \(limit)", retry: false,
      data: [
        .init("type", "PayloadTooLarge"), .init("retry", false), .init("size", .number(JSONNumber(size))),
        .init("limit", .number(JSONNumber(limit))),
      ])
  }

  // MARK: Bookkeeping

  private mutating func note(_ deadline: Instant?) {
    guard let deadline else { return }
    nextEvent = nextEvent.map { min($0, deadline) } ?? deadline
  }

  private mutating func performed() -> [Action] {
    defer { actions = [] }
    return actions
  }
}
