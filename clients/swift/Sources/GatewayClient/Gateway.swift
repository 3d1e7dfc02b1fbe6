/// The daemon, for programs: gatewayd keeps one shared connection to each server for all programs of a machine.
///
/// ```swift
/// let gateway = Gateway()
/// let answer = try await gateway.request("https://chat.example", "say", "hello")
/// print(try answer.decode(String.self))
/// ```
///
/// It connects when it is first used, finds the daemon again when that was restarted, and may be used by any task. A call
/// waits for a daemon that is just starting, and ends in time. Cancelling a task takes its call back: what was not written
/// yet never is.
public final class Gateway: Sendable {
  let loop: ClientLoop
  private let connectTimeout: Duration
  private let timeout: Duration

  /// A client of the daemon at a socket.
  ///
  /// - Parameters:
  ///   - socket: The daemon's socket; found as `gatewayctl` finds it unless given: `$GATEWAYD_SOCKET`, the user's own, the
  ///     machine's.
  ///   - name: What `gatewayctl status` shows; the program's name unless given.
  ///   - connectTimeout: How long a call waits for a daemon that is just starting.
  ///   - timeout: How long an answer is waited for that takes no time.
  public init(
    socket: String? = nil, name: String? = nil, connectTimeout: Duration = .seconds(5), timeout: Duration = .seconds(5)
  ) {
    let name = name.flatMap { $0.isEmpty ? nil : SocketPath.cut($0) } ?? SocketPath.programName
    loop = ClientLoop(path: SocketPath.find(socket), name: name, connectTimeout: connectTimeout)
    self.connectTimeout = connectTimeout
    self.timeout = timeout
  }

  deinit { loop.close() }

  /// The path of the daemon's socket.
  public var socket: String { loop.path }
  /// Whether the daemon is connected now. Calls connect by themselves.
  public var isConnected: Bool { loop.isConnected }
  /// What the daemon told of itself (`hello` in docs/protocol.md); nil while it is not connected.
  public var hello: JSON? { loop.hello }

  /// Ends everything: subscriptions, and calls that are not answered. What was written is still carried out.
  public func close() { loop.close() }

  // MARK: Events

  /// The server's events; returns when the daemon has agreed.
  ///
  /// - Parameters:
  ///   - events: Names or globs; nil for all.
  ///   - since: Begin behind this position.
  ///   - last: Begin with the last so many events.
  ///   - strict: With `since` or `last`: fail with `Unrecoverable` rather than begin with a gap.
  ///   - answer: Events whose server waits for an answer come with a token for `respond`.
  ///   - gaps: `Subscription.items` tells where events are missing.
  ///   - states: `Subscription.items` tells each change of the connection to the server.
  ///   - window: How many events may be here that the program has not taken; nil for any number. The others wait at the
  ///     daemon.
  ///   - queue: How many may wait at the daemon.
  ///   - onSlow: What the daemon does when more would.
  ///   - enter: Said to the server at every connect, as for a room or a feed ("Rooms and feeds" in docs/protocol.md).
  ///   - leave: What undoes the message at the same place of `enter`, said when no program holds that any more; nil for
  ///     one that nothing undoes.
  public func subscribe(
    _ target: Target, _ events: [String]? = nil, since: Position? = nil, last: Int? = nil, strict: Bool = false,
    answer: Bool = false, gaps: Bool = false, states: Bool = false, window: Int? = 256, queue: Int? = nil,
    onSlow: SlowPolicy? = nil, enter: [EnterMessage] = [], leave: [EnterMessage?] = []
  ) async throws -> Subscription {
    try check(target)
    var options = SubscribeOptions(target: target, events: events, since: since, last: last)
    options.isStrict = strict
    options.wantsAnswers = answer
    options.wantsGaps = gaps
    options.wantsStates = states
    options.window = window.map { max(1, $0) }
    options.queue = queue
    options.onSlow = onSlow
    options.enter = try EnterMessage.text(of: enter)
    options.leave = try EnterMessage.text(of: leave)
    let (id, result) = try await loop.subscribe(options)
    return Subscription(gateway: self, id: id, answer: result)
  }

  /// Past events: the first behind `since`, or the newest.
  public func history(
    _ target: Target, _ events: [String]? = nil, since: Position? = nil, limit: Int = 100
  ) async throws -> History {
    var params = target.params
    params["events"] = events.map { .array($0.map { .string($0) }) }
    params["since"] = since.map { ["epoch": .string($0.epoch), "seq": .number(JSONNumber($0.seq))] }
    params["limit"] = .number(JSONNumber(limit))
    return try understood(History(try await perform("history", params)))
  }

  // MARK: Messages

  /// Sends an event. The arguments are anything `Encodable`, `[UInt8]` being bytes.
  ///
  /// - Parameters:
  ///   - delivery: When that is done: `accepted` by the daemon, `durable` on its disk, `sent` to the server, or `acked` by
  ///     it.
  ///   - timeout: How long to wait for `sent` and `acked`; nil: as long as the message lives.
  ///   - options: What else there is to say. A durable send with a `key` is repeated by itself when the daemon goes away in
  ///     the middle, and is kept once.
  @discardableResult
  public func send<each Argument: Encodable & Sendable>(
    _ target: Target, _ event: String, _ argument: repeat each Argument, delivery: Delivery = .accepted,
    timeout: Duration? = nil, options: SendOptions = SendOptions()
  ) async throws -> Sent {
    let arguments = try Arguments(encoding: repeat each argument)
    return try await send(target, event, arguments: arguments, delivery: delivery, timeout: timeout, options: options)
  }

  /// The same with arguments that are there already.
  @discardableResult
  public func send(
    _ target: Target, _ event: String, arguments: Arguments, delivery: Delivery = .accepted, timeout: Duration? = nil,
    options: SendOptions = SendOptions()
  ) async throws -> Sent {
    var params = try message(target, event, arguments, options)
    params["delivery"] = .string(delivery.rawValue)
    let isWaiting = delivery == .sent || delivery == .acked
    let patience: Call.Patience
    switch timeout {
    case let timeout? where isWaiting: patience = .deadline(timeout)
    case let timeout?: patience = .answer(timeout)
    case nil: patience = isWaiting ? .unbounded : .answer(self.timeout)
    }
    // With both the daemon knows it again, also after its own death.
    let isRepeatable = delivery == .durable && options.key != nil
    return try understood(Sent(try await perform("send", params, patience, isRepeatable: isRepeatable)))
  }

  /// Sends an event and waits for the server's answer. The arguments are anything `Encodable`, `[UInt8]` being bytes.
  ///
  /// - Parameters:
  ///   - timeout: How long to wait in all; nil: for ever.
  ///   - progress: Gets what a server answers in parts before. It is called on a thread of the client and must not block.
  public func request<each Argument: Encodable & Sendable>(
    _ target: Target, _ event: String, _ argument: repeat each Argument, timeout: Duration? = .seconds(10),
    options: SendOptions = SendOptions(), progress: (@Sendable (Answer) -> Void)? = nil
  ) async throws -> Answer {
    let arguments = try Arguments(encoding: repeat each argument)
    return try await request(
      target, event, arguments: arguments, timeout: timeout, options: options, progress: progress)
  }

  /// The same with arguments that are there already.
  public func request(
    _ target: Target, _ event: String, arguments: Arguments, timeout: Duration? = .seconds(10),
    options: SendOptions = SendOptions(), progress: (@Sendable (Answer) -> Void)? = nil
  ) async throws -> Answer {
    let params = try message(target, event, arguments, options)
    var told: (@Sendable (RawObject) -> Void)?
    if let progress { told = { progress(Answer($0)) } }
    return Answer(try await perform("request", params, .deadline(timeout ?? .longest), progress: told))
  }

  /// Answers an event that came with a token (`answer` of `subscribe`). The first answer wins; later ones are `AckGone`.
  public func respond<each Argument: Encodable & Sendable>(
    to event: Event, _ argument: repeat each Argument, kwargs: JSON? = nil, error: String? = nil
  ) async throws {
    guard let token = event.ack else {
      throw GatewayError(
        .ackGone, "this event waits for no answer, or the subscription did not ask for tokens", retry: false)
    }
    var params = Params()
    params["ack"] = .string(token)
    params.add("args", try Arguments(encoding: repeat each argument).text)
    params.add("kwargs", try kwargs.map { try checked($0, form: .payload) })
    params["error"] = error.map { .string($0) }
    _ = try await perform("respond", params)
  }

  // MARK: The upstream and the daemon

  /// Waits until the connection to an upstream is in a state; `Expired` when the time is up. Waiting counts as using: it
  /// makes the daemon connect.
  public func wait(
    for target: Target, state: ConnectionState = .connected, timeout: Duration = .seconds(60)
  ) async throws {
    var params = target.params
    params["state"] = .string(state.rawValue)
    _ = try await perform("wait", params, .deadline(timeout))
  }

  /// The state of the connection to an upstream, and why it is down: `released` where there is none.
  public func state(of target: Target) async throws -> StateChange {
    let result = try await perform("status", target.params)
    guard let connections = result.objects("connections") else { return try understood(nil) }
    // A link that this host has for its fleet is not what its programs use.
    let used = connections.first { $0.object("fleet")?.string("role") != "holder" }
    return used.flatMap { StateChange($0) } ?? StateChange(state: .released)
  }

  /// The daemon's own account: its connections and clients, or what concerns one target.
  public func status(_ target: Target? = nil) async throws -> JSON {
    try await perform("status", target?.params ?? Params()).json
  }

  /// Returns when the daemon answers.
  public func ping() async throws { _ = try await perform("ping", Params()) }

  /// Any method of the protocol, with its params (an object) and its result as they are in JSON.
  public func call(
    _ method: String, _ params: JSON = [:], timeout: Duration? = nil, progress: (@Sendable (JSON) -> Void)? = nil
  ) async throws -> JSON {
    guard let members = params.members else {
      throw GatewayError(.invalidParams, "params have to be an object", retry: false)
    }
    _ = try checked(params, form: .plain)
    var written = Params()
    written.add(contentsOf: members)
    var told: (@Sendable (RawObject) -> Void)?
    if let progress { told = { progress($0.json) } }
    return try await perform(method, written, .answer(timeout ?? self.timeout), progress: told).json
  }

  // MARK: Calls

  private func perform(
    _ method: String, _ params: Params, _ patience: Call.Patience? = nil, isRepeatable: Bool = false,
    progress: (@Sendable (RawObject) -> Void)? = nil
  ) async throws -> RawObject {
    var call = Call(method: method, params: params, patience: patience ?? .answer(timeout), reach: connectTimeout)
    call.isRepeatable = isRepeatable || Call.repeatable.contains(method)
    return try await loop.call(call, progress: progress)
  }

  private func message(
    _ target: Target, _ event: String, _ arguments: Arguments, _ options: SendOptions
  ) throws -> Params {
    try check(target)
    var params = target.params
    params["event"] = .string(event)
    params.add("args", arguments.text)
    _ = try options.kwargs.map { try checked($0, form: .payload) }
    options.add(to: &params)
    return params
  }

  private func check(_ target: Target) throws {
    for value in [target.auth, target.options] { _ = try value.map { try checked($0, form: .plain) } }
  }

  /// The text of a value, where it is not nested too deeply for the daemon, which could not tell which call a line that it
  /// cannot read belongs to.
  private func checked(_ value: JSON, form: JSONReader.Form) throws -> [UInt8] {
    let text = JSONWriter.text(of: value, form: form)
    do {
      guard try JSONReader.depth(of: text) <= Arguments.depthLimit else { throw JSONReader.Failure.tooDeep }
    } catch let failure as JSONReader.Failure {
      throw failure.asGatewayError
    }
    return text
  }

  private func understood<Value>(_ value: Value?) throws -> Value {
    guard let value else {
      throw GatewayError(.protocolMismatch, "the daemon's answer is none of the protocol", retry: false)
    }
    return value
  }
}
