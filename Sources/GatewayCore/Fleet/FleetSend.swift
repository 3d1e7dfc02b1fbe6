/// A durable send of a host that died, as the one that holds has it.
struct FleetSend: Equatable, Sendable {
  /// Of its row: `HOST/ID`.
  let name: String
  let host: String
  /// As its host accepted it.
  var entry: OutboxEntry

  /// Nil for what no host writes.
  init?(name: String, _ fields: FleetFields, place: FleetPlace) {
    guard let (host, id) = Self.parts(of: name) else { return nil }
    (self.name, self.host) = (name, host)
    let target = OutboxTarget(name: .upstream(place.upstream), namespace: place.namespace)
    guard let entry = OutboxEntry(fields, id: id, to: target) else { return nil }
    self.entry = entry
  }

  /// Whose it is, and its id, which is unique for all time and all hosts; nil for what no host writes.
  static func parts(of name: String) -> (host: String, id: String)? {
    name.firstIndex(of: "/").map { (String(name[..<$0]), String(name[name.index(after: $0)...])) }
  }

  /// That name.
  static func name(of id: String, from host: String) -> String { "\(host)/\(id)" }

  /// Those of the fleet's rows that have no outcome.
  static func waiting(in rows: [String: [UInt8]], of place: FleetPlace) -> [FleetSend] {
    rows.compactMap { name, bytes in
      guard case .waiting(let fields) = FleetBoxRow(bytes) else { return nil }
      return FleetSend(name: name, fields, place: place)
    }
  }

  /// Without its content.
  var summary: FleetSend {
    var send = self
    send.entry.message = PreparedMessage(event: entry.message.event, body: [])
    return send
  }

  /// Whether a newer one takes its place: of the same host, user and value.
  func gives(wayTo other: FleetSend) -> Bool {
    entry.coalescing != nil && entry.coalescing == other.entry.coalescing && host == other.host
      && entry.number < other.entry.number
  }
}

extension FleetSend: Comparable {
  /// Where one stands: those of one host in the order of their acceptance.
  struct Rank: Comparable {
    let host: String
    let number: UInt64
    /// Of its row.
    let name: String

    static func < (a: Rank, b: Rank) -> Bool { (a.host, a.number, a.name) < (b.host, b.number, b.name) }
  }

  var rank: Rank { Rank(host: host, number: entry.number, name: name) }

  static func < (a: FleetSend, b: FleetSend) -> Bool { a.rank < b.rank }
}

/// A durable send as a row of the fleet: what another host needs to write it, and its own to know it again.
extension OutboxEntry {
  /// Beside the message: `id`, `i` number, `u` uid, `g` groups, `d` level, `r` retries, `l` time-out of an acknowledgement,
  /// `m` coalesce, `j` key, `f` fingerprint, `c` created, `e` expires.
  var row: FleetFields {
    var fields = FleetFields()
    fields.add("id", id)
    fields.add("i", number)
    fields.add("u", UInt64(owner))
    fields.add("g", groups.map { String($0) }.joined(separator: ","))
    fields.add("d", delivery.rawValue)
    if let retries { fields.add("r", UInt64(retries)) }
    if let ackTimeout { fields.add("l", String(ackTimeout)) }
    if let coalesce { fields.add("m", coalesce) }
    if let key { fields.add("j", key) }
    fields.add("f", fingerprint)
    fields.add("c", String(created))
    if let expires { fields.add("e", String(expires)) }
    message.add(to: &fields)
    return fields
  }

  /// In milliseconds: no program waits for less between two writes of the same, nor for more than a year.
  private static let ackTimeouts: ClosedRange<Int64> = 100...31_536_000_000
  /// In milliseconds since 1970, up to the year 9999: whoever may write in Redis can write any number.
  private static let instants: ClosedRange<Int64> = -253_402_300_799_999...253_402_300_799_999

  /// Nil for what has no message.
  init?(_ fields: FleetFields, id: String, to target: OutboxTarget) {
    guard let message = PreparedMessage(fields) else { return nil }
    func number(_ name: String, in range: ClosedRange<Int64>) -> Int64? {
      fields.text(name).flatMap { Int64($0) }.map { min(max($0, range.lowerBound), range.upperBound) }
    }
    self.init(
      number: fields.number("i") ?? 0, id: id, owner: UInt32(clamping: fields.number("u") ?? 0), target: target,
      message: message, delivery: fields.text("d").flatMap { DeliveryLevel(rawValue: $0) } ?? .durable,
      fingerprint: fields.number("f") ?? 0, created: number("c", in: Self.instants) ?? 0,
      expires: number("e", in: Self.instants))
    groups = (fields.text("g") ?? "").split(separator: ",").compactMap { UInt32($0) }
    retries = fields.number("r").map { min(Int(clamping: $0), Retry.limit) }
    ackTimeout = number("l", in: Self.ackTimeouts)
    coalesce = fields.text("m")
    key = fields.text("j")
  }
}

/// What became of a durable send, as its row says it.
struct FleetSendEnd: Equatable, Sendable {
  var state: OutboxState
  /// In a word for programs that look at the outbox.
  var reason: String?
  /// What the server acknowledged with: comma-separated JSON text.
  var answer: [UInt8]?

  init(_ state: OutboxState, reason: String? = nil, answer: [UInt8]? = nil) {
    (self.state, self.reason) = (state, reason)
    self.answer = answer.flatMap { $0.count <= OutboxEntry.resultLimit ? $0 : nil }
  }

  /// `s` the state, `r` why, `a` the answer.
  var row: FleetBoxRow {
    var fields = FleetFields()
    fields.add("s", state.rawValue)
    if let reason { fields.add("r", reason) }
    fields.add("a", ifSet: answer)
    return .finished(fields)
  }

  init?(_ fields: FleetFields) {
    guard let state = fields.text("s").flatMap({ OutboxState(rawValue: $0) }), state.isFinal else { return nil }
    let isKept = (fields["a"]?.count ?? 0) <= OutboxEntry.resultLimit
    self.init(state, reason: fields.text("r"), answer: isKept ? fields.elements("a") : nil)
  }
}
