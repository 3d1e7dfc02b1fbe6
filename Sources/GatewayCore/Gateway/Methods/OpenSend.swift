/// A `send` or `request` that waits for its outcome is its command.
extension Command: OpenCall {
  var requestID: RequestID? { call?.id }
  var connection: Connection? { call?.connection.object }
  var outlivesStop: Bool { true }

  /// An answer is something to read. What became of a send says nothing that its sender does not know.
  func demandRights(in session: LocalSession) throws(LocalError) {
    guard let call, call.form == .request, let connection else { return }
    try session.caller.demand(right, message.event, on: connection)
  }

  func cancel(in session: LocalSession) {
    let relay = session.gateway.relay
    relay.outbox.retract(self)
    if connection?.takeBack(self) ?? false {
      relay.keys.note(self, state: nil)
    } else {
      connection?.forget(self)
      relay.keys.note(self, state: "lost")
    }
  }
}

/// How a `send` or `request` that waits is answered.
enum OpenSend {
  /// A command that this client waits for has its outcome.
  static func settled(
    _ number: UInt64, _ command: Command, _ outcome: CommandOutcome, on connection: Connection, in session: LocalSession
  ) {
    guard session.close(number) != nil, let call = command.call.take() else { return }
    let form = call.form
    switch outcome {
    case .written:
      session.reply(call.id) { out in
        out.member("id", command.id)
        out.member("state", form == .send(.accepted) ? "accepted" : "sent")
        if form != .request { StatusDocument.writeUpstream(connection, into: &out) }
      }
    case .acknowledged(let answer): acknowledged(call, command, answer, on: connection, in: session)
    case .denied: session.reply(call.id, session.caller.denied(command.right, connection, event: command.message.event))
    case .failed(let error): session.reply(call.id, LocalError(error, limit: lineLimit(session)))
    case .replaced where form != .request:
      replyDropped(call.id, command, reason: "coalesced", on: connection, in: session)
    case .down, .refused, .impossible, .expired, .notStored, .replaced, .acknowledgementTimeout,
      .acknowledgementLost:
      session.reply(call.id, LocalError(outcome, on: connection))
    }
  }

  private static func acknowledged(
    _ call: Command.Call, _ command: Command, _ answer: RemoteAnswer, on connection: Connection,
    in session: LocalSession
  ) {
    if let problem = lengthProblem(answer, in: session) { return session.reply(call.id, problem) }
    guard answer.isReadable else { return session.reply(call.id, .unreadableAnswer) }
    guard var out = session.beginReply(call.id) else { return session.closeIfDone() }
    if call.form != .request {
      out.member("id", command.id)
      out.member("state", "acked")
      StatusDocument.writeUpstream(connection, into: &out)
    }
    answer.write(into: &out)
    session.endReply(call.id, consume out)
  }

  /// A part of the answer to a command has come. Only `request` is told of parts.
  static func progressed(_ number: UInt64, _ part: RemoteAnswer, in session: LocalSession) {
    guard let call = (session.openCall(number) as? Command)?.call, call.form == .request else { return }
    guard let problem = lengthProblem(part, in: session) else {
      return session.say(LocalNotification.progress(call.id, part))
    }
    session.end(number, problem)
  }

  /// What a program is told in place of an answer that fits into no line here, or did not where it came in.
  private static func lengthProblem(_ answer: RemoteAnswer, in session: LocalSession) -> LocalError? {
    let (size, limit) = (answer.byteCount + replyAllowance, lineLimit(session))
    return answer.isOmitted || size > limit ? .tooLong(size, limit: limit) : nil
  }

  /// A durable send is on disk.
  static func stored(_ number: UInt64, _ id: String, on connection: Connection, in session: LocalSession) {
    guard let call = (session.close(number) as? Command)?.call.take() else { return }
    guard var out = session.beginReply(call.id) else { return session.closeIfDone() }
    // An id of ours needs no escape.
    out.member(#""id":""#, elements: id.utf8Span.span.bytes, #"","state":"durable""#)
    StatusDocument.writeUpstream(connection, into: &out)
    session.endReply(call.id, consume out)
  }

  /// Answers that a send is not made any more.
  static func replyDropped(
    _ id: RequestID?, _ command: Command, reason: String, on connection: Connection, in session: LocalSession
  ) {
    session.reply(id) { out in
      out.member("id", command.id)
      out.member("state", "dropped")
      out.member("reason", reason)
      StatusDocument.writeUpstream(connection, into: &out)
    }
  }

  private static func lineLimit(_ session: LocalSession) -> Int { session.gateway.configuration.limits.line }

  /// What a reply has around its arguments, at most.
  private static let replyAllowance = 512
}
