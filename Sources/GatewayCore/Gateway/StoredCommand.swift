/// A command as an entry of the outbox, and an entry as a command again.
extension OutboxEntry {
  /// What a newer send takes its place by. What was only accepted, and moved here at a stop, is still one of these.
  var coalescing: Coalescing? {
    coalesce.map { Coalescing(user: owner, value: $0, isStored: delivery == .durable) }
  }

  /// The state under which a repeated `key` is answered.
  var keyState: String { state == .queued ? DeliveryLevel.durable.rawValue : state.rawValue }
}

extension Command {
  /// What is kept of it. `clocks` are those of the outbox.
  func entry(
    for target: OutboxTarget, asked level: DeliveryLevel, key: String?, at clocks: Arrival
  ) -> OutboxEntry {
    // Its members in their order, so that it is made where it is returned, and not copied there.
    OutboxEntry(
      number: number, id: id, owner: user, groups: sender.groups, target: target, message: message, delivery: level,
      retries: retry?.again, ackTimeout: ackTimeout?.milliseconds, coalesce: coalescing?.value.text, key: key,
      fingerprint: fingerprint, created: acceptedAt,
      expires: expires.map { clocks.wallMilliseconds + $0.milliseconds(since: clocks.instant) },
      attempts: retry?.writes ?? 0)
  }

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
