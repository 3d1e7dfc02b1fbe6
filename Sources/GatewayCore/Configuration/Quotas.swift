/// `[quota]`: what one user may have. Nil leaves it to `[limits]` and `[outbox]`, or unlimited.
struct Quota: Equatable, Sendable {
  /// Local clients, in the place of `limits.clients_per_user`.
  var clients: Int?
  /// Subscriptions of all clients of the user.
  var subscriptions: Int?
  /// Sends per second, with a burst of as many.
  var sends: Int?
  /// Their bytes per second, with a burst of as many.
  var bytes: Int?
  /// Connections by URL and to other namespaces, in the place of half of `limits.connections`.
  var connections: Int?
  /// Unfinished entries of the outbox.
  var outbox: Int?
  init() {}
}

/// `[quota]`, and for members of groups `[quota.group.NAME]`.
struct Quotas: Equatable, Sendable {
  /// Of every user.
  var user = Quota()
  /// Of members of groups, by the group's id.
  var groups: [UInt32: Quota] = [:]
  init() {}

  var isEmpty: Bool { user == Quota() && groups.isEmpty }

  /// Whether any of them bounds what is sent in a second.
  var hasRates: Bool { ([user] + groups.values).contains { $0.sends != nil || $0.bytes != nil } }

  /// What a user may have: of each quota the largest of those of the user's groups; where none of them says anything,
  /// that of every user.
  func quota(of identity: AccessIdentity) -> Quota {
    guard !groups.isEmpty else { return user }
    let own = Set(identity.groups).compactMap { groups[$0] }
    func largest(_ value: (Quota) -> Int?) -> Int? { own.compactMap(value).max() ?? value(user) }
    var quota = Quota()
    quota.clients = largest(\.clients)
    quota.subscriptions = largest(\.subscriptions)
    quota.sends = largest(\.sends)
    quota.bytes = largest(\.bytes)
    quota.connections = largest(\.connections)
    quota.outbox = largest(\.outbox)
    return quota
  }
}
