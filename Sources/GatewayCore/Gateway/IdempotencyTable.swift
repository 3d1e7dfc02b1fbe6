/// Remembers the `key` of sends for a day, so that a repeated send is recognised. In memory; the keys of what is in the
/// outbox come back from there. Decision 0109.
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
  /// Where each send's key stands.
  private var homes: [String: (scope: Scope, place: UInt64)] = [:]
  /// In the order of expiry, which is the order of their making.
  private var order = TombstoneQueue<String>()
  private var perUser: [UInt32: Int] = [:]

  mutating func find(_ scope: Scope, fingerprint: UInt64, now: MonotonicInstant) -> Lookup {
    dropExpired(now)
    guard let entry = entries[scope] else { return .fresh }
    return entry.fingerprint == fingerprint ? .duplicate(entry) : .conflict(entry)
  }

  /// Places in the list of expiry, those of forgotten keys included. For tests.
  var rememberedOrder: Int { order.slotCount }

  /// Whether a user has so many keys; further ones are refused rather than that one is forgotten too early.
  func isFull(for user: UInt32, limit: Int) -> Bool { perUser[user, default: 0] >= limit }

  /// The key under which a send is known.
  func key(of id: String) -> String? { homes[id]?.scope.key }

  /// A key that an earlier life of the daemon heard so long ago. To be called in the order of their making.
  mutating func restore(
    _ scope: Scope, id: String, fingerprint: UInt64, state: String, age: Duration, now: MonotonicInstant
  ) {
    guard age < Self.lifetime, entries[scope] == nil else { return }
    add(scope, id: id, fingerprint: fingerprint, now: now + (.zero - age))
    entries[scope]?.state = state
  }

  /// Keys of a connection go on to count for another one, which has its upstream since a reload.
  mutating func move(_ newHome: (ConnectionKey) -> ConnectionKey?) {
    var known: [ConnectionKey: ConnectionKey?] = [:]
    for (id, home) in homes {
      let old = home.scope
      if known[old.connection] == nil { known[old.connection] = .some(newHome(old.connection)) }
      guard case let connection?? = known[old.connection], let entry = entries[old] else { continue }
      var scope = old
      scope.connection = connection
      guard entries[scope] == nil else { continue }
      entries[old] = nil
      entries[scope] = entry
      homes[id] = (scope, home.place)
    }
  }

  mutating func add(_ scope: Scope, id: String, fingerprint: UInt64, now: MonotonicInstant) {
    if let older = entries[scope] { forget(older.id) }
    entries[scope] = Entry(id: id, fingerprint: fingerprint, state: "accepted", expires: now + Self.lifetime)
    homes[id] = (scope, order.append(id))
    perUser[scope.uid, default: 0] += 1
  }

  /// The same for a command, most of which have no key.
  mutating func note(_ command: Command, state: String?) {
    if !homes.isEmpty { note(command.id, state: state) }
  }

  /// The send reached another state; one that certainly never left frees its key.
  mutating func note(_ id: String, state: String?) {
    guard let state else { return forget(id) }
    if let scope = homes[id]?.scope { entries[scope]?.state = state }
  }

  private mutating func forget(_ id: String) {
    guard let (scope, place) = homes.removeValue(forKey: id) else { return }
    entries[scope] = nil
    order.remove(at: place)
    let left = perUser[scope.uid, default: 1] - 1
    perUser[scope.uid] = left > 0 ? left : nil
  }

  private mutating func dropExpired(_ now: MonotonicInstant) {
    while let id = order.first, let scope = homes[id]?.scope, let entry = entries[scope], entry.expires <= now {
      forget(id)
    }
  }
}
