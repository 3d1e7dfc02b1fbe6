/// Remembers the `key` of sends for a day, so that a repeated send is recognised. In memory; the keys of what is in the
/// outbox come back from there.
struct IdempotencyTable {
  /// A key is unique per user and connection.
  struct Scope: Hashable {
    var uid: UInt32
    var connection: ConnectionKey
    var key: String
  }

  struct Entry: Equatable {
    var id: String
    /// Of event and arguments.
    var fingerprint: UInt64
    /// The last known state of the send, as its result would name it.
    var state: String
    var expires: MonotonicInstant
  }

  enum Lookup: Equatable {
    case fresh
    case duplicate(Entry)
    case conflict(Entry)
  }

  private static let lifetime: Duration = .seconds(86_400)
  private var entries: [Scope: Entry] = [:]
  private var scopes: [String: Scope] = [:]
  /// In the order of expiry, which is the order of their making.
  private var order: [(scope: Scope, id: String)] = []
  private var head = 0
  private var perUser: [UInt32: Int] = [:]

  mutating func find(_ scope: Scope, fingerprint: UInt64, now: MonotonicInstant) -> Lookup {
    dropExpired(now)
    guard let entry = entries[scope] else { return .fresh }
    return entry.fingerprint == fingerprint ? .duplicate(entry) : .conflict(entry)
  }

  /// Places in the list of expiry, those of forgotten keys included.
  var rememberedOrder: Int { order.count }

  /// Whether a user has so many keys; further ones are refused rather than that one is forgotten too early.
  func isFull(for user: UInt32, limit: Int) -> Bool { perUser[user, default: 0] >= limit }

  /// The key under which a send is known.
  func key(of id: String) -> String? { scopes[id]?.key }

  /// A key that an earlier life of the daemon heard so long ago. To be called in the order of their making.
  mutating func restore(
    _ scope: Scope, id: String, fingerprint: UInt64, state: String, age: Duration, now: MonotonicInstant
  ) {
    guard age < Self.lifetime, entries[scope] == nil else { return }
    add(scope, id: id, fingerprint: fingerprint, now: now + (.zero - age))
    entries[scope]?.state = state
  }

  mutating func add(_ scope: Scope, id: String, fingerprint: UInt64, now: MonotonicInstant) {
    entries[scope] = Entry(id: id, fingerprint: fingerprint, state: "accepted", expires: now + Self.lifetime)
    scopes[id] = scope
    order.append((scope, id))
    perUser[scope.uid, default: 0] += 1
    if order.count > 2 * entries.count + 1_024 { compact() }
  }

  /// The same for a command, most of which have no key.
  mutating func note(_ command: Command, state: String?) {
    if !scopes.isEmpty { note(command.id, state: state) }
  }

  /// The send reached another state; one that certainly never left frees its key.
  mutating func note(_ id: String, state: String?) {
    guard let scope = scopes[id] else { return }
    if let state {
      entries[scope]?.state = state
    } else {
      forget(scope, id)
    }
  }

  private mutating func forget(_ scope: Scope, _ id: String) {
    guard entries.removeValue(forKey: scope) != nil else { return }
    scopes[id] = nil
    let left = perUser[scope.uid, default: 1] - 1
    perUser[scope.uid] = left > 0 ? left : nil
  }

  /// Drops what is gone from the order, wherever it stands.
  private mutating func compact() {
    order = order[head...].filter { entries[$0.scope]?.id == $0.id }
    head = 0
  }

  private mutating func dropExpired(_ now: MonotonicInstant) {
    while head < order.count {
      let (scope, id) = order[head]
      if let entry = entries[scope], entry.id == id {
        guard entry.expires <= now else { return }
        forget(scope, id)
      }
      head += 1
    }
  }
}
