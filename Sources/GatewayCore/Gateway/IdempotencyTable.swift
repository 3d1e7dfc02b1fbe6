/// Remembers the `key` of sends for a day, so that a repeated send is recognised. In memory.
struct IdempotencyTable {
  /// A key is unique per user and connection.
  struct Scope: Hashable {
    var uid: UInt32
    var connection: ConnectionKey
    var key: String
  }

  struct Entry: Equatable {
    var id: String
    /// Of event and arguments; two contents that collide would have to agree in 64 random-keyed bits.
    var fingerprint: Int
    /// The last known state of the send, as its result would name it.
    var state: String
    var expires: MonotonicInstant
  }

  enum Lookup: Equatable {
    case fresh
    case duplicate(Entry)
    case conflict(Entry)
  }

  /// Keys beyond this count are refused rather than forgotten too early.
  static let limit = 100_000
  private static let lifetime: Duration = .seconds(86_400)
  private var entries: [Scope: Entry] = [:]
  private var scopes: [String: Scope] = [:]
  /// In the order of expiry, which is the order of their making.
  private var order: [Scope] = []
  private var head = 0

  static func fingerprint(of message: PreparedMessage) -> Int {
    var hasher = Hasher()
    hasher.combine(message.event)
    hasher.combine(message.body)
    hasher.combine(message.attachments)
    return hasher.finalize()
  }

  mutating func find(_ scope: Scope, fingerprint: Int, now: MonotonicInstant) -> Lookup {
    dropExpired(now)
    guard let entry = entries[scope] else { return .fresh }
    return entry.fingerprint == fingerprint ? .duplicate(entry) : .conflict(entry)
  }

  var isFull: Bool { entries.count >= Self.limit }

  mutating func add(_ scope: Scope, id: String, fingerprint: Int, now: MonotonicInstant) {
    entries[scope] = Entry(id: id, fingerprint: fingerprint, state: "accepted", expires: now + Self.lifetime)
    scopes[id] = scope
    order.append(scope)
  }

  /// The send reached another state; one that certainly never left frees its key.
  mutating func note(_ id: String, state: String?) {
    guard let scope = scopes[id] else { return }
    if let state {
      entries[scope]?.state = state
    } else {
      entries[scope] = nil
      scopes[id] = nil
    }
  }

  private mutating func dropExpired(_ now: MonotonicInstant) {
    while head < order.count {
      if let entry = entries[order[head]] {
        guard entry.expires <= now else { break }
        entries[order[head]] = nil
        scopes[entry.id] = nil
      }
      head += 1
    }
    if head > 1_024, head > order.count / 2 {
      order.removeFirst(head)
      head = 0
    }
  }
}
