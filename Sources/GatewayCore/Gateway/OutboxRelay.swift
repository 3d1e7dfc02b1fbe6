/// Between the outbox and the connections that carry what is in it: what becomes an entry, which connection has it, and
/// what became of it. The numbers and keys of sends too, which outlive the daemon with it.
final class OutboxRelay {
  /// For what does not keep it: each durable send asks for it when the disk has it.
  let reference = LightReference<OutboxRelay>()
  /// What is kept on disk.
  let outbox: Outbox
  /// The keys of sends that are remembered.
  var keys = IdempotencyTable()
  /// Calls that repeat sends which are not on the disk yet.
  let repeats: RepeatedSends
  private let upstreams: Upstreams
  private let time: any TimeSource
  let timers: Timers
  private var withheld = WithheldSends()
  /// What hands the sends to other connections, while that takes several turns.
  private var placement: OutboxPlacement?
  /// Its turns: connections wait for it, which what users have in portions must not prolong.
  private let work: SlicedWork
  /// What the ids of this daemon's sends begin with.
  private let life: String
  /// What the next send gets: all that there are have lower ones.
  private(set) var nextNumber: UInt64
  /// Those that earlier processes may have given to sends which this one's disk does not know.
  private var earlierNumbers: Range<UInt64> = 0..<0
  /// More than any process gives in a millisecond.
  private static let numbersPerMillisecond: UInt64 = 1 << 10

  /// What hears from the disk of durable sends.
  private let heard: (OutboxRecord?, StorageProblem?) -> Void

  /// Told that the send behind a client's call is on disk: the client, its call, and the id of the send.
  var onStored: (UInt64, UInt64, String, Connection) -> Void = { _, _, _, _ in }
  /// Told what happened, for the log.
  var onFact: (GatewayFact) -> Void = { _ in }

  /// `instance` is random per start.
  init(_ opening: OutboxOpening, settings: OutboxSettings, upstreams: Upstreams, instance: String, seams: GatewaySeams)
  {
    outbox = Outbox(opening, settings: settings, time: seams.time)
    nextNumber = outbox.lastNumber + 1
    life = instance.prefix(13) + "-"
    self.upstreams = upstreams
    time = seams.time
    timers = seams.timers
    work = SlicedWork(seams.timers)
    repeats = RepeatedSends(seams.timers)
    keys.onDecided = { [repeats] in repeats.decided($0) }
    heard = { [reference] record, problem in
      guard let record, let send = record.awaited.take(), let relay = reference.object,
        relay.outbox.decided(record, problem)
      else { return }
      relay.stored(record, send, problem)
    }
    reference.begin(self)
  }

  deinit { reference.end() }

  /// Takes up what an earlier daemon left: before any connection is used.
  func start() {
    outbox.rows.onCondition = { [unowned self] in onFact(.outbox($0)) }
    outbox.rows.onWarning = { [unowned self] in onFact(.outboxWarning($0)) }
    rememberKeys()
    beginPlacement().placeAll()
    placement = nil
  }

  /// Whether durable sends are taken: for `hello`.
  var keepsSends: Bool { outbox.rows.condition == .working || outbox.copies?.isHome == true }

  /// The number of a send, which grows over restarts.
  func makeNumber() -> UInt64 {
    defer { nextNumber += 1 }
    return nextNumber
  }

  /// Others may know of sends that earlier processes accepted, and this one's disk does not: all that it accepts from now on
  /// stand behind them, as long as the clock is not set back from one process to the next.
  func numberByClock() {
    let first = nextNumber
    nextNumber = max(first, UInt64(clamping: time.wallMilliseconds) &* Self.numbersPerMillisecond)
    earlierNumbers = first..<nextNumber
  }

  /// The number of a send that an earlier process accepted, by the number that it had there: the same, so that it stands
  /// where it stood, or a new one where it cannot have that any more.
  func numberAgain(_ number: UInt64) -> UInt64 {
    earlierNumbers.contains(number) && outbox.usage.record(number) == nil ? number : makeNumber()
  }

  /// The globally unique id of the send of a number.
  func commandID(_ number: UInt64) -> CommandID { CommandID(life: life, number: number) }

  // MARK: - A new entry

  /// Makes a command last that its connection has queued; the caller hears when it is safe.
  func store(_ command: Command, on connection: Connection, asked level: DeliveryLevel, key: String?) {
    let owner = command.owner
    let entry = entry(for: command, on: connection, asked: level, key: key)
    guard let record = outbox.take(consume entry, carriedBy: (connection, command)) else { return }
    record.awaited = OutboxRecord.AwaitedSend(command: command, owner: owner, connection: connection)
    outbox.makeLast(record, OutboxWaiter(record, heard))
  }

  private func entry(
    for command: Command, on connection: Connection, asked level: DeliveryLevel, key: String?
  ) -> OutboxEntry {
    command.entry(for: connection.outboxTarget, asked: level, key: key, at: outbox.clocks())
  }

  private func stored(_ record: OutboxRecord, _ send: OutboxRecord.AwaitedSend, _ problem: StorageProblem?) {
    let (command, connection) = (send.command, send.connection)
    if let problem { return connection.reject(command, problem) }
    if case .call(let client, let request) = send.owner { onStored(client, request, record.entry.id, connection) }
    if record.entry.key != nil { keys.note(record.entry.id, state: DeliveryLevel.durable.rawValue) }
    replaceWithheld(by: command.coalescing, command.number, on: connection)
    if !connection.isAllowed(command) {
      withhold(command)
    } else {
      keepCopy(of: record)
      connection.committed(command)
    }
    placeIfHomeless(record)
    makeRoom(for: record)
  }

  /// With `drop_oldest` older ones give way to an entry that is on disk.
  private func makeRoom(for record: OutboxRecord) {
    while let surplus = outbox.surplus(after: record) {
      finish(surplus, .dropped, reason: "outbox_full")
    }
  }

  /// The entry whose place a durable send takes once it is on disk.
  func older(_ coalescing: Coalescing, on connection: Connection) -> OutboxRecord? {
    withheld.older(coalescing, on: connection.key)
      ?? connection.delivery.commands.queue.older(coalescing).flatMap(outbox.record(of:))
  }

  /// The name of the event of what a send with that value takes the place of.
  func replaced(by coalescing: Coalescing, on connection: Connection) -> String? {
    withheld.older(coalescing, on: connection.key)?.entry.message.event
      ?? connection.delivery.commands.queue.older(coalescing)?.message.event
  }

  /// A newer send has come for an entry that waits for a right: it would come back as the last one otherwise.
  func replaceWithheld(by coalescing: Coalescing?, _ number: UInt64, on connection: Connection) {
    guard let coalescing, let older = withheld.older(coalescing, on: connection.key), older.entry.number < number
    else { return }
    finish(older, .dropped, reason: OutboxEntry.coalesced)
  }

  /// A failed entry begins anew, at the end of the queue and with its whole time-to-live; in the name of the program
  /// that wants it, if that is one of the same user.
  func sendAgain(_ id: String, for identity: AccessIdentity, _ done: @escaping (StorageProblem?) -> Void) {
    let now = outbox.wallMilliseconds()
    guard let revived = outbox.revive(id) else { return done(nil) }
    let old = revived.entry
    var entry = old
    if identity.uid == entry.owner { entry.groups = identity.groups }
    entry.number = makeNumber()
    entry.expires = old.expires.map { now + max(0, $0 - old.created) }
    entry.created = now
    (entry.attempts, entry.state, entry.reason, entry.ended) = (0, .queued, nil, nil)
    keys.note(entry.id, state: entry.keyState)
    let carrier = carrier(of: entry).connection.map { ($0, command(for: entry)) }
    if let (connection, command) = carrier {
      command.durability = .storing
      connection.restore([command])
      remember(entry, on: connection)
    }
    outbox.add(entry, replacing: old.number, carriedBy: carrier) { [reference] record, problem, isAwaited in
      let relay = reference.object
      if problem != nil {
        relay?.outbox.settleFailedRevival(of: revived, isAwaited: isAwaited)
        relay?.keys.note(old.id, state: old.keyState)
      }
      if let (connection, command) = carrier {
        if let problem {
          connection.reject(command, problem)
          // It is as it was, and so is its key.
          relay?.remember(old, on: connection)
        } else if !connection.isAllowed(command) {
          relay?.withhold(command)
        } else {
          if isAwaited { relay?.keepCopy(of: record) }
          connection.committed(command)
        }
      }
      if isAwaited, problem == nil { relay?.placeIfHomeless(record) }
      done(problem)
    }
  }

  // MARK: - An entry's end

  /// Why what keeps sends has not answered, where that is the outcome and it knows.
  func trouble(behind outcome: CommandOutcome, on connection: Connection) -> StorageProblem? {
    guard case .notStored(let problem) = outcome, problem == .late else { return nil }
    return outbox.copies?.trouble(of: OutboxTarget(connection.specification))
  }

  /// A command has its outcome.
  func settled(_ command: Command, _ outcome: CommandOutcome) {
    if command.isStored { finishStored(command, outcome) }
    keys.note(command, state: outcome.keyState(of: command))
  }

  private func finishStored(_ command: Command, _ outcome: CommandOutcome) {
    guard let state = outcome.meaning.outbox else { return outbox.retract(command) }
    guard let record = outbox.record(of: command) else { return }
    var result: [UInt8]?
    if case .acknowledged(let answer) = outcome { result = answer.args }
    // What has no retries does not count its writes.
    let attempts = command.retry == nil ? (state == .sent ? 1 : 0) : nil
    let isBlamed = command.isSuspected && (state == .lost || state == .expired)
    outbox.finish(
      record, state, reason: isBlamed ? OutboxEntry.suspected : outcome.reason, attempts: attempts, result: result)
  }

  /// Ends an entry from outside, wherever it is; false if it has its outcome already.
  @discardableResult
  func finish(
    _ record: OutboxRecord, _ state: OutboxState, reason: String?, _ done: ((StorageProblem?) -> Void)? = nil
  ) -> Bool {
    guard record.line != nil else { return false }
    if case .carried(let command, let connection) = record.carriage, !connection.takeBack(command) {
      connection.forget(command)
    }
    keys.note(record.entry.id, state: state.rawValue)
    withholdNoMore(record)
    return outbox.finish(record, state, reason: reason, done)
  }

  /// Forgets an entry that has ended, and its key with it; `done` hears when the disk has.
  func purge(_ record: OutboxRecord, _ done: @escaping (StorageProblem?) -> Void) {
    keys.note(record.entry.id, state: nil)
    outbox.purge(record, done)
  }

  /// The wall clock was set.
  func clockWasSet() { _ = outbox.wallMilliseconds() }

  // MARK: - The start and a reload

  /// Hands everything unfinished that is on disk to the connections that its targets mean now, a portion in each turn as long
  /// as it `isWanted`; `done` is called when all has its place.
  func placeAll(while isWanted: @escaping () -> Bool, then done: @escaping () -> Void) {
    let placement = beginPlacement()
    work.begin(for: .configuration) { [reference] in
      guard let relay = reference.object, !placement.isStopped, isWanted() else { return true }
      guard placement.placePortion() else { return false }
      relay.placement = nil
      done()
      return true
    }
  }

  /// Targets mean something else from now on: what is not placed yet waits for the next `placeAll`.
  func stopPlacing() { placement?.stop() }

  private func beginPlacement() -> OutboxPlacement {
    clockWasSet()
    moveKeys()
    moveWithheld()
    stopPlacing()
    let begun = OutboxPlacement(self, upstreams, after: placement)
    placement = begun
    return begun
  }

  /// What waits for a right goes along with its target: all at once, as newer sends ask for it.
  private func moveWithheld() {
    guard !withheld.isEmpty else { return }
    let before = withheld
    withheld = WithheldSends()
    for record in before.records { noteWithheld(record) }
  }

  /// A program does not want to wait until a configuration lets an entry leave that no connection carries: it may now,
  /// where the program is of the same user and has other groups.
  func place(_ record: OutboxRecord, for identity: AccessIdentity) {
    guard record.isCommitted, record.connection == nil, !record.isElsewhere, record.entry.owner == identity.uid else {
      return
    }
    if record.entry.groups != identity.groups { outbox.setGroups(of: record, identity.groups) }
    placeIfHomeless(record)
  }

  /// Hands over a single one that no connection can write: while the disk wrote, its upstream may have come back, or
  /// left.
  func placeIfHomeless(_ record: OutboxRecord) {
    guard record.line != nil, !record.isElsewhere, record.connection?.isWithdrawn ?? true else { return }
    let (carrier, isDenied) = carrier(of: record.entry)
    guard let connection = carrier else {
      if isDenied { detachAlone(record) }
      return leave(record, isDenied: isDenied)
    }
    guard connection !== record.connection else { return expireLater(record) }
    withholdNoMore(record)
    detachAlone(record)
    remember(record.entry, on: connection)
    connection.restore([carry(record, on: connection)])
  }

  /// A connection had it under way while others were placed.
  func returned(_ command: Command) { if let record = outbox.record(of: command) { placeIfHomeless(record) } }

  /// The connection that carries an entry does not any more. For one entry; those of many go on when all have left.
  func detachAlone(_ record: OutboxRecord) {
    let carriage = record.carriage
    detach(record)
    if case .carried(let command, let connection) = carriage { connection.resume(behind: CollectionOfOne(command)) }
  }

  /// A connection carries an entry from now on, as the command that is returned and that it is to be given.
  func carry(_ record: OutboxRecord, on connection: Connection) -> Command {
    let command = command(for: record.entry)
    record.carry(command, on: connection)
    keepCopy(of: record)
    return command
  }

  /// The connection that carries an entry does not any more; what stands behind it waits for `resume` of the connection.
  func detach(_ record: OutboxRecord) {
    if case .carried(let command, let connection) = record.carriage { connection.handAway(command) }
    record.detach()
  }

  /// Nil if the configuration in force has no such upstream.
  func specification(of target: OutboxTarget, _ owner: UInt32) -> UpstreamSpecification? {
    try? upstreams.resolver.resolve(target.call, uid: owner)
  }

  /// The connection that can carry an entry now. Nil where the configuration in force has no such upstream, or does not
  /// let the sender send to it, which is denied then.
  private func carrier(of entry: OutboxEntry) -> (connection: Connection?, isDenied: Bool) {
    guard let specification = specification(of: entry.target, entry.owner) else { return (nil, false) }
    let place = upstreams.resolver.place(of: specification)
    guard upstreams.access.allows(.send, entry.message.event, at: place, for: entry.sender) else { return (nil, true) }
    return (upstreams.connection(for: specification), false)
  }

  /// A command of the outbox may not be written now: its entry waits until the sender has the right to send again.
  func withhold(_ command: Command) {
    guard let record = outbox.record(of: command) else { return }
    detach(record)
    leave(record, isDenied: true)
  }

  /// An entry waits for a configuration under which a connection can carry it.
  func leave(_ record: OutboxRecord, isDenied: Bool) {
    outbox.copies?.withhold(record.entry)
    record.setAside(isDenied: isDenied)
    noteWithheld(record)
    expireLater(record)
  }

  /// A newer send takes the place of an entry that waits for a right, or that one gives way at once.
  private func noteWithheld(_ record: OutboxRecord) {
    if let place = withheldPlace(of: record), let older = withheld.add(record, at: place) {
      finish(older, .dropped, reason: OutboxEntry.coalesced)
    }
  }

  /// An entry does not wait for a right any more.
  func withholdNoMore(_ record: OutboxRecord) {
    if let place = withheldPlace(of: record) { withheld.remove(record, at: place) }
  }

  /// What a newer send takes the place of an entry by that waits for a right.
  private func withheldPlace(of record: OutboxRecord) -> WithheldSends.Place? {
    // What was written may have arrived.
    guard record.isWithheld, record.entry.attempts == 0, let coalescing = record.entry.coalescing,
      let specification = specification(of: record.entry.target, record.entry.owner)
    else { return nil }
    return WithheldSends.Place(connection: ConnectionKey(specification), coalescing: coalescing)
  }

  private func command(for entry: OutboxEntry) -> Command {
    Command(entry, now: time.now, wall: outbox.wallMilliseconds())
  }

  /// An entry that no connection carries expires all the same.
  private func expireLater(_ record: OutboxRecord) {
    guard let expires = record.entry.expires, !record.isWatched else { return }
    record.isWatched = true
    timers.after(.milliseconds(expires - outbox.wallMilliseconds())) { [reference, weak record] in
      guard let relay = reference.object, let record, record.line != nil, record.connection == nil else { return }
      if !record.isElsewhere { relay.finish(record, .expired, reason: nil) }
    }
  }

  /// Keys go along with the URLs of their sends, which may have become those of configured upstreams.
  func moveKeys() { keys.move { [resolver = upstreams.resolver] in resolver.configuredConnection($0, uid: $1) } }

  /// The keys of what is finished count too.
  private func rememberKeys() {
    let keyed = outbox.archive.records.map(\.entry).filter { $0.key != nil }
    for entry in keyed.sorted(by: { $0.number < $1.number }) {
      guard let connection = try? upstreams.resolver.resolve(entry.target.call, uid: entry.owner) else { continue }
      remember(entry, as: ConnectionKey(connection))
    }
  }

  func remember(_ entry: OutboxEntry, on connection: Connection) { remember(entry, as: connection.key) }

  private func remember(_ entry: OutboxEntry, as connection: ConnectionKey) {
    guard let key = entry.key else { return }
    let age = Duration.milliseconds(max(0, outbox.wallMilliseconds() - entry.created))
    keys.restore(
      .init(uid: entry.owner, connection: connection, key: key), target: entry.target.call, id: entry.id,
      fingerprint: entry.fingerprint,
      state: entry.keyState, age: age, now: time.now)
  }

  // MARK: - What is shown

  /// What of one user, or for nil of all, waits in the outbox for a connection. Several may have one target: durable
  /// sends take neither the link of a fleet's holder nor a connection with credentials that a program gave with a URL,
  /// and those of a user take that user's.
  func amount(for connection: Connection, of user: UInt32?) -> OutboxUsage.Amount {
    let specification = connection.specification
    guard !specification.isHeld, !specification.hasCredentialsOfItsOwn(upstreams.configuration) else { return .none }
    return outbox.usage.amount(to: connection.outboxTarget, of: user ?? specification.owner)
  }

  // MARK: - The stop

  /// An accepted send that may still be written when the daemon stops moves to the outbox, if that can keep it; false:
  /// it stays as it is. Credentials that a program gave with a URL are never written to the disk, and so such a send
  /// cannot.
  func storeLeftover(_ command: Command, of connection: Connection) -> Bool {
    guard command.delivery == .accepted, command.owner == .none, !command.noQueue,
      !connection.specification.hasCredentialsOfItsOwn(upstreams.configuration),
      (try? outbox.checkRoom(
        cost: OutboxEntry.cost(of: command.message, to: connection.outboxTarget), target: connection.outboxTarget,
        owner: command.user)) != nil
    else { return false }
    let entry = entry(for: command, on: connection, asked: .accepted, key: keys.key(of: command.id))
    outbox.add(entry) { [reference] record, problem, _ in
      guard let relay = reference.object else { return }
      guard let problem else { return relay.makeRoom(for: record) }
      relay.onFact(.sendFailed(connection.fact, SendFact(command), outcome: "not stored: \(problem.message)"))
    }
    return true
  }
}
