/// The commands that wait for their connection: first in, first out, bounded by count and by bytes. Taking one out of the
/// middle costs no more than taking the first: order and deadlines are kept as lists of numbers in which the number of a
/// command that is gone stays until it surfaces or until the gone ones are the majority. One owner: a copy would share the
/// entries.
public struct CommandQueue {
  /// Bytes that a queued command counts beyond its message: its own fields and its places in the lists.
  public static let overhead = 256

  /// An object, so that the tables move references and not whole commands.
  private final class Entry {
    var command: Command
    let cost: Int

    init(_ command: Command) {
      self.command = command
      cost = CommandQueue.cost(of: command)
    }
  }

  /// Most commands.
  public var countLimit: Int
  /// Most bytes, each command counted with `overhead`.
  public var byteLimit: Int
  /// What the queued commands count together.
  public private(set) var byteCount = 0

  private var entries: [UInt64: Entry] = [:]
  private var numbers: [String: UInt64] = [:]
  private var waiting: [UInt64: Set<UInt64>] = [:]
  /// Those that may only wait for the connection's first attempt.
  private var hasty: Set<UInt64> = []
  private var order = NumberList()
  /// The commands with retries, by the line that they wait in.
  private var lines: [UInt32: NumberList] = [:]
  /// Those that a newer one may replace.
  private var replaceable: [Coalescing: UInt64] = [:]
  private var deadlines = DeadlineHeap()
  /// Those that are not on disk yet.
  private var uncommitted = NumberList()
  private var uncommittedCount = 0
  /// Those of them whose caller is not known.
  private var strayCount = 0
  /// Those that are kept in the outbox, which has limits of its own.
  private var storedCount = 0
  private var storedBytes = 0
  private(set) var nextNumber: UInt64

  public init(countLimit: Int, byteLimit: Int) {
    self.init(countLimit: countLimit, byteLimit: byteLimit, nextNumber: 0)
  }

  private init(countLimit: Int, byteLimit: Int, nextNumber: UInt64) {
    self.countLimit = countLimit
    self.byteLimit = byteLimit
    self.nextNumber = nextNumber
  }

  public var count: Int { entries.count }
  public var isEmpty: Bool { entries.isEmpty }

  /// What one command counts in `byteCount`.
  public static func cost(of command: Command) -> Int { command.message.byteCount + overhead }

  /// Puts a command at the end, and returns the older one whose place it takes by its `coalescing`. Beyond a limit the
  /// queue stays as it is.
  @discardableResult
  public mutating func append(_ command: Command) throws(QueueFull) -> Command? {
    guard !command.isStored else {
      // It replaces nothing before it is on disk.
      insert(command, makePlace())
      return nil
    }
    let older = command.coalescing.flatMap { replaceable[$0] }
    let freed = older.flatMap { entries[$0]?.cost } ?? 0
    guard count - storedCount < countLimit || older != nil else { throw .count(limit: countLimit) }
    guard Self.cost(of: command) <= byteLimit - (byteCount - storedBytes) + freed else {
      throw .bytes(limit: byteLimit)
    }
    let replaced = older.flatMap { take($0) }
    insert(command, makePlace())
    return replaced
  }

  /// A place at the end for a command that may come to the queue later.
  mutating func makePlace() -> UInt64 {
    defer { nextNumber += 1 }
    return nextNumber
  }

  /// Room for so many more, so that the tables do not grow step by step.
  mutating func reserve(_ more: Int) {
    guard more > 64 else { return }
    entries.reserveCapacity(entries.count + more)
    numbers.reserveCapacity(numbers.count + more)
  }

  /// Puts a command where it stood, or at the end, whatever the limits say: it was taken before.
  mutating func putBack(_ command: Command) {
    insert(command, command.place ?? makePlace())
  }

  /// The place of the first command that is not on disk yet: nothing behind it may be written.
  var firstUncommitted: UInt64? { uncommitted.first }

  /// Whether a new command overtakes nothing that was accepted when it is written now: a call that waits, while nothing is
  /// queued but what others want on the disk, which is accepted when it is there.
  func lets(pass command: Command) -> Bool {
    guard let client = command.owner.client, count == uncommittedCount, strayCount == 0 else { return false }
    return waiting[client] == nil
  }

  /// Counts a command that is not on disk yet, or does not count it any more.
  private mutating func countUncommitted(_ command: Command, _ sign: Int) {
    guard !command.isCommitted else { return }
    uncommittedCount += sign
    if command.owner.client == nil { strayCount += sign }
  }

  /// A command is on disk now, and nobody waits for it any more. Returns it, and the one that it replaces by its
  /// `coalescing`.
  mutating func commit(_ id: String) -> (command: Command, replaced: Command?)? {
    guard let number = numbers[id], let entry = entries[number], !entry.command.isCommitted else { return nil }
    stopWaiting(entry.command, number)
    countUncommitted(entry.command, -1)
    entry.command.isCommitted = true
    entry.command.owner = .none
    entry.command.deadline = nil
    uncommitted.tidy(alive: entries.count) { entries[$0]?.command.isCommitted ?? true }
    guard let coalescing = entry.command.coalescing else { return (entry.command, nil) }
    let older = replaceable.updateValue(number, forKey: coalescing)
    return (entry.command, older.flatMap { $0 < number ? take($0) : nil })
  }

  private mutating func insert(_ command: Command, _ number: UInt64) {
    let entry = Entry(command)
    let cost = entry.cost
    entries[number] = entry
    numbers[command.id] = number
    if let client = command.owner.client { waiting[client, default: []].insert(number) }
    if command.noQueue { hasty.insert(number) }
    if let expires = command.expires { deadlines.push(expires, number) }
    if let retry = command.retry { lines[retry.line, default: NumberList()].insert(number) }
    if let coalescing = command.coalescing, !command.wasWritten, command.isCommitted {
      replaceable[coalescing] = number
    }
    countUncommitted(command, 1)
    order.insert(number)
    byteCount += cost
    guard command.isStored else { return }
    storedCount += 1
    storedBytes += cost
    if !command.isCommitted { uncommitted.insert(number) }
  }

  /// The next command to write; it stays in the queue.
  public var first: Command? { order.first.flatMap { entries[$0]?.command } }

  /// Takes the next command out. Call `expire(now:)` before, so that none is written too late.
  public mutating func popFirst() -> Command? { order.first.flatMap { take($0) } }

  /// The places of all commands from one on, in order; some may be empty.
  func places(from place: UInt64) -> ContiguousArray<UInt64>.SubSequence { order.all(from: place) }

  /// What stands at a place; it stays there.
  func command(at place: UInt64) -> Command? { entries[place]?.command }

  /// Takes out what stands at a place.
  mutating func take(at place: UInt64) -> Command? { take(place) }

  /// The place of the first command of a line; nil when none waits.
  func firstPlace(inLine line: UInt32) -> UInt64? { lines[line]?.first }

  /// Takes one command out, wherever it stands; nil when it is not queued.
  public mutating func remove(id: String) -> Command? {
    numbers[id].flatMap { take($0) }
  }

  /// Takes out what the calls of a local session that left were waiting for, in order. What was answered as accepted
  /// stays.
  public mutating func removeAll(client: UInt64) -> [Command] {
    guard let gone = waiting[client] else { return [] }
    return gone.sorted().compactMap { take($0) }
  }

  /// Takes out what may not wait for another attempt, and on demand what calls wait for unless the outbox has it, in
  /// order.
  mutating func removeHasty(andAwaited: Bool) -> [Command] {
    var gone = hasty
    if andAwaited {
      for numbers in waiting.values { gone.formUnion(numbers.filter { entries[$0]?.command.isStored == false }) }
    }
    return gone.sorted().compactMap { take($0) }
  }

  /// Takes everything out, in order.
  public mutating func removeAll() -> [Command] {
    let all = commands
    self = CommandQueue(countLimit: countLimit, byteLimit: byteLimit, nextNumber: nextNumber)
    return all
  }

  /// Takes out what must not be written any more, the earliest deadline first.
  public mutating func expire(now: MonotonicInstant) -> [Command] {
    var expired: [Command] = []
    while let (deadline, number) = deadlines.first, deadline <= now, let command = take(number) {
      expired.append(command)
    }
    return expired
  }

  /// When `expire(now:)` has something to do next; nil when nothing queued ever expires.
  public var nextExpiry: MonotonicInstant? { deadlines.first?.deadline }

  /// When the first command was accepted, in milliseconds since 1970.
  public var oldest: Int64? { first?.acceptedAt }

  /// All of them, in order.
  public var commands: [Command] { order.all.compactMap { entries[$0]?.command } }

  private mutating func take(_ number: UInt64) -> Command? {
    guard let entry = entries.removeValue(forKey: number) else { return nil }
    var command = entry.command
    byteCount -= entry.cost
    if numbers[command.id] == number { numbers[command.id] = nil }
    if command.noQueue { hasty.remove(number) }
    stopWaiting(command, number)
    countUncommitted(command, -1)
    if command.isStored {
      storedCount -= 1
      storedBytes -= entry.cost
      uncommitted.tidy(alive: entries.count) { entries[$0]?.command.isCommitted ?? true }
    }
    if let coalescing = command.coalescing, replaceable[coalescing] == number { replaceable[coalescing] = nil }
    if let line = command.retry?.line { dropGone(inLine: line) }
    // Only these may come back.
    if command.isStored || command.retry != nil { command.place = number }
    dropGone()
    return command
  }

  private mutating func stopWaiting(_ command: Command, _ number: UInt64) {
    guard let client = command.owner.client else { return }
    waiting[client]?.remove(number)
    if waiting[client]?.isEmpty == true { waiting[client] = nil }
  }

  private mutating func dropGone(inLine line: UInt32) {
    lines[line]?.tidy(alive: entries.count) { entries[$0] == nil }
    if lines[line]?.first == nil { lines[line] = nil }
  }

  /// Restores what the public properties rely on: the first number of each list is that of a queued command. Short lists
  /// are not worth more trouble; long ones are copied at most once per as many removals.
  private mutating func dropGone() {
    order.tidy(alive: entries.count) { entries[$0] == nil }
    while let (_, number) = deadlines.first, entries[number] == nil { deadlines.removeFirst() }
    if entries.isEmpty, entries.capacity > 128 {
      // A queue that was long once gives its memory back.
      self = CommandQueue(countLimit: countLimit, byteLimit: byteLimit, nextNumber: nextNumber)
    }
    if deadlines.count > 64, entries.count < deadlines.count / 2 {
      deadlines.keep { entries[$0] != nil }
    }
  }
}
