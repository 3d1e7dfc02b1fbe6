/// Hands everything unfinished that is on disk to the connections that its targets mean now, the oldest first and a portion in
/// each turn of the loop: also what another connection has, whose upstream meant it before a reload. What is under way on a link
/// ends there, unless it may be written again. What has no usable upstream waits for a configuration that has one, in its place
/// if it has any. Decision 0126.
///
/// While it takes several turns, a connection that gets or loses some writes nothing of its queue: the next ones may belong in
/// front of that.
final class OutboxPlacement {
  /// What the target of a line means, and what its user may do there.
  private final class Place {
    /// Held, so that no other one has its address.
    let line: OutboxLine
    /// Nil if the configuration in force has no such upstream.
    let specification: UpstreamSpecification?
    /// The connection that there is. Compared as an object: there may be a hundred thousand entries, and a key is a whole
    /// URL.
    var connection: Connection?
    /// A line has one user, but the user's programs may have had other groups.
    var permits: [[UInt32]: RememberingPermit] = [:]

    init(_ line: OutboxLine, _ specification: UpstreamSpecification?, _ connection: Connection?) {
      (self.line, self.specification, self.connection) = (line, specification, connection)
    }
  }

  private unowned let relay: OutboxRelay
  private let upstreams: Upstreams
  private var lines: ArraySlice<OutboxLine>
  private var reader: OutboxLinesReader
  /// Those that this portion has asked for. Connections come and go between portions.
  private var places: [ObjectIdentifier: Place] = [:]
  /// What this portion gives to each connection.
  private var given: [ObjectIdentifier: (connection: Connection, commands: [Command])] = [:]
  /// How many later commands had to be queued again behind what the last portion gave.
  private var requeued = 0
  /// The connections that write nothing before the end.
  private var waiting: [ObjectIdentifier: Connection] = [:]
  /// Those that have lost some, with one command of each of its lines of retries that did.
  private var losing: [ObjectIdentifier: (connection: Connection, gone: [UInt32: Command])] = [:]
  /// Another configuration has come: nothing more is placed by this one.
  private(set) var isStopped = false

  /// What is looked at in one turn: a millisecond.
  static let portion = 1_000
  /// As how many entries one counts that goes to a connection.
  static let moveCost = 4
  /// As how many the first look at a line counts: rules and URLs are compared for it.
  static let lineCost = 16

  /// `earlier`: one that was stopped. The connections that wait for it wait for this one.
  init(_ relay: OutboxRelay, _ upstreams: Upstreams, after earlier: OutboxPlacement?) {
    self.relay = relay
    self.upstreams = upstreams
    lines = Array(relay.outbox.usage.allLines)[...]
    reader = OutboxLinesReader(before: relay.nextNumber)
    guard let earlier else { return }
    (waiting, losing) = (earlier.waiting, earlier.losing)
  }

  /// Places nothing more. Connections go on waiting for the one that follows.
  func stop() { isStopped = true }

  /// Places the next ones. Returns whether all have their places.
  func placePortion() -> Bool {
    // To queue the later ones again takes as long however few are put in front of them.
    place(atMost: max(Self.portion, requeued))
  }

  /// Places all of them at once.
  func placeAll() { _ = place(atMost: .max) }

  private var isOver: Bool { lines.isEmpty && reader.isOver }

  private func place(atMost portion: Int) -> Bool {
    var left = portion
    places = [:]
    while left > 0, !isOver {
      left -= 1
      if let line = lines.popFirst() {
        reader.add(line)
      } else if let record = reader.next(), let line = record.line {
        place(record, of: line, &left)
      }
    }
    if !isOver { letWait() }
    give()
    if isOver { finish() }
    return isOver
  }

  private func place(of line: OutboxLine, _ left: inout Int) -> Place {
    if let known = places[ObjectIdentifier(line)] { return known }
    left -= Self.lineCost
    let specification = relay.specification(of: line.target, line.owner)
    let made = Place(line, specification, specification.flatMap(upstreams.pool.existing))
    places[ObjectIdentifier(line)] = made
    return made
  }

  private func place(_ record: OutboxRecord, of line: OutboxLine, _ left: inout Int) {
    guard !record.isElsewhere else { return }
    let place = place(of: line, &left)
    guard let specification = place.specification else {
      if record.connection == nil { relay.leave(record, isDenied: false) }
      return
    }
    guard record.connection == nil || record.connection !== place.connection, record.mayMove else { return }
    guard isAllowed(record, place, specification) else {
      if !record.isWithheld { withhold(record) }
      return
    }
    place.connection = place.connection ?? upstreams.connection(for: specification)
    guard let connection = place.connection else { return withhold(record) }
    left -= Self.moveCost
    move(record, to: connection)
  }

  private func isAllowed(_ record: OutboxRecord, _ place: Place, _ specification: UpstreamSpecification) -> Bool {
    let groups = record.entry.groups
    if place.permits[groups] == nil {
      let sender = AccessIdentity(uid: place.line.owner, groups: groups)
      let rules = upstreams.resolver.place(of: specification)
      place.permits[groups] = RememberingPermit(upstreams.access.answer(.send, at: rules, for: sender).permit)
    }
    return place.permits[groups]?.passes(record.entry.message.event) ?? false
  }

  private func withhold(_ record: OutboxRecord) {
    takeAway(record)
    relay.leave(record, isDenied: true)
  }

  private func move(_ record: OutboxRecord, to connection: Connection) {
    takeAway(record)
    relay.remember(record.entry, on: connection)
    relay.replaceWithheld(by: record.entry.coalescing, record.entry.number, on: connection)
    let command = relay.carry(record, on: connection)
    given[ObjectIdentifier(connection), default: (connection, [])].commands.append(command)
  }

  /// From wherever it stands now.
  private func takeAway(_ record: OutboxRecord) {
    relay.withholdNoMore(record)
    if case .carried(let command, let connection) = record.carriage {
      var left = losing[ObjectIdentifier(connection)] ?? (connection, [:])
      if let line = command.retry?.line { left.gone[line] = command }
      losing[ObjectIdentifier(connection)] = left
    }
    relay.detach(record)
  }

  private func letWait() {
    for connection in given.values.map(\.connection) + losing.values.map(\.connection) {
      let isNew = waiting.updateValue(connection, forKey: ObjectIdentifier(connection)) == nil
      if isNew { connection.awaitEarlier() }
    }
  }

  private func give() {
    requeued = 0
    for (connection, commands) in given.values { requeued += connection.restore(commands) }
    given = [:]
  }

  private func finish() {
    for connection in waiting.values where connection.state != .released { connection.earlierHaveCome() }
    for (connection, gone) in losing.values where connection.state != .released {
      connection.resume(behind: gone.values)
    }
    (waiting, losing) = ([:], [:])
  }
}
