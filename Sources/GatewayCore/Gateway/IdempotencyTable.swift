/// Remembers the `key` of sends for a day, so that a repeated send is recognised. In memory; the keys of what is in the
/// outbox come back from there. Decision 0109.
struct IdempotencyTable {
  /// A key is unique per user and connection, and another one where a byte of it is.
  struct Scope: Hashable {
    var uid: UInt32
    /// The fingerprint of its key, by which the next daemon knows it, too.
    var connection: UInt64
    let key: ExactText

    init(uid: UInt32, connection: ConnectionKey, key: String) {
      self.init(uid: uid, fingerprint: connection.fingerprint, key: key)
    }

    init(uid: UInt32, fingerprint connection: UInt64, key: String) {
      (self.uid, self.connection, self.key) = (uid, connection, ExactText(key))
    }
  }

  struct Entry: Equatable {
    var id: String
    /// Of event and arguments.
    var fingerprint: UInt64
    /// The last known state of the send, as its result would name it.
    var state: String
    /// It is not known yet whether the send lasts, as it shall: it may still come to nothing.
    var isUndecided = false
    /// The call that may still take the send back; none where the send outlives its client.
    var caller = CommandOwner.none
    var expires: MonotonicInstant
  }

  enum Lookup: Equatable {
    case fresh
    case duplicate(Entry)
    case conflict(Entry)
  }

  /// How the upstream of a send was named, if by URL: what that means may change.
  private struct Origin {
    let target: CallTarget
    /// The connection that it meant.
    let connection: UInt64

    init?(_ target: CallTarget, _ connection: UInt64) {
      guard case .url = target.name else { return nil }
      // Without secrets, which are no part of the upstream's name.
      self.target = CallTarget(name: target.name, namespace: target.namespace)
      self.connection = connection
    }
  }

  private struct Home {
    var scope: Scope
    let place: UInt64
    let origin: Origin?
  }

  /// A key with all that is known of it.
  struct Kept {
    let scope: Scope
    /// How the upstream was named, if by URL; without secrets.
    let target: CallTarget?
    let entry: Entry
    let age: Duration
  }

  private static let lifetime: Duration = .seconds(Limits.keyHours * 3_600)
  private var entries = IncrementalTable<Scope, Entry>()
  /// Where each send's key stands.
  private var homes = IncrementalTable<String, Home>()
  /// In the order of expiry, which is the order of their making.
  private var order = TombstoneQueue<String>()
  private var perUser: [UInt32: Int] = [:]
  /// Told the id of a send of which it is known now whether it lasts. Must not use the table within the call.
  var onDecided: (String) -> Void = { _ in }

  mutating func find(_ scope: Scope, fingerprint: UInt64, now: MonotonicInstant) -> Lookup {
    dropExpired(now)
    guard let entry = entries[scope] else { return .fresh }
    return entry.fingerprint == fingerprint ? .duplicate(entry) : .conflict(entry)
  }

  /// The call that used a key and may still take its send back.
  func caller(_ scope: Scope) -> CommandOwner { entries[scope]?.caller ?? .none }

  /// Places in the list of expiry, those of forgotten keys included. For tests.
  var rememberedOrder: Int { order.slotCount }

  /// Whether a user has so many keys; further ones are refused rather than that one is forgotten too early.
  func isFull(for user: UInt32, limit: Int) -> Bool { perUser[user, default: 0] >= limit }

  /// The key under which a send is known.
  func key(of id: String) -> String? { homes[id]?.scope.key.text }

  /// A key that an earlier life of the daemon heard so long ago. To be called in the order of their making.
  mutating func restore(
    _ scope: Scope, target: CallTarget, id: String, fingerprint: UInt64, state: String, age: Duration,
    now: MonotonicInstant
  ) {
    guard age < Self.lifetime, entries[scope].map({ $0.id == id }) ?? true else { return }
    if entries[scope] == nil { add(scope, target: target, id: id, fingerprint: fingerprint, now: now + (.zero - age)) }
    entries[scope]?.state = state
  }

  /// What is still remembered, in the order of its making.
  func kept(at now: MonotonicInstant) -> [Kept] {
    homes.pairs.sorted { $0.value.place < $1.value.place }.compactMap { _, home in
      guard let entry = entries[home.scope], entry.expires > now else { return nil }
      return Kept(
        scope: home.scope, target: home.origin?.target, entry: entry, age: Self.lifetime - (entry.expires - now))
    }
  }

  /// The upstreams of URLs may be others since a reload: keys go along. `meaning` says which configured connection a
  /// target means for a user; nil: none.
  mutating func move(_ meaning: (CallTarget, _ uid: UInt32) -> ConnectionKey?) {
    var known: [ExactText: ConnectionKey?] = [:]
    for (id, home) in homes.pairs {
      guard let origin = home.origin, case .url(let url) = origin.target.name, let entry = entries[home.scope] else {
        continue
      }
      let words = ExactText("\(home.scope.uid) \(origin.target.namespace ?? "") \(url)")
      if known[words] == nil { known[words] = .some(meaning(origin.target, home.scope.uid)) }
      var scope = home.scope
      scope.connection = (known[words] ?? nil)?.fingerprint ?? origin.connection
      guard scope != home.scope, entries[scope] == nil else { continue }
      entries[home.scope] = nil
      entries[scope] = entry
      homes[id]?.scope = scope
    }
  }

  /// `target`: how the upstream was named.
  mutating func add(
    _ scope: Scope, target: CallTarget, id: String, fingerprint: UInt64, isUndecided: Bool = false,
    caller: CommandOwner = .none, now: MonotonicInstant
  ) {
    if let older = entries[scope] { forget(older.id) }
    // It stood under another connection.
    forget(id)
    entries[scope] = Entry(
      id: id, fingerprint: fingerprint, state: "accepted", isUndecided: isUndecided, caller: caller,
      expires: now + Self.lifetime)
    homes[id] = Home(scope: scope, place: order.append(id), origin: Origin(target, scope.connection))
    perUser[scope.uid, default: 0] += 1
  }

  /// The same for a command, most of which have no key.
  mutating func note(_ command: Command, state: @autoclosure () -> String?) {
    if !homes.isEmpty { note(command.id, state: state()) }
  }

  /// The send reached another state; one that certainly never left frees its key.
  mutating func note(_ id: String, state: String?) {
    guard let scope = homes[id]?.scope, let entry = entries[scope] else { return }
    if let state {
      entries[scope]?.state = state
      entries[scope]?.isUndecided = false
    } else {
      forget(id)
    }
    if entry.isUndecided { onDecided(id) }
  }

  private mutating func forget(_ id: String) {
    guard let home = homes.removeValue(forKey: id) else { return }
    entries[home.scope] = nil
    order.remove(at: home.place)
    let left = perUser[home.scope.uid, default: 1] - 1
    perUser[home.scope.uid] = left > 0 ? left : nil
  }

  private mutating func dropExpired(_ now: MonotonicInstant) {
    while let id = order.first, let scope = homes[id]?.scope, let entry = entries[scope], entry.expires <= now {
      forget(id)
    }
  }
}
