/// Receiving events.
extension MethodTable {
  static let subscriptionMethods: [LocalMethod] = [
    LocalMethod(
      "subscribe", "Delivers the events of an upstream, after a snapshot of where it stands.", right: .subscribe,
      parameters: LocalParameter.target + subscribeParameters, result: ResultSchemas.subscribe, read: readSubscribe),
    LocalMethod(
      "history", "Shows the last events of an upstream, as far as they are kept.", right: .subscribe,
      parameters: LocalParameter.target + historyParameters, result: ResultSchemas.history, read: readHistory),
    LocalMethod(
      "unsubscribe", "Ends a subscription.", right: .subscribe,
      parameters: [.required(.subscription, .name, "The subscription's id.")]
    ) { params, line throws(LocalError) in
      .unsubscribe(subscription: try params.required(.subscription, params.string(.subscription, line)))
    },
    LocalMethod(
      "credit", "Lets so many further events of a subscription with credit through.", right: .subscribe,
      parameters: [
        .required(.subscription, .name, "The subscription's id."),
        .required(.n, .amount, "How many events more."),
      ],
      result: .object([.always("credit", .count, "What is left now.")])
    ) { params, line throws(LocalError) in
      .credit(
        subscription: try params.required(.subscription, params.string(.subscription, line)),
        count: try params.required(.n, params.integer(.n, line)))
    },
  ]

  private static let subscribeParameters: [LocalParameter] = [
    .optional(
      .events, .strings(count: 1...1_000, each: 1...1_024),
      "Names or globs (`*`, `?`, `\\` escapes) of events; absent means every event."),
    .optional(.since, .position, "Deliver first what came after this position; not together with `last`."),
    .optional(.last, .amount, "Deliver first the last so many events; not together with `since`."),
    .optional(.strict, .boolean, "Fail with Unrecoverable rather than begin with a gap."),
    .optional(.state, .boolean, "Deliver a `state` notification for every transition of the connection."),
    .optional(.answer, .boolean, "Receive `ack` tokens of events whose server wants an answer, for `respond`."),
    .optional(.queue, .amount, "How many events may wait for a client that does not read."),
    .optional(
      .onSlow, .choice(SlowPolicy.allCases.map(\.rawValue)),
      "What happens when the queue is full; `drop_oldest` unless given."),
    .optional(
      .credit, .integer(0...1_000_000_000), "Deliver so many events only, until `credit` lets more through."),
    .optional(
      .subscription, .name,
      "The client's own id for this subscription; a subscription that has it already is replaced."),
  ]

  private static let historyParameters: [LocalParameter] = [
    .optional(
      .events, .strings(count: 1...1_000, each: 1...1_024),
      "Names or globs (`*`, `?`, `\\` escapes) of events; absent means every event."),
    .optional(.since, .position, "Show the first events after this position; absent means the newest ones."),
    .optional(.limit, .amount, "Most events to show; \(usualHistory) unless given."),
  ]

  private static let usualHistory = 100

  private static let readHistory: LocalMethod.Reader = { params, line throws(LocalError) in
    var call = HistoryCall(
      target: try params.target(line), limit: try params.integer(.limit, line) ?? usualHistory)
    call.events = try params.strings(.events, line)
    if let position = try params.position(.since, line) {
      call.since = .since(epoch: position.epoch, sequence: position.sequence)
    }
    return .history(call)
  }

  private static let readSubscribe: LocalMethod.Reader = { params, line throws(LocalError) in
    var call = SubscribeCall(target: try params.target(line))
    call.events = try params.strings(.events, line)
    let last = try params.integer(.last, line)
    if let position = try params.position(.since, line) {
      guard last == nil else { throw .invalid("last", "\"subscribe\" takes either \"since\" or \"last\", not both.") }
      call.resume = .since(epoch: position.epoch, sequence: position.sequence)
    } else if let last {
      call.resume = .last(last)
    }
    call.strict = try params.boolean(.strict, line) ?? false
    call.state = try params.boolean(.state, line) ?? false
    call.answer = try params.boolean(.answer, line) ?? false
    call.queue = try params.integer(.queue, line)
    call.onSlow = try params.choice(.onSlow, line) ?? .dropOldest
    call.credit = try params.integer(.credit, line)
    call.subscription = try params.string(.subscription, line)
    return .subscribe(call)
  }
}
