/// Bytes that all users hold together for one purpose, such as the beginnings of messages whose end has not come. What
/// one of them may have says `SharedLimit`. What holds some of it has a `MemoryHold`. Decision 0088.
public final class MemoryBudget {
  private(set) var limit: SharedLimit

  public init(total: Int = .max) { limit = SharedLimit(total: total) }

  /// Bytes that are held now.
  var used: Int { limit.used }

  /// Another total; what is held stays.
  func adopt(total: Int) { limit.adopt(SharedLimit(total: total)) }

  /// Whether one may hold so many more bytes.
  func hasRoom(for more: Int, of account: Account) -> Bool {
    do throws(SharedBounds.Overrun) { try check(more, for: account) } catch { return false }
    return true
  }

  /// The same, saying why not.
  @inline(__always)
  func check(_ more: Int, for account: Account) throws(SharedBounds.Overrun) {
    try limit.check(more, for: account)
  }

  /// How many more bytes one may hold.
  func room(for account: Account) -> Int {
    max(0, min(limit.share - limit.used(by: account), limit.total - limit.used))
  }

  fileprivate func count(_ difference: Int, for account: Account) {
    limit.count(difference, for: account)
  }

  /// So many bytes of what one holds count for another one from now on.
  func move(_ bytes: Int, from account: Account, to other: Account) {
    limit.count(-bytes, for: account)
    limit.count(bytes, for: other)
  }
}

/// What one owner that several users fill, such as a queue, holds of a budget: each user's part counts for that user.
final class SharedMemoryHold {
  private let budget: MemoryBudget
  private var held = SharedLimit(total: .max)

  init(_ budget: MemoryBudget) { self.budget = budget }

  deinit { clear() }

  /// Bytes that one user may have.
  var share: Int { budget.limit.share }

  /// Whether a user may hold so many more bytes.
  func check(_ more: Int, for account: Account) throws(SharedBounds.Overrun) {
    try budget.check(more, for: account)
  }

  /// So much more, or less, whatever the limits say.
  func add(_ difference: Int, for account: Account) {
    held.count(difference, for: account)
    budget.count(difference, for: account)
  }

  /// Gives everything back.
  func clear() {
    for (account, bytes) in held.all where bytes != 0 { budget.count(-bytes, for: account) }
    held = SharedLimit(total: .max)
  }
}

/// What one owner, such as a link, holds of a budget. It goes back with this object, so that nothing can be forgotten.
public final class MemoryHold {
  private let budget: MemoryBudget
  private let account: Account
  /// Bytes that are held.
  public private(set) var count = 0

  public init(_ budget: MemoryBudget, for account: Account) {
    self.budget = budget
    self.account = account
  }

  deinit { if count != 0 { budget.count(-count, for: account) } }

  /// Holds exactly so many bytes from now on. False where there is no room for more; then nothing has changed.
  public func change(to wanted: Int) -> Bool {
    do throws(SharedBounds.Overrun) { try take(wanted) } catch { return false }
    return true
  }

  /// The same, saying why there is no room.
  public func take(_ wanted: Int) throws(SharedBounds.Overrun) {
    guard wanted != count else { return }
    if wanted > count { try budget.check(wanted - count, for: account) }
    set(wanted)
  }

  /// How many more bytes it may hold.
  var room: Int { budget.room(for: account) }

  var bounds: SharedBounds { budget.limit.bounds }

  /// Bytes that its user may have.
  var share: Int { budget.limit.share }

  /// The same whatever the limits say: for what has to be taken.
  public func set(_ wanted: Int) {
    guard wanted != count else { return }
    budget.count(wanted - count, for: account)
    count = wanted
  }
}

/// The budgets of one daemon: what may grow by what others send, and not by what is configured alone.
public final class MemoryBudgets {
  /// Messages of servers and lines of local programs that have begun and not ended.
  public let receive = MemoryBudget()
  /// Sends that wait in memory, what the kernel has not taken of those that were written, and events that wait for
  /// local programs.
  public let send = MemoryBudget()
  /// Events that were received, for programs that come back.
  let history = MemoryBudget()
  /// The files of histories in the folder that is in the machine's memory.
  let historyFiles = MemoryBudget()

  /// Without limits.
  public init() {}
}

extension UpstreamFailure {
  /// A message cannot be gathered.
  public static let noReceiveMemory = UpstreamFailure(
    .tooLarge,
    "there is no memory for the rest of the server's message: others that have not ended take what there is (limits.receive_bytes)"
  )
  /// The rest of a message did not come.
  public static func unfinishedMessage(after limit: Duration) -> UpstreamFailure {
    UpstreamFailure(
      .protocolError,
      "the server began a message and did not end it within \(limit.milliseconds) ms (message_timeout)")
  }
}
