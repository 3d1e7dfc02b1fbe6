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

  // MARK: - The outcome

  /// A command that this client waits for has its outcome.
  static func settled(_ number: UInt64, _ command: Command, _ outcome: CommandOutcome, in session: LocalSession) {
    guard let call = session.close(number) as? OpenSend else { return }
    let (connection, form) = (call.target, call.form)
    switch outcome {
    case .written:
      session.reply(call.id) { out in
        out.member("id", command.id)
        out.member("state", form == .send(.accepted) ? "accepted" : "sent")
        if form != .request { StatusDocument.writeUpstream(connection, into: &out) }
      }
    case .acknowledged(let answer) where answer.byteCount + replyAllowance > lineLimit(session):
      session.reply(call.id, .tooLong(answer.byteCount + replyAllowance, limit: lineLimit(session)))
    case .acknowledged(let answer) where !answer.isReadable: session.reply(call.id, .unreadableAnswer)
    case .acknowledged(let answer):
      session.reply(call.id) { out in
        if form != .request {
          out.member("id", command.id)
          out.member("state", "acked")
          StatusDocument.writeUpstream(connection, into: &out)
        }
        answer.write(into: &out)
      }
    case .denied: session.reply(call.id, session.caller.denied(command.right, connection, event: command.message.event))
    case .failed(let error): session.reply(call.id, LocalError(error, limit: lineLimit(session)))
    case .replaced where form != .request:
      replyDropped(call.id, command, reason: "coalesced", on: connection, in: session)
    case .down, .refused, .impossible, .expired, .notStored, .replaced, .acknowledgementTimeout,
      .acknowledgementLost:
      session.reply(call.id, LocalError(outcome, on: connection))
    }
  }

  /// A part of the answer to a command has come. Only `request` is told of parts.
  static func progressed(_ number: UInt64, _ part: RemoteAnswer, in session: LocalSession) {
    guard let call = session.openCall(number) as? OpenSend, let id = call.id, call.form == .request else { return }
    let size = part.byteCount + replyAllowance
    guard size > lineLimit(session) else { return session.say(LocalNotification.progress(id, part)) }
    session.end(number, .tooLong(size, limit: lineLimit(session)))
  }

  /// A durable send is on disk.
  static func stored(_ number: UInt64, _ id: String, on connection: Connection, in session: LocalSession) {
    guard let call = session.close(number) else { return }
    session.reply(call.id) { out in
      out.begin(#""id":"#)
      out.string(id)
      out.finish(#","state":"durable""#)
      StatusDocument.writeUpstream(connection, into: &out)
    }
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
