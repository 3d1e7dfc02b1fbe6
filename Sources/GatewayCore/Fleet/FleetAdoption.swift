/// What hosts that died leave to the fleet, at the one that holds: it makes the durable sends of a silent host the fleet's,
/// reads what the fleet has, and gives that to the writer of the present conversation, before anything that hosts say.
/// Decision 0130.
///
/// While the engine is not reached nothing is asked of it: `engineGained` finds no reading under way that has failed already,
/// and asks for all that was put off.
final class FleetAdoption {
  private enum State {
    /// Nothing is read. May become `reading`.
    case idle
    /// The fleet's rows are read, and what was found is given to the writer. May become `readingAgain`, `idle`.
    case reading
    /// They are, and there may be more by now: they are read once more behind this. May become `reading`, `idle`.
    case readingAgain
  }

  /// One conversation with the server.
  private struct Conversation {
    let writer: FleetWriter
    /// Adoptions for each of which the writer is paused until their rows were read.
    var unread = 0
    /// The lives that adopted hosts have to join behind. The writer knows the last life of each host, which does not say
    /// this: a life that a host has told of itself goes on where a failover has undone that it joined.
    var ended: [String: UInt64] = [:]
  }

  private let place: FleetPlace
  private let engine: any FleetEngine
  private let timers: Timers
  /// Nil while this host does not hold.
  private var own: FleetOwn?
  private var conversation: Conversation?
  private var state = State.idle
  /// What this host writes for hosts that died.
  private(set) var sends = FleetAdoptedSends()
  /// Goes from writer to writer for as long as this host holds.
  let tries: FleetTries

  /// The writer has what the fleet had: from now on it takes what hosts say.
  var onReady: () -> Void = {}
  /// So many durable sends of a host became the fleet's.
  var onAdopted: (Int) -> Void = { _ in }
  /// So many rows were removed that are no sends.
  var onRemoved: (Int) -> Void = { _ in }
  /// Another host has taken the lease.
  var onFenced: () -> Void = {}

  init(_ place: FleetPlace, engine: any FleetEngine, timers: Timers) {
    (self.place, self.engine, self.timers) = (place, engine, timers)
    tries = FleetTries(timers: timers)
  }

  private var key: FleetKey { place.key(.adopted) }

  // MARK: - The course of a term

  /// This host holds from now on.
  func begin(_ own: FleetOwn) {
    self.own = own
    read()
  }

  /// It does not any more.
  func end() {
    (own, conversation) = (nil, nil)
    forgetSends()
    tries.forget()
  }

  /// A conversation with the server has begun, of which this is the writer.
  func opened(_ writer: FleetWriter, _ hosts: [String: FleetHostRow]) {
    conversation = Conversation(writer: writer)
    writer.onCarried = { [weak self] in self?.sends.remove($0) }
    note(hosts)
    read()
  }

  /// It is over.
  func closed() { conversation = nil }

  func engineGained() { read() }

  // MARK: - Reading what the fleet has

  /// Reads what was not read before in this conversation. Of many hosts that die together one reading finds all: what is
  /// asked for while one is under way waits for the next.
  private func read() {
    guard own != nil, engine.server != nil else { return }
    guard state == .idle else { return state = .readingAgain }
    state = .reading
    let writer = conversation?.writer
    let awaited = conversation?.unread ?? 0
    conversation?.unread = 0
    let found = FleetFindings()
    FleetPortions(key: key, engine: engine).read {
      writer?.hasTaken($0) != true
    } _: { [weak self, place] rows in
      let sends = FleetSend.waiting(in: rows, of: place)
      for send in sends { found.add(send) }
      if sends.count < rows.count { self?.remove(Set(rows.keys).subtracting(sends.map(\.name))) }
    } _: { [weak self, weak writer] outcome in
      self?.wasRead(outcome, found, for: writer, awaited)
    }
  }

  /// - Parameter awaited: adoptions that the writer waits for and that came before this reading.
  private func wasRead(
    _ outcome: FleetOutcome<Void>, _ found: FleetFindings, for writer: FleetWriter?, _ awaited: Int
  ) {
    let isPresent = conversation?.writer === writer
    guard own != nil, case .done = outcome else {
      state = .idle
      forget(found)
      if isPresent { conversation?.unread += awaited }
      if case .refused = outcome { readLater() }
      return
    }
    // Nothing was left out, because no writer had taken it before.
    if isPresent, writer?.isReading != true { forgetSends() }
    carry(found, by: writer, awaited)
  }

  /// Gives the writer what was found, one portion in a turn.
  private func carry(_ found: FleetFindings, by writer: FleetWriter?, _ awaited: Int) {
    guard own != nil, conversation?.writer === writer else {
      state = .idle
      forget(found)
      return read()
    }
    take(found.takePortion(), by: writer)
    guard found.isEmpty else {
      timers.after(.zero) { [weak self, weak writer] in self?.carry(found, by: writer, awaited) }
      return
    }
    let isOutdated = state == .readingAgain
    state = .idle
    if let writer { goOn(writer, awaited) }
    if isOutdated || (conversation?.unread ?? 0) > 0 { read() }
  }

  private func take(_ portion: [FleetFindings.Item], by writer: FleetWriter?) {
    writer?.carry(portion)
    // What became of some of it may be known at once.
    for item in portion where writer?.hasTaken(item.send.name) != false { sends.add(item.send.summary) }
  }

  private func forget(_ found: FleetFindings) {
    timers.goOn {
      _ = found.takePortion()
      return !found.isEmpty
    }
  }

  private func forgetSends() {
    var rest = FleetAdoptedSends()
    swap(&rest, &sends)
    timers.goOn {
      rest.dropPortion()
      return !rest.isEmpty
    }
  }

  /// The writer has all that was found.
  private func goOn(_ writer: FleetWriter, _ awaited: Int) {
    let isFirst = !writer.isReading
    writer.beginReading()
    for _ in 0..<awaited { writer.resume() }
    if isFirst { onReady() }
  }

  private func readLater() {
    timers.after(FleetRefusal.pause) { [weak self] in self?.read() }
  }

  /// Rows that are no sends: nobody can write them, and they would be read again and again.
  private func remove(_ names: Set<String>) {
    engine.remove(names.sorted(), of: key) { [weak self] outcome in
      if case .done = outcome { self?.onRemoved(names.count) }
    }
  }

  // MARK: - Adopting

  /// Makes the durable sends of a host the fleet's that has been silent for too long.
  func adopt(_ host: String, _ row: FleetHostRow) {
    guard let own, let beat = row.beat, engine.server != nil else { return }
    let writer = conversation?.writer
    // Nothing that its next life says goes before what is adopted.
    writer?.pause()
    let step = FleetAdopt(place: place, own: own, host: host, life: row.life, beat: beat)
    engine.run(step) { [weak self] outcome in
      guard let self, self.own == own else { return }
      switch outcome {
      case .done(let adopted?):
        onAdopted(adopted.rows)
        conversation?.writer.noteLife(adopted.life, of: host)
        conversation?.ended[host] = adopted.life
        awaitRows(writer)
        read()
      case .fenced: onFenced()
      case .done(nil), .refused: writer?.resume()
      // It may be done: the rows are looked for, here or on the next connection.
      case .uncopied:
        awaitRows(writer)
        readLater()
      case .unanswered: awaitRows(writer)
      }
    }
  }

  /// The writer goes on when the rows of an adoption that it was paused for were read.
  private func awaitRows(_ writer: FleetWriter?) {
    if writer === conversation?.writer { conversation?.unread += 1 }
  }

  /// The hosts were looked at.
  func note(_ hosts: [String: FleetHostRow]) {
    for (host, row) in hosts {
      conversation?.writer.noteLife(row.life, of: host)
      let known = conversation?.ended[host] ?? 0
      if row.isAdopted { conversation?.ended[host] = max(known, row.life) }
    }
  }

  /// A failover may undo an adoption, whoever made it and when. Its host would go on in a life of which nothing counts here, and
  /// not know it. Where it undoes a joining instead the host is heard: what it says counts in the life that it believes to have.
  func adoptAgain(_ hosts: [String: FleetHostRow]) {
    guard let own, let ended = conversation?.ended else { return }
    let undone = ended.filter { host, life in host != own.host && hosts[host].map { $0.life < life } ?? false }
    for host in undone.keys.sorted().prefix(FleetHosts.toldAtOnce) {
      if let row = hosts[host] { adopt(host, row) }
    }
  }
}
