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
    let isQueuedWanted = selection.states?.contains(.queued) ?? true
    let foreign = isQueuedWanted ? session.gateway.upstreams.fleet.map { ForeignSends($0) } : nil
    try OpenAnswer.begin(id, in: session) { OutboxListAnswer($0, choice, foreign, selection, limit: limit) }
  }
}

extension OutboxListCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    selection = try OutboxSelection(params, line)
    limit = try params.integer(.limit, line) ?? 1_000
  }
}

/// What this host writes for others that died, in the order of their places and hosts: a portion at a time, as it is then.
private struct ForeignSends {
  private let fleet: Fleet
  private var places: ArraySlice<FleetPlace>
  private var portion: ArraySlice<FleetSend> = []
  /// The last one of the portion.
  private var last: FleetSend.Rank?

  init(_ fleet: Fleet) {
    self.fleet = fleet
    places = fleet.places[...]
  }

  var count: Int { places.reduce(0) { $0 + (fleet.holder(of: $1)?.adopted.count ?? 0) } }

  mutating func next() -> FleetSend? {
    while portion.isEmpty {
      guard let place = places.first else { return nil }
      let found = fleet.holder(of: place)?.adopted.next(OutboxListAnswer.portion, behind: last) ?? []
      (portion, last) = (found[...], found.last?.rank)
      if found.isEmpty { places = places.dropFirst() }
    }
    return portion.popFirst()
  }
}

/// The answer to `outbox.list` while it is being put together.
private final class OutboxListAnswer: PortionedAnswer {
  private var out = JSONWriter()
  private let search: OutboxSearch
  /// Whether the caller may see an entry now.
  private let isAllowed: (OutboxRecord) -> Bool
  private let selection: OutboxSelection
  private var foreign: ForeignSends?
  /// Entries that may still be written.
  private var room: Int
  /// Where the list begins.
  private let start: Int

  /// Entries that are written in one go: less than a millisecond.
  fileprivate static let portion = 256

  init(
    _ id: RequestID, _ choice: OutboxSelection.Choice, _ foreign: ForeignSends?, _ selection: OutboxSelection,
    limit: Int
  ) {
    self.foreign = foreign
    search = choice.search
    isAllowed = choice.isAllowed
    self.selection = selection
    room = limit
    LocalReply.begin(id, into: &out)
    out.key("entries")
    out.beginArray()
    start = out.bytes.count
  }

  var line: [UInt8] { out.bytes }

  func isLong(in gateway: Gateway) -> Bool { gateway.relay.outbox.count + (foreign?.count ?? 0) > Self.portion }

  func write(for session: LocalSession) -> Bool {
    var portion = OutboxSearch.portion
    guard search.look(&portion) else { return false }
    for _ in 0..<Self.portion {
      guard let record = search.next() else {
        guard let send = foreign?.next() else { return end(more: false) }
        guard isShown(send, to: session) else { continue }
        guard room > 0, write(send.record, of: send.host, for: session) else { return end(more: true) }
        room -= 1
        continue
      }
      guard room > 0 else { return end(more: true) }
      room -= 1
      // It may have become another one since it was found.
      guard record.isKnown, isAllowed(record), selection.states?.contains(record.entry.state) ?? true else { continue }
      guard write(record, for: session) else { return end(more: true) }
    }
    return false
  }

  /// Only administrators see what is of another host, for users are others there.
  private func isShown(_ send: FleetSend, to session: LocalSession) -> Bool {
    guard selection.ids?.contains(send.entry.id) ?? true, isAllowed(send.record) else { return false }
    let rules = session.gateway.upstreams.resolver.rules(of: send.entry.target)
    return session.caller.permit(.admin, rules).passes(send.entry.message.event)
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
