/// What a connection is, whatever settings it has.
struct ConnectionIdentity {
  /// By which local programs know it.
  let id: String
  let key: ConnectionKey
  /// On whose account it was made.
  let account: Account
  /// How the outbox names it.
  let target: OutboxTarget

  init(id: String, key: ConnectionKey, _ specification: UpstreamSpecification) {
    self.id = id
    self.key = key
    account = specification.requester
    target = OutboxTarget(specification)
  }
}
