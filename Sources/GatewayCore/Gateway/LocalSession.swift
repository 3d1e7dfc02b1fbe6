/// One local program's conversation with the gateway: its credentials, what it may do, what it subscribed to, and which
/// of its calls are not answered yet.
public final class LocalSession {
  /// Unique within the daemon's life; shown as `c<number>`.
  let number: UInt64
  public let peer: PeerCredentials
  /// In whose name its calls are made, now and later.
  let caller: Caller
  /// What is still to be written to its socket.
  public let output: ClientOutputs.Pointer
  /// Outlives its sessions. Used for every line, so that a check of it each time would be felt.
  unowned(unsafe) let gateway: Gateway
  /// When it connected, in milliseconds since 1970.
  var since: Int64
  var name: String?

  let subscriptions: ClientSubscriptions
  /// Nil until the first one; most clients trace nothing, and this is looked at after each write.
  private(set) var traces: ClientTraces?
  /// Nil until something is sent in parts.
  private(set) var parts: IncomingParts?
  private var calls = OpenCalls()
  /// Calls that it gives up because it leaves, the next one last.
  private var abandoned: [UInt64] = []
  private var nextCall: UInt64 = 1
  private var inputEnded = false
  /// Whether it counts as one of those that its user may have. Another daemon's client that only gets its last words
  /// does not.
  let hasPlace: Bool
  /// What is not heard yet is another daemon's. A copy of the gateway's: it is asked after each write.
  private(set) var isHandingOver: Bool
  /// Calls that go on in the next daemon.
  private(set) var suspended: [SuspendedCall] = []
  private(set) var isClosing = false

  init(number: UInt64, peer: PeerCredentials, gateway: Gateway, output: ClientOutputs.Pointer, hasPlace: Bool) {
    self.number = number
    self.hasPlace = hasPlace
    self.peer = peer
    caller = Caller(peer.identity, in: gateway)
    self.gateway = gateway
    self.output = output
    subscriptions = ClientSubscriptions(of: caller.identity, in: gateway, before: output)
    since = gateway.seams.time.wallMilliseconds
    isHandingOver = gateway.isHandingOver
  }

  /// As `clients.list` names it.
  var label: String { "c\(number)" }

  var fact: ClientFact { ClientFact(client: label, name: name, uid: peer.uid, pid: peer.pid) }

  // MARK: - Input

  /// One line without its line end. Valid only during the call. `long` is what was taken out of it.
  public func receive(line: RawSpan, long: LongMember? = nil) {
    guard !isClosing else { return }
    var envelope = LocalEnvelope(long: long, lastTarget: caller.lastTarget)
    do throws(LocalRequestFailure) {
      let (id, call) = try envelope.read(line)
      try perform(call, envelope.values, line, id)
    } catch {
      if error.answered { say(error.id, error.error) }
    }
  }

  /// Makes the call of a line, and performs it where it stands: as a value of any type it would take memory.
  private func perform<Call: LocalCall>(
    _: Call.Type, _ values: borrowing ParameterValues, _ line: RawSpan, _ id: RequestID?
  ) throws(LocalRequestFailure) {
    let call: Call
    do { call = try Call(values, line) } catch {
      throw LocalRequestFailure(id: id, error: error, answered: id != nil)
    }
    if let id, !calls.isEmpty, calls.number(of: id) != nil {
      throw LocalRequestFailure(
        id: nil,
        error: LocalError(.invalidRequest, "The id is that of a call which is still being answered; use another one."),
        answered: true)
    }
    perform(call, id)
  }

  /// Does what a call asks for, and answers it where that does not wait.
  func perform(_ call: some LocalCall, _ id: RequestID?) {
    do throws(LocalError) {
      if call.startsWork, id?.isAnswered != true { try checkRoom() }
      try call.perform(in: self, id)
    } catch {
      reply(id, error)
      caller.reviewLast()
    }
  }

  /// The client sent more than `limits.line` bytes without a line end: it is told so and closed.
  public func receiveOversizedLine() {
    guard !isClosing else { return }
    let limit = gateway.configuration.limits.line
    let error = LocalError(
      .payloadTooLarge,
      "A line may have \(limit) bytes (`limits.line`); this one is longer: none of it was done, and the connection is closed.",
      [.init("limit", .integer(limit))])
    say(nil, error)
    closeWhenFlushed()
  }

  /// Lines and messages that have no end yet take what there is: the client is told so and closed.
  public func receiveLineWithoutMemory(_ overrun: SharedBounds.Overrun) {
    guard !isClosing else { return }
    say(nil, .noReceiveMemory(overrun, of: gateway.receiveMemory.limit.bounds))
    closeWhenFlushed()
  }

  /// The client will send nothing more, but may still read.
  public func endOfInput() {
    inputEnded = true
    closeIfDone()
  }

  /// Closes the conversation when the client says no more and waits for nothing.
  func closeIfDone() {
    guard inputEnded, calls.isEmpty, suspended.isEmpty, subscriptions.isEmpty, traces?.isEmpty ?? true else { return }
    closeWhenFlushed()
  }

  /// Whether the I/O side should read on: not while the client does not take what it is sent, or is being sent much.
  public var wantsInput: Bool {
    !isClosing && !calls.pauseInput && output.pointee.count < ClientOutput.directLimit && !isHandingOver
  }

  // MARK: - Output

  /// Queues one line.
  func say(_ line: [UInt8]) {
    guard makeRoom(for: line) else { return }
    line.withUnsafeBytes { gateway.outputs.append($0, to: output) }
  }

  /// Whether a line can be queued; a client that has too much to read already is let go.
  private func makeRoom(for line: [UInt8]) -> Bool {
    guard !isClosing else { return false }
    let count = subscriptions.queuedBytes + output.pointee.count + line.count
    guard count > gateway.configuration.limits.clientQueueBytes else { return true }
    drop(reason: "slow_consumer")
    return false
  }

  private func say(_ id: RequestID?, _ error: LocalError) {
    say(LocalReply.error(id, error, limit: gateway.configuration.limits.line))
  }

  /// Whether `outputDrained` has more to do than to look.
  public var hasQueuedEvents: Bool { subscriptions.queuedBytes > 0 }

  /// The I/O side has made room: what waited in the subscriptions' queues moves up.
  public func outputDrained() {
    traces?.pump()
    subscriptions.pump()
  }

  /// Nothing more is said or heard; the socket closes when what was said is written.
  func closeWhenFlushed() {
    guard !isClosing else { return }
    isClosing = true
    parts?.clear()
    subscriptions.mute()
    traces?.mute()
    // Not now: this may be the middle of a fan-out, which still holds on to the subscriptions.
    gateway.seams.timers.after(.zero) { [weak self] in
      guard let self else { return }
      traces?.removeAll()
      gateway.shares.departures.end(for: caller.identity.account) { [subscriptions] in subscriptions.removeNext() }
    }
    output.pointee.closesWhenFlushed = true
    gateway.outputs.markDirty(output)
  }

  /// Ends the conversation against the client's will: a goodbye with the reason, as far as its socket takes it, and the
  /// end. `reconnectIn`: where coming back makes sense.
  func drop(reason: String, reconnectIn: Duration? = nil) {
    guard !isClosing else { return }
    gateway.note(.clientDropped(fact, reason: reason))
    LocalNotification.goodbye(reason: reason, reconnectIn: reconnectIn).withUnsafeBytes {
      gateway.outputs.append($0, to: output)
    }
    closeWhenFlushed()
    // The client may never read: the end must not depend on it.
    gateway.seams.timers.after(.seconds(1)) { [weak self] in
      guard let self, gateway.clients[number] === self else { return }
      gateway.onClose?(self)
    }
  }

  // MARK: - Open calls

  var openCallCount: Int { calls.count }

  /// Whether one more call may wait for its answer.
  func checkRoom() throws(LocalError) {
    if gateway.isDraining { throw .draining }
    try checkOpenCalls()
  }

  /// Whether there are fewer open calls than a client may have.
  func checkOpenCalls() throws(LocalError) {
    let limit = gateway.configuration.limits.inflight
    guard calls.count - calls.restoredCount < limit else {
      throw LocalError(
        .quotaExceeded, "\(limit) calls of this client are not answered yet; wait for some of them.",
        [.init("quota", .string("inflight")), .init("limit", .integer(limit))])
    }
  }

  /// Registers a call that will be answered later.
  func open(_ call: any OpenCall, number: UInt64) {
    calls.add(call, number: number)
  }

  /// A number for a call that may stay open.
  func makeCallNumber() -> UInt64 {
    defer { nextCall += 1 }
    return nextCall
  }

  /// Takes an open call out, to be answered by the caller of this method. Nil if it is not open any more.
  func close(_ number: UInt64) -> (any OpenCall)? {
    guard let call = calls.remove(number) else { return nil }
    // The I/O side looks whether it should read on.
    if call.isRestored, calls.restoredCount == 0 { gateway.outputs.markDirty(output) }
    return call
  }

  /// The traces, for one more.
  func makeTraces() -> ClientTraces {
    let made = traces ?? ClientTraces(in: gateway.upstreams)
    traces = made
    return made
  }

  /// What comes in parts, for one more.
  func makeParts() -> IncomingParts {
    let made = parts ?? IncomingParts(timers: gateway.seams.timers)
    parts = made
    return made
  }

  func openCall(_ number: UInt64) -> (any OpenCall)? { calls[number] }

  var numberedCalls: some Sequence<(key: UInt64, value: any OpenCall)> { calls.numbered }

  func openCall(with id: RequestID) -> UInt64? { calls.number(of: id) }

  /// Whether it subscribes to a connection, waits for it, or looks on.
  func uses(_ connection: Connection) -> Bool {
    subscriptions.all.contains { $0.connection === connection }
      || traces?.all.contains { $0.key == connection.key.ofUpstream } ?? false
      || calls.all.contains { $0.connection === connection }
  }

  /// The open calls of one method, with their numbers.
  func openCalls<Call: OpenCall>(_ kind: Call.Type) -> [(number: UInt64, call: Call)] {
    calls.numbered.compactMap { number, call in (call as? Call).map { (number, $0) } }
  }

  /// Ends a call before its time: it is told why.
  func end(_ number: UInt64, _ error: LocalError) {
    guard let call = close(number) else { return }
    call.cancel(in: self)
    reply(call.requestID, error)
  }

  /// The gateway stops: nothing will happen any more that these calls could wait for.
  func endWaits() {
    for (number, call) in calls.numbered where !call.outlivesStop { end(number, .draining) }
  }

  /// Bytes that every line may have, whatever `limits.line` says.
  private static let surelyFits = 1_024

  /// Answers with a result, or says that it does not fit into a line; a notification is not answered.
  func reply(_ id: RequestID?, _ body: (inout JSONWriter) -> Void = { _ in }) {
    guard let id, var out = beginReply(id) else { return closeIfDone() }
    body(&out)
    endReply(id, consume out)
  }

  /// The same in two steps, for the paths that are taken most: what a closure needs would be retained for it. Nil where
  /// nothing is answered, and `endReply` not to be called.
  @inline(__always)
  func beginReply(_ id: RequestID) -> JSONWriter? {
    guard !id.isAnswered else { return nil }
    var writer = gateway.replyWriter.take() ?? JSONWriter()
    LocalReply.begin(id, into: &writer)
    return writer
  }

  /// Answers with what was written since `beginReply`.
  func endReply(_ id: RequestID, _ written: consuming JSONWriter) {
    let gateway = gateway
    LocalReply.end(&written)
    if written.bytes.count > Self.surelyFits, written.bytes.count > gateway.configuration.limits.line {
      say(id, .answerTooLong(written.bytes.count, limit: gateway.configuration.limits.line))
    } else {
      say(written.bytes)
    }
    written.clear()
    if written.bytes.capacity <= Gateway.keptReplyRoom { gateway.replyWriter = written }
    closeIfDone()
  }

  /// Answers with a line that was written for it, and that is not copied where it is long.
  func reply(line: [UInt8]) {
    if makeRoom(for: line) { gateway.outputs.append(line, to: output) }
    closeIfDone()
  }

  /// Answers with an error; a notification is not answered.
  func reply(_ id: RequestID?, _ error: LocalError) {
    // What the client has by the word of an earlier daemon it does not lose without a word, unless another of its calls
    // takes the place.
    if let id, id.isAnswered {
      if error.kind != .cancelled { drop(reason: Self.restarting, reconnectIn: gateway.reconnectDelay) }
      return
    }
    if let id { say(id, error) }
    closeIfDone()
  }

  // MARK: - The next daemon

  /// The daemon is about to hand over: nothing more of the client is heard, and its calls that can go on in another
  /// daemon are taken out of this one.
  func prepareHandover() {
    isHandingOver = true
    // Nothing of a message that has not come whole was done: the client says it anew.
    if parts?.isUnderWay == true { drop(reason: Self.restarting, reconnectIn: gateway.reconnectDelay) }
    let now = gateway.seams.time.now
    for (number, call) in numberedCalls {
      guard let next = call.continuation(at: now), close(number) != nil else { continue }
      call.cancel(in: self)
      suspended.append(SuspendedCall(id: call.requestID, next))
    }
  }

  /// There is no hand-over: what was taken out is answered as the end of this daemon wants it.
  func abandonHandover() {
    isHandingOver = false
    let calls = suspended
    suspended = []
    for call in calls { reply(call.id, .draining) }
  }

  /// The reason of a goodbye to a client with whom the next daemon cannot go on as it was.
  static let restarting = "restarting"

  // MARK: - The end

  /// Gives back everything that the client held, its calls first, as nothing may be done for them any more; `done` is
  /// called when the last of its subscriptions is over. Sends that were answered as accepted stay.
  func leave(_ done: @escaping () -> Void) {
    isClosing = true
    parts?.clear()
    subscriptions.mute()
    traces?.removeAll()
    gateway.shares.departures.end(for: caller.identity.account) { [self] in
      if let cost = abandonNext() ?? subscriptions.removeNext() { return cost }
      done()
      return nil
    }
  }

  /// Takes back the next one of its calls, and returns what that counts; nil where none is left. Those that end by
  /// themselves meanwhile are gone by then.
  private func abandonNext() -> Int? {
    while !calls.isEmpty {
      if abandoned.isEmpty { abandoned = calls.numbered.map(\.key).sorted(by: >) }
      if let call = abandoned.popLast().flatMap({ calls.remove($0) }) {
        call.cancel(in: self)
        return call.cancelCost
      }
    }
    return nil
  }

  /// Takes back one call of a client that is gone, before its turn, because somebody asks what became of it. Returns whether
  /// there was one.
  func abandon(_ number: UInt64) -> Bool {
    guard isClosing, let call = calls.remove(number) else { return false }
    call.cancel(in: self)
    return true
  }

  /// The configuration changed: a program that lost the right to what it subscribes to or traces is let go, and a call
  /// that is not answered yet ends where its right is gone. What is still to be written is its connection's affair.
  func checkRights() {
    let resolver = gateway.upstreams.resolver
    for trace in traces?.all ?? [] {
      trace.permit = caller.permit(.admin, resolver.place(of: trace.specification))
      if trace.permit.passesNone { return drop(reason: "permission") }
    }
    for held in subscriptions.all {
      let (subscription, connection) = (held.subscription, held.connection)
      do throws(LocalError) {
        let permit = try caller.permit(.subscribe, on: connection)
        let isChanged = permit != subscription.filter.permit
        connection.stream.adopt(permit, for: subscription)
        if subscription.feed.pointee.answers { try caller.demandAnswering(subscription.filter, on: connection) }
        if isChanged { connection.interests.review(subscription) }
        checkEnters(of: subscription, on: connection)
      } catch {
        return drop(reason: "permission")
      }
    }
    for (number, call) in calls.numbered {
      do throws(LocalError) { try call.demandRights(in: self) } catch { end(number, error) }
    }
  }

  /// What it may not say any more is not said for it.
  private func checkEnters(of subscription: Subscription, on connection: Connection) {
    let enters = subscription.enters
    guard !enters.isEmpty else { return }
    let left = caller.permitted(enters, on: connection)
    guard left != enters else { return }
    connection.enters.adopt(left, for: subscription, of: caller.identity)
  }
}
