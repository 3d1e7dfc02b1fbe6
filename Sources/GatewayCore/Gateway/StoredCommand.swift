/// A command as an entry of the outbox, and an entry as a command again.
extension OutboxEntry {
  /// What is kept of a command. `wall` is asked for milliseconds since 1970 where the command may expire.
  init(
    _ command: Command, for target: OutboxTarget, asked level: DeliveryLevel, key: String?, now: MonotonicInstant,
    wall: () -> Int64
  ) {
    self.init(
      number: command.number, id: command.id, owner: command.user, target: target, message: command.message,
      delivery: level, fingerprint: command.fingerprint, created: command.acceptedAt,
      expires: command.expires.map { wall() + ($0 - now).milliseconds }, groups: command.sender.groups,
      retries: command.retry?.again, ackTimeout: command.ackTimeout?.milliseconds,
      coalesce: command.coalescing?.value, key: key, attempts: command.retry?.writes ?? 0)
  }

  /// What a newer send takes its place by. What was only accepted, and moved here at a stop, is still one of these.
  var coalescing: Coalescing? {
    coalesce.map { Coalescing(user: owner, value: $0, isStored: delivery == .durable) }
  }

  /// The state under which a repeated `key` is answered.
  var keyState: String { state == .queued ? DeliveryLevel.durable.rawValue : state.rawValue }
}

extension Command {
  /// The command that an entry asks for. `wall` is in milliseconds since 1970.
  convenience init(_ entry: OutboxEntry, now: MonotonicInstant, wall: Int64) {
    self.init(
      id: entry.id, number: entry.number, message: entry.message, delivery: .durable,
      expires: entry.expires.map { now + .milliseconds($0 &- wall) }, acceptedAt: entry.created, owner: .none)
    sender = entry.sender
    fingerprint = entry.fingerprint
    durability = .stored
    if let retries = entry.retries {
      retry = Retry(again: retries, line: entry.owner)
      retry?.writes = entry.attempts
    }
    ackTimeout = entry.ackTimeout.map { .milliseconds($0) }
    coalescing = entry.coalescing
    if entry.reason == OutboxEntry.suspected { suspicion = .known(at: now) }
  }
}

extension UpstreamSpecification {
  /// A program gave an auth payload with the URL, or headers or query parameters.
  func hasCredentialsOfItsOwn(_ configuration: Configuration) -> Bool {
    name == nil && (settings.auth != configuration.adhocSettings.auth || options?.holdSecrets ?? false)
  }
}
