/// How a `send` or `request` becomes a command of its connection: what its sender may, what it repeats, and how long it
/// may take.
struct SendSubmission {
  private let session: LocalSession
  private let gateway: Gateway
  private let connection: Connection
  private let form: SendForm
  private let right: AccessVerb

  private var caller: Caller { session.caller }
  private var peer: PeerCredentials { session.peer }

  /// Submits what is asked for. Answers now, unless its caller waits for the outcome.
  static func begin(
    _ call: SendParameters, _ form: SendForm, _ id: RequestID?, in session: LocalSession
  ) throws(LocalError) {
    let right = right(call, form)
    var connection = try session.caller.connection(call.target, need: right, event: call.event)
    // It may have been the last thing that the connection was there for.
    if let key = call.key, takeBackAbandoned(key, on: connection, in: session) {
      connection = try session.caller.connection(call.target, need: right, event: call.event)
    }
    try SendSubmission(session: session, gateway: session.gateway, connection: connection, form: form, right: right)
      .begin(call, id)
  }

  /// A client that is gone may have used the key, in a call whose turn to be taken back has not come: that is done now, as
  /// this call is answered by what became of it. Returns whether it was.
  private static func takeBackAbandoned(_ key: String, on connection: Connection, in session: LocalSession) -> Bool {
    let gateway = session.gateway
    let scope = IdempotencyTable.Scope(uid: session.peer.uid, connection: connection.key, key: key)
    guard case .call(let client, let number) = gateway.relay.keys.caller(scope) else { return false }
    return gateway.clients.caller(client)?.abandon(number) ?? false
  }

  /// Hearing the server's answer needs `request`.
  static func right(_ call: SendParameters, _ form: SendForm) -> AccessVerb {
    form == .request || call.delivery == .acked ? .request : .send
  }

  private func begin(_ call: SendParameters, _ id: RequestID?) throws(LocalError) {
    if let coalesce = call.coalesce { try checkReplacing(coalesce, call.delivery) }
    let fingerprint = call.key == nil ? 0 : call.fingerprint
    if let key = call.key, let known = try findKey(key, fingerprint) {
      guard known.isUndecided, call.delivery == .durable, let id else { return replyDuplicate(id, known) }
      return RepeatedSend.wait(for: known.id, call, form, id, on: connection, in: session)
    }
    let message = try message(call)
    if call.delivery == .durable { try checkDurable(call, message) }
    let isCounted = gateway.quotas.limitsRates
    let byteCount = isCounted ? message.byteCount : 0
    if isCounted { try gateway.quotas.take(bytes: byteCount, for: peer.uid, caller.quota) }
    let number = session.makeCallNumber()
    let command = command(call, consume message, number: number, answered: id != nil)
    if let key = call.key {
      command.fingerprint = fingerprint
      remember(key, of: call.target, command)
    }
    if let id, command.owner != .none {
      command.call = Command.Call(id: id, form: form, connection: connection.reference)
      session.open(command, number: number)
    }
    do throws(SubmissionProblem) {
      try submit(command, call, number, id)
    } catch {
      let problem = LocalError(error, nextAttempt: connection.retryIn)
      forget(command, number)
      if isCounted { gateway.quotas.giveBack(byteCount, for: peer.uid) }
      throw problem
    }
  }

  /// Hands the command over, and answers what has nothing to wait for.
  private func submit(
    _ command: Command, _ call: SendParameters, _ number: UInt64, _ id: RequestID?
  ) throws(SubmissionProblem) {
    let submission = try connection.submit(command, now: call.volatile)
    if command.isStored {
      return gateway.relay.store(command, on: connection, asked: call.delivery, key: call.key)
    }
    // A volatile send that could not be written at once.
    if submission == .dropped {
      forget(command, number)
      return OpenSend.replyDropped(id, command, reason: "volatile", on: connection, in: session)
    }
    gateway.relay.replaceWithheld(by: command.coalescing, command.number, on: connection)
    if command.owner == .none { replyAccepted(id, command) }
  }

  /// Nothing is left of a command that was not taken.
  private func forget(_ command: Command, _ number: UInt64) {
    _ = session.close(number)
    gateway.relay.keys.note(command, state: nil)
  }

  private func replyAccepted(_ id: RequestID?, _ command: Command) {
    session.reply(id) { out in
      out.member("id", command.id)
      out.member("state", "accepted")
      StatusDocument.writeUpstream(connection, into: &out)
    }
  }

  // MARK: - The message and the command

  private func message(_ call: SendParameters) throws(LocalError) -> PreparedMessage {
    var draft = MessageDraft(
      event: call.event, args: call.args, kwargs: call.kwargs, purpose: form == .request ? .call : .event,
      isAcknowledged: call.delivery == .acked || call.retries != nil)
    draft.argsArePlain = call.argsArePlain
    if let key = call.key, let member = connection.specification.settings.keyMember {
      draft.args = KeyedArguments.adding(key, as: member, to: draft.args)
      draft.argsArePlain = false
    }
    do {
      var message = try connection.connector.prepare(draft)
      message.compress = call.compress
      return message
    } catch {
      throw LocalError(error)
    }
  }

  private func command(
    _ call: SendParameters, _ message: consuming PreparedMessage, number request: UInt64, answered: Bool
  ) -> Command {
    let now = gateway.seams.time.now
    // An accepted send is answered at once, unless it may not be queued and the first attempt is still open.
    // The client of a notification hears of no acknowledgement, and so the server is asked for none.
    let delivery = call.delivery == .acked && !answered ? .sent : call.delivery
    let isStored = call.delivery == .durable
    let waits = call.delivery != .accepted || (call.noQueue && connection.state == .created)
    let ttl = timeToLive(call)
    let number = gateway.relay.makeNumber()
    let command = Command(
      gateway.relay.commandID(number), number: number, message: message, delivery: delivery,
      expires: ttl.map { now + $0 },
      acceptedAt: gateway.seams.time.wallMilliseconds,
      owner: waits && answered ? .call(client: session.number, request: request) : .none)
    command.deadline = waits ? now + (call.timeout ?? SendParameters.usualTimeout) : nil
    command.right = right
    command.sender = caller.identity
    command.durability = isStored ? .storing : .memory
    command.noQueue = call.noQueue
    if let retries = call.retries { command.retry = Retry(again: retries, line: peer.uid) }
    command.ackTimeout = call.ackTimeout ?? command.retry.map { _ in Retry.usualAckTimeout }
    command.coalescing = call.coalesce.map { Coalescing(user: peer.uid, value: $0, isStored: isStored) }
    return command
  }

  /// How long a command may wait to be written; nil as long as its caller waits.
  private func timeToLive(_ call: SendParameters) -> Duration? {
    switch call.delivery {
    case .accepted: return call.ttl ?? connection.specification.settings.ttl
    case .durable:
      let age = gateway.configuration.outbox.age
      return call.ttl.map { min($0, age) } ?? age
    case .sent, .acked: return call.ttl
    }
  }

  // MARK: - What may not be

  /// What it takes the place of is not sent: that needs the right to what is replaced, too.
  private func checkReplacing(_ value: String, _ delivery: DeliveryLevel) throws(LocalError) {
    let permit = caller.permit(right, connection.rules)
    guard !permit.passesAll else { return }
    let coalescing = Coalescing(user: peer.uid, value: value, isStored: delivery == .durable)
    guard let older = gateway.relay.replaced(by: coalescing, on: connection), !permit.passes(older) else { return }
    throw caller.denied(right, connection, event: older)
  }

  /// Refuses what a durable send cannot be, and what the outbox has no room for.
  private func checkDurable(_ call: SendParameters, _ message: PreparedMessage) throws(LocalError) {
    if call.target.auth != nil {
      throw LocalError(
        .invalidParams,
        "A durable send cannot have `auth`, which would have to be written to the disk; configure an upstream for it.")
    }
    if call.target.options?.holdSecrets ?? false {
      throw LocalError(
        .invalidParams,
        "A durable send cannot have `headers` or `query` in its `options`, which would have to be written to the disk; configure an upstream for it."
      )
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
    let target = connection.outboxTarget
    do throws(SubmissionProblem) {
      try gateway.relay.outbox.checkRoom(
        cost: OutboxEntry.cost(of: message, to: target), target: target, owner: peer.uid, inPlaceOf: older)
    } catch {
      throw LocalError(error)
    }
  }

  // MARK: - Idempotency keys

  private func scope(_ key: String) -> IdempotencyTable.Scope {
    .init(uid: peer.uid, connection: connection.key, key: key)
  }

  private func findKey(_ key: String, _ fingerprint: UInt64) throws(LocalError) -> IdempotencyTable.Entry? {
    switch gateway.relay.keys.find(scope(key), fingerprint: fingerprint, now: gateway.seams.time.now) {
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

  private func remember(_ key: String, of target: CallTarget, _ command: Command) {
    gateway.relay.keys.add(
      scope(key), target: target, id: command.id, fingerprint: command.fingerprint, isUndecided: command.isStored,
      caller: command.owner, now: gateway.seams.time.now)
  }

  private func replyDuplicate(_ id: RequestID?, _ known: IdempotencyTable.Entry) {
    session.reply(id) { out in
      out.member("id", known.id)
      out.member("state", known.state)
      out.key("duplicate")
      out.bool(true)
      if form != .request { StatusDocument.writeUpstream(connection, into: &out) }
    }
  }
}
