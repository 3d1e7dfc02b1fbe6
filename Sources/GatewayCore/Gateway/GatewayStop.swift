/// How the gateway empties itself and ends: what is queued gets its chance to leave, in a limited time.
final class GatewayStop {
  private enum State {
    /// May become `draining` or `stopping`.
    case running
    /// Nothing new is taken. May become `stopping`.
    case draining
    /// The daemon ends: no client is taken either. Becomes `closed`.
    case stopping
    /// The links are being closed, a portion in each turn, and the histories with them: what was written is left to the
    /// disk.
    case closed
  }

  private var state = State.running
  private let upstreams: Upstreams
  private let relay: OutboxRelay
  private let seams: GatewaySeams
  /// The stop's own: what users have in portions does not hold it up.
  private let work: SlicedWork

  init(_ upstreams: Upstreams, _ relay: OutboxRelay, _ seams: GatewaySeams) {
    self.upstreams = upstreams
    self.relay = relay
    self.seams = seams
    work = SlicedWork(seams.timers)
  }

  /// Whether nothing new is taken.
  var isDraining: Bool { state != .running }
  /// Whether the daemon ends.
  var isStopping: Bool { state == .stopping || state == .closed }
  /// Whether nothing is known of upstreams any more.
  var isClosed: Bool { state == .closed }

  /// Takes nothing new and gives what is queued its chance to leave. `done` is called once, when everything has left or
  /// when the time is over, with how many sends are left; or at once when it is not asked for any more.
  func drain(within limit: Duration, while isWanted: @escaping () -> Bool, _ done: @escaping (Int) -> Void) {
    if state == .running { state = .draining }
    let deadline = seams.time.now + limit
    flushAll(until: deadline)
    wait(until: deadline, { connection, _ in connection.isFlushed || !isWanted() }) { [weak self] in
      done(self?.leftCount ?? 0)
    }
  }

  /// Sends that wait to be written or acknowledged.
  private var leftCount: Int {
    upstreams.pool.inNoOrder.reduce(0) { $0 + $1.delivery.commands.count }
      + relay.outbox.unfinished.count { $0.connection == nil }
  }

  /// Nothing new is taken; queued sends get their chance within `limit`, then every link is closed, those of a fleet first,
  /// and what is left moves to the outbox. `done` is called once, with how many sends are in the outbox without an outcome.
  func stop(within limit: Duration, _ done: @escaping (Int) -> Void) {
    state = .stopping
    let patience = StopPatience(upstreams.pool.inNoOrder, now: seams.time.now)
    let deadline = seams.time.now + limit
    flushAll(until: deadline)
    wait(until: deadline, { !patience.waits(for: $0, at: $1) }) { [weak self] in
      self?.giveLinksAway { self?.close(done) }
    }
  }

  /// The links that this host has for its fleet are closed before all others, and in order: what they have not written other
  /// hosts write.
  private func giveLinksAway(_ done: @escaping () -> Void) {
    guard let fleet = upstreams.fleet else { return done() }
    fleet.leave(within: Self.leaveLimit, isLast: true, done)
  }

  /// How long that may take.
  private static let leaveLimit: Duration = .seconds(1)

  private func close(_ done: @escaping (Int) -> Void) {
    state = .closed
    let shutDown = { (connection: Connection) in
      if connection.state != .released { connection.shutDown() }
    }
    work.forEach(of: upstreams.pool.all, portion: Self.portion, for: .configuration, shutDown) { [relay] in
      Self.finishCopies(of: relay.outbox) {
        relay.outbox.close { done(relay.outbox.usage.total.count) }
      }
    }
  }

  /// What is left goes to where copies are, where that is its home, and to the disk where nothing answers there.
  private static func finishCopies(of outbox: Outbox, _ done: @escaping () -> Void) {
    guard let copies = outbox.copies else { return done() }
    copies.finish(within: copyLimit, done)
  }

  /// How long an answer from there is awaited.
  private static let copyLimit: Duration = .seconds(1)

  /// Gives each connection its last chance. Thousands take tens of milliseconds: a portion of them in each turn, the
  /// first in this one; those whose turn has not come when the time is over have none. Meanwhile they are waited for
  /// already: what is queued in them keeps them from being ready.
  private func flushAll(until deadline: MonotonicInstant) {
    let isOver = { [self] in isClosed || seams.time.now >= deadline }
    work.forEach(
      of: upstreams.pool.all, portion: Self.portion, for: .configuration, until: isOver, { $0.flushForStop() })
  }

  /// Connections that are gone through in one go, at most.
  private static let portion = 256

  /// Calls back when every connection is ready, or when the time is over.
  private func wait(
    until deadline: MonotonicInstant, _ isReady: @escaping (Connection, MonotonicInstant) -> Bool,
    _ done: @escaping () -> Void
  ) {
    let now = seams.time.now
    guard now < deadline, !upstreams.pool.inNoOrder.allSatisfy({ isReady($0, now) }) else { return done() }
    seams.timers.after(.milliseconds(20)) { [weak self] in self?.wait(until: deadline, isReady, done) }
  }
}

/// Which connections a stop waits for: those that may still let out what is queued. One that was down already when the
/// stop began gets one attempt more and a short time for it, so that a server that is known to be away costs no stop
/// its whole time.
private struct StopPatience {
  /// How long a connection may take that was down.
  static let lastChance: Duration = .seconds(2)

  /// The number of the last attempt of each connection that was down.
  private let attempts: [ObjectIdentifier: UInt64]
  private let end: MonotonicInstant

  init(_ connections: some Collection<Connection>, now: MonotonicInstant) {
    let down = connections.filter { $0.state == .disconnected || $0.failedAttempts > 0 && $0.state != .connected }
    attempts = Dictionary(
      uniqueKeysWithValues: down.map {
        (ObjectIdentifier($0), $0.state == .disconnected ? $0.generation : $0.generation - 1)
      })
    end = now + Self.lastChance
  }

  func waits(for connection: Connection, at now: MonotonicInstant) -> Bool {
    guard !connection.isFlushed else { return false }
    guard connection.endings.isEmpty else { return true }
    guard connection.state != .connected else { return true }
    guard connection.expectsAttempt else { return false }
    guard let before = attempts[ObjectIdentifier(connection)] else { return true }
    return now < end && (connection.state != .disconnected || connection.generation == before)
  }
}
