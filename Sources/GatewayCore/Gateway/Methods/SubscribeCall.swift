/// `subscribe`: the events of an upstream.
extension SubscribeCall: LocalCall {
  static let method = LocalMethod(
    "subscribe", "Delivers the events of an upstream, after a snapshot of where it stands.", right: .subscribe,
    parameters: LocalParameter.target + [
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
    ],
    result: ResultSchemas.subscribe)

  static let startsWork = true

  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    self.init(target: try params.target(line))
    events = try params.strings(.events, line)
    let last = try params.integer(.last, line)
    if let position = try params.position(.since, line) {
      guard last == nil else { throw .invalid("last", "\"subscribe\" takes either \"since\" or \"last\", not both.") }
      resume = .since(epoch: position.epoch, sequence: position.sequence)
    } else if let last {
      resume = .last(last)
    }
    strict = try params.boolean(.strict, line) ?? false
    state = try params.boolean(.state, line) ?? false
    answer = try params.boolean(.answer, line) ?? false
    queue = try params.integer(.queue, line)
    onSlow = try params.choice(.onSlow, line) ?? .dropOldest
    credit = try params.integer(.credit, line)
    subscription = try params.string(.subscription, line)
  }

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) { try session.subscribe(self, id) }
}
