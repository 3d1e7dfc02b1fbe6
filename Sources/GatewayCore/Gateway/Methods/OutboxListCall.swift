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
    // One more tells whether there are more.
    let choice = try selection.choice(for: session, need: .status, limit: limit + 1)
    let foreign = foreignSends(for: session, choice)
    try OpenAnswer.begin(id, in: session) {
      OutboxListAnswer($0, choice, foreign, states: selection.states, limit: limit)
    }
  }

  /// What this host writes for others that died: only administrators see it, for users are others there.
  private func foreignSends(for session: LocalSession, _ choice: OutboxSelection.Choice) -> [FleetSend] {
    guard selection.states?.contains(.queued) ?? true, let fleet = session.gateway.upstreams.fleet else { return [] }
    let resolver = session.gateway.upstreams.resolver
    return fleet.adoptedSends.filter { send in
      guard selection.ids?.contains(send.entry.id) ?? true, choice.isAllowed(send.record) else { return false }
      return session.caller.permit(.admin, resolver.rules(of: send.entry.target)).passes(send.entry.message.event)
    }
  }
}

extension OutboxListCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    selection = try OutboxSelection(params, line)
    limit = try params.integer(.limit, line) ?? 1_000
  }
}

/// The answer to `outbox.list` while it is being put together.
private final class OutboxListAnswer: PortionedAnswer {
  private var out = JSONWriter()
  private let search: OutboxSearch
  /// Whether the caller may see an entry now.
  private let isAllowed: (OutboxRecord) -> Bool
  private let states: Set<OutboxState>?
  /// What this host writes for others.
  private var foreign: ArraySlice<FleetSend>
  /// Entries that may still be written.
  private var room: Int
  /// Where the list begins.
  private let start: Int

  /// Entries that are written in one go: less than a millisecond.
  private static let portion = 256

  init(
    _ id: RequestID, _ choice: OutboxSelection.Choice, _ foreign: [FleetSend], states: Set<OutboxState>?, limit: Int
  ) {
    self.foreign = foreign[...]
    search = choice.search
    isAllowed = choice.isAllowed
    self.states = states
    room = limit
    LocalReply.begin(id, into: &out)
    out.key("entries")
    out.beginArray()
    start = out.bytes.count
  }

  var line: [UInt8] { out.bytes }

  func isLong(in gateway: Gateway) -> Bool { gateway.relay.outbox.count + foreign.count > Self.portion }

  func write(for session: LocalSession) -> Bool {
    var portion = OutboxSearch.portion
    guard search.look(&portion) else { return false }
    for _ in 0..<Self.portion {
      guard let record = search.next() else {
        guard let send = foreign.popFirst() else { return end(more: false) }
        guard room > 0, write(send.record, of: send.host, for: session) else { return end(more: true) }
        room -= 1
        continue
      }
      guard room > 0 else { return end(more: true) }
      room -= 1
      // It may have become another one since it was found.
      guard record.isKnown, isAllowed(record), states?.contains(record.entry.state) ?? true else { continue }
      guard write(record, for: session) else { return end(more: true) }
    }
    return false
  }

  /// Returns whether it had room in the line.
  private func write(_ record: OutboxRecord, of host: String? = nil, for session: LocalSession) -> Bool {
    let (entry, upstreams) = (record.entry, session.gateway.upstreams)
    let left = out.values(
      [record], within: StatusDocument.listLimit(session.gateway), from: start,
      tooLong: { OutboxDocument.write($0, of: host, ofBytes: $1, &$2) },
      {
        let mayAsk =
          entry.result == nil
          || upstreams.access.allows(
            .request, entry.message.event, at: upstreams.resolver.rules(of: entry.target), for: session.caller.identity)
        OutboxDocument.write($0, of: host, showsAnswer: mayAsk, &$1)
      })
    return left == 0
  }

  private func end(more: Bool) -> Bool {
    out.endArray()
    out.key("more")
    out.bool(more)
    LocalReply.end(&out)
    return true
  }
}

extension FleetSend {
  /// As an entry of the outbox.
  fileprivate var record: OutboxRecord {
    let record = OutboxRecord(entry, isCommitted: true)
    record.setElsewhere(true)
    return record
  }
}
