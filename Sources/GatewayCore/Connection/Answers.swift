/// The answers that the server of one connection has asked local programs for. Decision 0069.
final class Answers {
  /// It alone has this object. Set by the connection, once.
  unowned var connection: (any LinkOwner)!
  private let account: Account
  private let delivery: Delivery
  private let tokens: TokenCounter
  private var table = AnswerTable()

  init(_ specification: UpstreamSpecification, delivery: Delivery, context: ConnectionContext) {
    account = specification.account
    self.delivery = delivery
    tokens = context.tokens
  }

  /// Events that wanted an answer while no client could give one, or whose answer never came.
  var unanswered: UInt64 { table.unanswered }

  /// Whether the server waits for any.
  var hasPending: Bool { table.hasPending }

  /// The name of the event behind a token that is not answered yet.
  func event(of token: String) -> String? { table.event(of: token) }

  // MARK: - What the server asks

  /// These clients are asked for an acknowledgement of an event, which the server knows by `id`. Returns their token.
  func ask(_ clients: [ClientOutputs.Pointer], _ id: UInt64, of event: String, on channel: any UpstreamChannel)
    -> String
  {
    let token = tokens.next()
    for old in table.add(id, as: token, of: event, for: clients) { channel.decline(old, .abandoned) }
    return token
  }

  /// No client was told of the event.
  func declineUnheard(_ id: UInt64, on channel: any UpstreamChannel) {
    table.noteUnanswered()
    channel.decline(id, .unheard)
  }

  /// The server gave up waiting.
  func withdraw(_ id: UInt64) { table.withdraw(id) }

  /// The link is gone: no answer can reach the server any more.
  func endOfLink() { table.endOfLink() }

  // MARK: - What clients answer

  /// Answers an acknowledgement that the server asked for. False: the token is unknown, answered, or its link is gone.
  func answer(_ token: String, _ draft: AnswerDraft) throws(SubmissionProblem) -> Bool {
    let connector = connection.connector
    connection.channel?.checkHeartbeat()
    guard let channel = connection.channel, table.isPending(token) else { return false }
    let message: PreparedMessage
    do { message = try connector.prepareAnswer(draft) } catch { throw .impossible(error) }
    if let problem = connector.check(message, acknowledged: true) { throw .impossible(problem) }
    try delivery.checkRoom(message.byteCount, of: account, on: channel)
    guard let id = table.take(token) else { return false }
    channel.answer(id, message)
    delivery.commands.noteOutgoing(message.byteCount)
    return true
  }

  /// A client that may have been asked for answers can give none any more: it has left, or subscribes to nothing here
  /// that it would answer. Where the server cannot be told, its own time-out decides, and a program that comes back may
  /// still answer.
  func left(by client: ClientOutputs.Pointer) {
    if connection.channel != nil { decline(table.left(by: client)) }
  }

  /// A client will never see the events with these tokens, which it was to answer: it did not keep up, or its
  /// subscription has ended. Where no other one does, nothing was begun.
  func missed(_ tokens: [String], by client: ClientOutputs.Pointer) {
    if connection.channel != nil { decline(tokens.compactMap { table.missed($0, by: client) }) }
  }

  /// The server is told in portions: one program may have been asked thousands of questions.
  private func decline(_ orphans: [AnswerTable.Orphan]) {
    guard !orphans.isEmpty else { return }
    var rest = orphans[...]
    delivery.endInPortions { [self] _ in
      guard let orphan = rest.popFirst() else { return nil }
      // A program that came back may have answered it, the server may want it no more, or its link may be gone.
      if let channel = connection.channel, table.isPending(orphan.token),
        channel.decline(orphan.id, orphan.wasHeard ? .abandoned : .unheard)
      {
        table.abandon(orphan.token)
      }
      return 1
    }
  }
}
