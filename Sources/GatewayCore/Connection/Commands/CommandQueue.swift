/// The commands that wait for their connection: first in, first out, bounded by count and by bytes for each user and
/// for all. Taking one out of the middle costs little more than taking the first: they stand in queues with tombstones.
/// One owner: a copy would share the commands, which know whether they are queued. Decisions 0031 and 0047.
struct CommandQueue {
  /// Bytes that a queued command counts beyond its message: its own fields and its places in the lists.
  static let overhead = 256

  /// Commands of one user, and of all. What the outbox keeps has limits of its own and is not counted.
  private var sends: SharedLimit
  /// Their bytes, each command counted with `overhead`.
  private var bytes: SharedLimit
  /// What the queued commands count together.
  private(set) var byteCount = 0

  /// All of them.
  private var order = TombstoneQueue<Command>()
  /// How many of them each local session waits for.
  private var waiting = NumberTable<Int>()
  /// Those that may only wait for the connection's first attempt.
  private var hasty = TombstoneQueue<Command>()
  /// The commands with retries, by the line that they wait in.
  private var lines: [UInt32: TombstoneQueue<Command>] = [:]
  /// Those that a newer one may replace.
  private var replaceable = IncrementalTable<Coalescing, Command>()
  /// Those that must not be written after an instant.
  private var expiries = DeadlineHeap<Expiry>()
  /// The places of those that are not on disk yet.
  private var uncommitted = TombstoneQueue<Void>()
  /// Those that wait until others have gone.
  private var suspected = TombstoneQueue<Command>()
  /// Those of the uncommitted ones whose caller is not known.
  private var strayCount = 0
  /// How often one was put in.
  private var stays: UInt64 = 0
  /// What they count of the memory for all sends, besides those of the outbox; nil where nothing is counted.
  var memory: SharedMemoryHold?

  /// A command in the queue, for the time that it stands there now.
  private struct Expiry: DeadlineItem {
    let place: UInt64
    let stay: UInt64
    let command: Command

    func waits(until _: MonotonicInstant) -> Bool { command.stay == stay }

    static func == (a: Expiry, b: Expiry) -> Bool { a.place == b.place && a.stay == b.stay }
    static func < (a: Expiry, b: Expiry) -> Bool { (a.place, a.stay) < (b.place, b.stay) }
  }

  init(countLimit: Int, byteLimit: Int) {
    self.init(sends: SharedBounds(share: countLimit), bytes: SharedBounds(share: byteLimit))
  }

  private init(sends: SharedBounds, bytes: SharedBounds) {
    self.sends = SharedLimit(sends)
    self.bytes = SharedLimit(bytes)
  }

  /// Other limits of one user; what is queued stays.
  mutating func adopt(countLimit: Int, byteLimit: Int) {
    sends.bounds = SharedBounds(share: countLimit)
    bytes.bounds = SharedBounds(share: byteLimit)
  }

  var count: Int { order.count }
  var isEmpty: Bool { order.isEmpty }
  /// The place behind all that were given.
  var endPlace: UInt64 { order.endPlace }

  /// What one command counts in `byteCount`.
  static func cost(of command: Command) -> Int { command.message.byteCount + overhead }

  /// Puts a command at the end, and returns the older one whose place it takes by its `coalescing`. Beyond a limit the
  /// queue stays as it is.
  @discardableResult
  mutating func append(_ command: Command) throws(SubmissionProblem) -> Command? {
    guard !command.isStored else {
      // It replaces nothing before it is on disk.
      insert(command, makePlace())
      return nil
    }
    let older = command.coalescing.flatMap { replaceable[$0] }
    let account = Account.user(command.user)
    // What it replaces is of the same user; what a stop moved to the outbox counts there.
    let counted = older?.isStored == false ? older : nil
    if counted == nil { do { try sends.check(for: account) } catch { throw .queueFull(error, unit: "sends") } }
    let cost = Self.cost(of: command) - (counted.map(Self.cost) ?? 0)
    do {
      try bytes.check(cost, for: account)
      try memory?.check(cost, for: account)
    } catch {
      // Without its overhead, which does not count where it is written at once.
      try SubmissionProblem.checkFits(command.message.byteCount, queue: bytes.share, memory: memory?.share)
      throw .queueFull(error, unit: "bytes")
    }
    let replaced = older.flatMap { remove($0) }
    insert(command, makePlace())
    return replaced
  }

  /// The command whose place a newer one with that value takes.
  func older(_ coalescing: Coalescing) -> Command? { replaceable[coalescing] }

  /// A place at the end for a command that may come to the queue later.
  mutating func makePlace() -> UInt64 { order.makePlace() }

  /// Takes out what stands at the end and was accepted after a command of that number, in order and without its places.
  /// Costs nothing where the last that is queued was accepted before.
  mutating func takeAll(behind number: UInt64) -> [Command] {
    var later: [Command] = []
    while let last = order.last?.element, last.number > number, let taken = remove(last) {
      taken.place = nil
      later.append(taken)
    }
    return later.reversed()
  }

  /// Puts a command where it stood, or at the end, whatever the limits say: it was taken before.
  mutating func putBack(_ command: Command) {
    insert(command, command.place ?? makePlace())
  }

  /// Puts commands that were written back where they stood, in one pass. A newer one that the same `coalescing` has
  /// queued meanwhile stays the one that gives way.
  mutating func putBack(_ commands: [Command]) {
    var places: [(place: UInt64, element: Command)] = []
    places.reserveCapacity(commands.count)
    for command in commands { places.append((command.place ?? makePlace(), command)) }
    places.sort { $0.place < $1.place }
    order.insert(places)
    for (line, places) in Dictionary(
      grouping: places.filter { $0.element.retry != nil }, by: { $0.element.retry?.line })
    {
      if let line { lines[line, default: TombstoneQueue()].insert(places) }
    }
    for (place, command) in places { count(command, at: place) }
  }

  /// The place of the first command that is not on disk yet: nothing behind it may be written.
  @inline(__always)
  var firstUncommitted: UInt64? { uncommitted.firstPlace }

  /// Whether a new command overtakes nothing that was accepted when it is written now: a call that waits, while nothing
  /// is queued but what others want on the disk, which is accepted when it is there. `mutating`, so that nothing is copied
  /// for the question.
  mutating func lets(pass command: Command) -> Bool {
    guard let client = command.owner.client, count == uncommitted.count, strayCount == 0 else { return false }
    return !waiting.contains(client)
  }

  /// Counts a command whose caller is not known and that is not on disk yet, or does not count it any more.
  private mutating func countStray(_ command: Command, _ sign: Int) {
    if command.isUncommitted, command.owner.client == nil { strayCount += sign }
  }

  /// A command is on disk now, and its caller does not wait for it any more. Returns whether it stands here, and the
  /// command that it replaces by its `coalescing`.
  mutating func commit(_ command: Command) -> (isQueued: Bool, replaced: Command?) {
    guard command.isQueued, command.isUncommitted, let place = command.place else { return (false, nil) }
    stopWaiting(command)
    countStray(command, -1)
    uncommitted.remove(at: place)
    command.durability = .stored
    command.owner = .none
    command.deadline = nil
    guard let coalescing = command.coalescing else { return (true, nil) }
    let older = replaceable.updateValue(command, forKey: coalescing)
    return (true, older.flatMap { $0.place ?? 0 < place ? remove($0) : nil })
  }

  /// Whether any waits until others have gone.
  var hasSuspects: Bool { !suspected.isEmpty }

  /// Those, in order.
  var suspects: some Sequence<Command> { suspected.all }

  /// When the first of them may be tried.
  var nextTrial: MonotonicInstant? { suspected.all.compactMap(\.suspicion.due).min() }

  /// Whether what stands at a place is not suspected and in no line behind what is. `mutating` for the same reason.
  mutating func mayPassSuspects(_ place: UInt64) -> Bool {
    guard !suspected.isEmpty else { return true }
    guard suspected[place] == nil else { return false }
    guard let line = command(at: place)?.retry?.line else { return true }
    return firstPlace(inLine: line) == place
  }

  private mutating func insert(_ command: Command, _ place: UInt64) {
    order.insert(command, at: place)
    if let retry = command.retry { lines[retry.line, default: TombstoneQueue()].insert(command, at: place) }
    count(command, at: place)
  }

  /// Notes what is asked of the queue about a command besides its order.
  private mutating func count(_ command: Command, at place: UInt64) {
    let cost = Self.cost(of: command)
    command.place = place
    stays &+= 1
    command.stage = .queued(stay: stays)
    if let client = command.owner.client { waiting.add(1, to: client) }
    if command.noQueue { hasty.insert(command, at: place) }
    if let expires = command.expires {
      expiries.push(expires, Expiry(place: place, stay: stays, command: command))
    }
    if let coalescing = command.coalescing, !command.wasWritten, !command.isUncommitted,
      replaceable[coalescing]?.place ?? 0 <= place
    {
      replaceable[coalescing] = command
    }
    countStray(command, 1)
    if command.isSuspected { suspected.insert(command, at: place) }
    byteCount += cost
    guard command.isStored else {
      sends.count(for: .user(command.user))
      bytes.count(cost, for: .user(command.user))
      memory?.add(cost, for: .user(command.user))
      return
    }
    if command.isUncommitted { uncommitted.insert((), at: place) }
  }

  /// The next command to write; it stays in the queue.
  var first: Command? { order.first }

  /// Takes the next command out. Call `expire(now:)` before, so that none is written too late.
  mutating func popFirst() -> Command? { order.first.flatMap { remove($0) } }

  /// The first place from that one on at which a command stands; nil when there is none.
  func nextPlace(from place: UInt64) -> UInt64? { order.nextPlace(from: place) }

  /// What stands at a place; it stays there.
  func command(at place: UInt64) -> Command? { order[place] }

  /// Takes out what stands at a place.
  mutating func take(at place: UInt64) -> Command? {
    guard let command = order.remove(at: place) else { return nil }
    hasLeft(command, place)
    return command
  }

  /// The place of the first command of a line; nil when none waits.
  func firstPlace(inLine line: UInt32) -> UInt64? { lines[line]?.firstPlace }

  /// Takes out what the calls of a local session that left were waiting for, in order. What was answered as accepted
  /// stays.
  mutating func removeAll(client: UInt64) -> [Command] {
    guard waiting.contains(client) else { return [] }
    return removeAll { $0.owner.client == client }
  }

  /// What of a queue a failed attempt ends: what may not wait for another one, and where the server refused what calls
  /// wait for unless the outbox has it. It is looked for from here on; what comes later stays.
  struct Failed {
    fileprivate let isRefused: Bool
    fileprivate let end: UInt64
    /// Where it is looked next.
    fileprivate var place: UInt64 = 0
    /// How many are looked at in one go.
    fileprivate static let step = 16

    /// Whether all was looked at.
    var isOver: Bool { place >= end }
  }

  /// What an attempt that has just failed ends.
  func failed(refused: Bool) -> Failed {
    let isRefused = refused && !waiting.isEmpty
    return Failed(isRefused: isRefused, end: isRefused || !hasty.isEmpty ? endPlace : 0)
  }

  /// Takes out the next one, in order. Nil where none is left, or where none of the next few is meant.
  mutating func takeNext(of failed: inout Failed) -> Command? {
    for _ in 0..<Failed.step {
      let next = failed.isRefused ? order.nextPlace(from: failed.place) : hasty.firstPlace
      guard let next, next < failed.end, let command = order[next] else {
        failed.place = failed.end
        return nil
      }
      failed.place = next + 1
      if command.noQueue || (command.owner.client != nil && !command.isStored) { return remove(command) }
    }
    return nil
  }

  private mutating func removeAll(where isMeant: (Command) -> Bool) -> [Command] {
    order.all.filter(isMeant).compactMap { remove($0) }
  }

  /// Takes everything out, in order.
  mutating func removeAll() -> [Command] {
    let all = commands
    for command in all { command.stage = .apart }
    memory?.clear()
    order.removeAll()
    var rest = CommandQueue(sends: sends.bounds, bytes: bytes.bounds)
    (rest.order, rest.memory) = (order, memory)
    self = rest
    return all
  }

  /// Takes out what must not be written any more, the earliest deadline first; at most so many.
  mutating func expire(now: MonotonicInstant, limit: Int = .max) -> [Command] {
    var expired: [Command] = []
    while expired.count < limit, let (deadline, item) = expiries.first(), deadline <= now,
      let command = remove(item.command)
    {
      expired.append(command)
    }
    return expired
  }

  /// When `expire(now:)` has something to do next; nil when nothing queued ever expires.
  var nextExpiry: MonotonicInstant? { mutating get { expiries.firstDeadline() } }

  /// When the first command was accepted, in milliseconds since 1970.
  var oldest: Int64? { first?.acceptedAt }

  /// All of them, in order.
  var commands: [Command] { Array(order.all) }

  /// Takes a command out, wherever it stands; nil when it is not queued.
  mutating func remove(_ command: Command) -> Command? {
    guard command.isQueued, let place = command.place else { return nil }
    order.remove(at: place)
    hasLeft(command, place)
    return command
  }

  /// A command is not in the order any more: nothing else is noted about it either.
  private mutating func hasLeft(_ command: Command, _ place: UInt64) {
    command.stage = .apart
    let cost = Self.cost(of: command)
    byteCount -= cost
    if command.noQueue { hasty.remove(at: place) }
    stopWaiting(command)
    countStray(command, -1)
    if command.isSuspected { suspected.remove(at: place) }
    if !command.isStored { memory?.add(-cost, for: .user(command.user)) }
    if command.isStored {
      if command.isUncommitted { uncommitted.remove(at: place) }
    } else {
      sends.giveBack(for: .user(command.user))
      bytes.giveBack(cost, for: .user(command.user))
    }
    if let coalescing = command.coalescing, replaceable[coalescing] === command { replaceable[coalescing] = nil }
    if let line = command.retry?.line { leave(line, place) }
    if command.expires != nil { expiries.noteEnd() }
  }

  private mutating func stopWaiting(_ command: Command) {
    if let client = command.owner.client { waiting.add(-1, to: client) }
  }

  private mutating func leave(_ line: UInt32, _ place: UInt64) {
    lines[line]?.remove(at: place)
    if lines[line]?.isEmpty == true { lines[line] = nil }
  }
}
