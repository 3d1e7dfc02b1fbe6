/// `outbox.list`: durable sends, and what became of them.
struct OutboxListCall: LocalCall {
  var selection: OutboxSelection
  /// Most entries of the answer.
  var limit: Int

  static let method = LocalMethod(
    "outbox.list", "Lists durable sends and what became of them, the oldest first.", right: .status,
    parameters: LocalParameter.optionalTarget + OutboxSelection.parameters + [
      .optional(.limit, .integer(1...10_000), "How many entries at most; 1000 unless given.")
    ],
    result: ResultSchemas.outbox)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandStatus()
    let records = try selection.records(for: session, need: .status, limit: limit + 1)
    let upstreams = session.gateway.upstreams
    func mayAsk(_ entry: OutboxEntry) -> Bool {
      entry.result == nil
        || upstreams.access.allows(
          .request, entry.message.event, at: upstreams.resolver.rules(of: entry.target), for: session.caller.identity)
    }
    session.reply(id) { out in
      out.key("entries")
      out.beginArray()
      let left = out.values(
        Array(records.prefix(limit)), within: StatusDocument.listLimit(session.gateway),
        tooLong: { OutboxDocument.write($0, ofBytes: $1, &$2) },
        { OutboxDocument.write($0, showsAnswer: mayAsk($0.entry), &$1) })
      out.endArray()
      out.key("more")
      out.bool(records.count > limit || left > 0)
    }
  }
}

extension OutboxListCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    selection = try OutboxSelection(params, line)
    limit = try params.integer(.limit, line) ?? 1_000
  }
}
