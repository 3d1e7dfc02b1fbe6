/// `history`: the past of a connection, without a subscription to it.
struct HistoryCall: LocalCall {
  var target: CallTarget
  /// Names or globs; nil means every event.
  var events: [String]?
  /// Nil: the newest ones.
  var since: SubscribeCall.Resume?
  /// Most events of the answer.
  var limit: Int

  private static let usualLimit = 100

  static let method = LocalMethod(
    "history", "Shows the last events of an upstream, as far as they are kept.", right: .subscribe,
    parameters: LocalParameter.target + [
      .optional(
        .events, .strings(count: 1...1_000, each: 1...1_024),
        "Names or globs (`*`, `?`, `\\` escapes) of events; absent means every event."),
      .optional(.since, .position, "Show the first events after this position; absent means the newest ones."),
      .optional(.limit, .amount, "Most events to show; \(usualLimit) unless given."),
    ],
    result: ResultSchemas.history)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) { try session.history(self, id) }
}

extension HistoryCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    target = try params.target(line)
    events = try params.strings(.events, line)
    since = try params.position(.since, line).map { .since(epoch: $0.epoch, sequence: $0.sequence) }
    limit = try params.integer(.limit, line) ?? Self.usualLimit
  }
}
