/// `send`: an event for an upstream.
struct SendCall: LocalCall {
  let parameters: SendParameters

  static let method = LocalMethod(
    "send", "Sends an event to an upstream; what cannot be written now waits in a queue.", right: .send,
    parameters: LocalParameter.target + SendParameters.ofEvent + [
      .optional(
        .delivery, .choice(DeliveryLevel.allCases.map(\.rawValue)),
        "When the call is answered; `accepted` unless given."),
      .optional(.timeout, .duration(default: nil), "How long to wait for the answer, in milliseconds."),
    ],
    result: ResultSchemas.send)

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.send(parameters, form: .send(parameters.delivery), id)
  }
}

extension SendCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    parameters = try SendParameters(params, line, Self.delivery(params, line) ?? .accepted)
  }

  private static let levels = DeliveryLevel.allCases
  private static let levelIndex = NameIndex(levels.map(\.rawValue))

  /// What most sends name is found without building a text.
  private static func delivery(
    _ params: borrowing ParameterValues, _ line: RawSpan
  ) throws(LocalError) -> DeliveryLevel? {
    guard let range = params.range(.delivery) else { return nil }
    guard JSONScanner.byte(line, range.lowerBound) == UInt8(ascii: "\""), let level = levelIndex.find(line, range)
    else {
      throw .wrongParameter(.delivery, of: params.method)
    }
    return levels[level]
  }
}

/// A `send` or `request` that waits for its outcome.
final class OpenSend: OpenCall {
  /// How the outcome is told to the caller.
  enum Form: Equatable {
    case request
    case send(DeliveryLevel)
  }

  let id: RequestID?
  let target: Connection
  let form: Form
  private let command: Command

  init(_ id: RequestID?, _ command: Command, _ form: Form, on target: Connection) {
    self.id = id
    self.command = command
    self.form = form
    self.target = target
  }

  var connection: Connection? { target }
  var outlivesStop: Bool { true }

  /// An answer is something to read. What became of a send says nothing that its sender does not know.
  func demandRights(in session: LocalSession) throws(LocalError) {
    if form == .request { try session.caller.demand(command.right, command.message.event, on: target) }
  }

  func cancel(in session: LocalSession) {
    let gateway = session.gateway
    gateway.relay.outbox.retract(command)
    if target.takeBack(command) {
      gateway.relay.keys.note(command, state: nil)
    } else {
      target.forget(command)
      gateway.relay.keys.note(command, state: "lost")
    }
  }
}

extension LocalSession {
  func send(_ call: SendParameters, form: OpenSend.Form, _ id: RequestID?) throws(LocalError) {
    let right = Self.right(for: call, form)
    let connection = try caller.connection(call.target, need: right, event: call.event)
    if let coalesce = call.coalesce { try checkReplacing(coalesce, by: right, call.delivery, on: connection) }
    let fingerprint = call.key == nil ? 0 : call.fingerprint
    if let key = call.key, let known = try findKey(key, fingerprint, connection) {
      return reply(id) { out in
        out.member("id", known.id)
        out.member("state", known.state)
        out.key("duplicate")
        out.bool(true)
        if form != .request { StatusDocument.writeUpstream(connection, into: &out) }
      }
    }
    var draft = MessageDraft(
      event: call.event, args: call.args, kwargs: call.kwargs, purpose: form == .request ? .call : .event,
      isAcknowledged: call.delivery == .acked || call.retries != nil)
    draft.argsArePlain = call.argsArePlain
    if let key = call.key, let member = connection.specification.settings.keyMember {
      draft.args = KeyedArguments.adding(key, as: member, to: draft.args)
      draft.argsArePlain = false
    }
    var message: PreparedMessage
    do {
      message = try connection.connector.prepare(draft)
      message.compress = call.compress
    } catch {
      throw LocalError(error)
    }
    if call.delivery == .durable { try checkDurable(call, message, connection) }
    let isCounted = gateway.quotas.limitsRates
    if isCounted { try gateway.quotas.take(message.byteCount, for: peer.uid, caller.quota) }
    let number = makeCallNumber()
    let command = command(call, message, connection, number: number, answered: id != nil)
    command.right = right
    if let key = call.key {
      command.fingerprint = fingerprint
      remember(key, of: call.target, command, connection)
    }
    if command.owner != .none { open(OpenSend(id, command, form, on: connection), number: number) }
    do throws(SubmissionProblem) {
      let submission = try connection.submit(command, now: call.volatile)
      if command.isStored {
        return gateway.relay.store(command, on: connection, asked: call.delivery, key: call.key)
      }
      if submission == .dropped { return dropped(command, number, id, on: connection) }
      gateway.relay.replaceWithheld(by: command.coalescing, command.number, on: connection)
      guard command.owner == .none else { return }
      reply(id) { out in
        out.member("id", command.id)
        out.member("state", "accepted")
        StatusDocument.writeUpstream(connection, into: &out)
      }
    } catch {
      let problem = LocalError(error, nextAttempt: connection.retryIn)
      _ = close(number)
      gateway.relay.keys.note(command, state: nil)
      if isCounted { gateway.quotas.giveBack(message.byteCount, for: peer.uid) }
      throw problem
    }
  }

  /// A server's answer is told to who may ask for it.
  private static func right(for call: SendParameters, _ form: OpenSend.Form) -> AccessVerb {
    form == .request || call.delivery == .acked ? .request : .send
  }

  /// What it takes the place of is not sent: that needs the right to what is replaced, too.
  private func checkReplacing(
    _ value: String, by right: AccessVerb, _ delivery: DeliveryLevel, on connection: Connection
  ) throws(LocalError) {
    let permit = caller.permit(right, connection.rules)
    guard !permit.passesAll else { return }
    let coalescing = Coalescing(user: peer.uid, value: value, isStored: delivery == .durable)
    guard let older = gateway.relay.replaced(by: coalescing, on: connection), !permit.passes(older) else { return }
    throw caller.denied(right, connection, event: older)
  }

  private func command(
    _ call: SendParameters, _ message: PreparedMessage, _ connection: Connection, number request: UInt64, answered: Bool
  ) -> Command {
    let now = gateway.seams.time.now
    // An accepted send is answered at once, unless it may not be queued and the first attempt is still open.
    // The client of a notification hears of no acknowledgement, and so the server is asked for none.
    let delivery = call.delivery == .acked && !answered ? .sent : call.delivery
    let isStored = call.delivery == .durable
    let waits = call.delivery != .accepted || (call.noQueue && connection.state == .created)
    let ttl = timeToLive(call, connection)
    let number = gateway.relay.makeNumber()
    let command = Command(
      gateway.relay.commandID(number), number: number, message: message, delivery: delivery,
      expires: ttl.map { now + $0 },
      acceptedAt: gateway.seams.time.wallMilliseconds,
      owner: waits && answered ? .call(client: self.number, request: request) : .none)
    command.deadline = waits ? now + (call.timeout ?? .seconds(10)) : nil
    command.sender = caller.identity
    command.isStored = isStored
    command.isCommitted = !isStored
    command.noQueue = call.noQueue
    if let retries = call.retries { command.retry = Retry(again: retries, line: peer.uid) }
    command.ackTimeout = call.ackTimeout ?? command.retry.map { _ in Retry.usualAckTimeout }
    command.coalescing = call.coalesce.map { Coalescing(user: peer.uid, value: $0, isStored: isStored) }
    return command
  }

  /// How long a command may wait to be written; nil as long as its caller waits.
  private func timeToLive(_ call: SendParameters, _ connection: Connection) -> Duration? {
    switch call.delivery {
    case .accepted: return call.ttl ?? connection.specification.settings.ttl
    case .durable:
      let age = gateway.configuration.outbox.age
      return call.ttl.map { min($0, age) } ?? age
    case .sent, .acked: return call.ttl
    }
  }

  /// A volatile send that could not be written at once.
  private func dropped(_ command: Command, _ number: UInt64, _ id: RequestID?, on connection: Connection) {
    _ = close(number)
    gateway.relay.keys.note(command, state: nil)
    replyDropped(id, command, reason: "volatile", on: connection)
  }

  private func replyDropped(_ id: RequestID?, _ command: Command, reason: String, on connection: Connection) {
    reply(id) { out in
      out.member("id", command.id)
      out.member("state", "dropped")
      out.member("reason", reason)
      StatusDocument.writeUpstream(connection, into: &out)
    }
  }

  /// A command that this client waits for has its outcome.
  func settled(_ number: UInt64, _ command: Command, _ outcome: CommandOutcome) {
    guard let call = close(number) as? OpenSend else { return }
    let (connection, form) = (call.target, call.form)
    switch outcome {
    case .written:
      reply(call.id) { out in
        out.member("id", command.id)
        out.member("state", form == .send(.accepted) ? "accepted" : "sent")
        if form != .request { StatusDocument.writeUpstream(connection, into: &out) }
      }
    case .acknowledged(let answer) where answer.byteCount + Self.replyAllowance > lineLimit:
      reply(call.id, .tooLong(answer.byteCount + Self.replyAllowance, limit: lineLimit))
    case .acknowledged(let answer) where !answer.isReadable: reply(call.id, .unreadableAnswer)
    case .acknowledged(let answer):
      reply(call.id) { out in
        if form != .request {
          out.member("id", command.id)
          out.member("state", "acked")
          StatusDocument.writeUpstream(connection, into: &out)
        }
        answer.write(into: &out)
      }
    case .denied: reply(call.id, caller.denied(command.right, connection, event: command.message.event))
    case .failed(let error): reply(call.id, LocalError(error, limit: lineLimit))
    case .replaced where form != .request: replyDropped(call.id, command, reason: "coalesced", on: connection)
    case .down, .refused, .impossible, .expired, .notStored, .replaced, .acknowledgementTimeout,
      .acknowledgementLost:
      reply(call.id, LocalError(outcome, on: connection))
    }
  }

  /// A part of the answer to a command has come. Only `request` is told of parts.
  func progressed(_ number: UInt64, _ part: RemoteAnswer) {
    guard let call = openCall(number) as? OpenSend, let id = call.id, call.form == .request else { return }
    let size = part.byteCount + Self.replyAllowance
    guard size > lineLimit else { return say(LocalNotification.progress(id, part)) }
    end(number, .tooLong(size, limit: lineLimit))
  }

  private var lineLimit: Int { gateway.configuration.limits.line }
  /// What a reply has around its arguments, at most.
  private static let replyAllowance = 512

  // MARK: - Sends that are kept on disk

  /// Refuses what a durable send cannot be, and what the outbox has no room for.
  private func checkDurable(_ call: SendParameters, _ message: PreparedMessage, _ connection: Connection)
    throws(LocalError)
  {
    if call.target.auth != nil {
      throw LocalError(
        .invalidParams,
        "A durable send cannot have `auth`, which would have to be written to the disk; configure an upstream for it.")
    }
    if call.volatile {
      throw LocalError(.invalidParams, "`volatile` drops the event, `delivery: \"durable\"` keeps it; choose one.")
    }
    if call.noQueue {
      throw LocalError(.invalidParams, "`no_queue` keeps nothing, `delivery: \"durable\"` does; choose one.")
    }
    let older = call.coalesce.flatMap {
      gateway.relay.older(Coalescing(user: peer.uid, value: $0, isStored: true), on: connection)
    }
    if older == nil { try caller.checkOutboxQuota() }
    do throws(SubmissionProblem) {
      try gateway.relay.outbox.checkRoom(
        cost: message.byteCount + OutboxEntry.overhead, target: connection.outboxTarget, owner: peer.uid,
        inPlaceOf: older)
    } catch {
      throw LocalError(error)
    }
  }

  /// A durable send is on disk.
  func stored(_ number: UInt64, _ id: String, on connection: Connection) {
    guard let call = close(number) else { return }
    reply(call.id) { out in
      out.begin(#""id":"#)
      out.string(id)
      out.begin(#","state":"#)
      out.string(DeliveryLevel.durable.rawValue)
      StatusDocument.writeUpstream(connection, into: &out)
    }
  }

  // MARK: - Idempotency keys

  private func scope(_ key: String, _ connection: Connection) -> IdempotencyTable.Scope {
    .init(uid: peer.uid, connection: connection.key, key: key)
  }

  private func findKey(
    _ key: String, _ fingerprint: UInt64, _ connection: Connection
  ) throws(LocalError) -> IdempotencyTable.Entry? {
    switch gateway.relay.keys.find(scope(key, connection), fingerprint: fingerprint, now: gateway.seams.time.now) {
    case .duplicate(let entry): return entry
    case .conflict(let entry):
      throw LocalError(
        .conflict,
        "The key '\(key)' was used within the last \(Limits.keyHours) hours for another event or other arguments.",
        [.init("id", .string(entry.id))])
    case .fresh:
      let limit = gateway.configuration.limits.keys
      guard !gateway.relay.keys.isFull(for: peer.uid, limit: limit) else {
        throw LocalError(
          .quotaExceeded,
          "This user has as many keys of the last \(Limits.keyHours) hours as `limits.keys` allows (\(limit)); "
            + "send without one.",
          [.init("quota", .string("keys")), .init("limit", .integer(limit))])
      }
      return nil
    }
  }

  private func remember(_ key: String, of target: CallTarget, _ command: Command, _ connection: Connection) {
    gateway.relay.keys.add(
      scope(key, connection), target: target, id: command.id, fingerprint: command.fingerprint,
      now: gateway.seams.time.now)
  }
}
