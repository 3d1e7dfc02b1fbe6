/// `respond`: the answer to an event whose server wants one.
struct RespondCall: LocalCall {
  /// The token of the event.
  var ack: String
  var args: [UInt8]
  var kwargs: [UInt8]?
  /// The answer is an error of that name.
  var error: String?

  static let noArguments = Array("[]".utf8)

  static let method = LocalMethod(
    "respond", "Answers an event whose server wants an acknowledgement; the first answer wins.", right: .send,
    parameters: [
      .required(.ack, .name, "The `ack` token of the event."),
      .optional(.args, .array, "The arguments of the answer; none unless given."),
      .optional(.kwargs, .object, "Its keyword arguments, where the upstream has such."),
      .optional(.error, .eventName, "The answer is an error of this name, where the upstream has such."),
    ])

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    let draft = AnswerDraft(args: args, kwargs: kwargs, error: error)
    // A token names its connection: only those that this client subscribes to are searched.
    for held in session.subscriptions.all where held.subscription.feed.pointee.answers {
      let connection = held.connection
      // Tokens can be guessed: one of an event that the user may not read tells nothing, not even its name.
      guard let event = connection.answers.event(of: ack), session.caller.may(.subscribe, event, on: connection) else {
        continue
      }
      try session.caller.demand(.send, event, on: connection)
      let answered: Bool
      do { answered = try connection.answers.answer(ack, draft) } catch { throw LocalError(error) }
      if answered { return session.reply(id) }
    }
    throw LocalError(
      .ackGone, "Nobody waits for '\(ack)': it was answered already, its link is gone, or it never existed.")
  }
}

extension RespondCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    ack = try params.required(.ack, params.string(.ack, line))
    args = try params.raw(.args, line) ?? Self.noArguments
    kwargs = try params.raw(.kwargs, line)
    error = try params.string(.error, line)
  }
}
