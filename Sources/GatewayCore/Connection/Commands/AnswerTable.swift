/// Acknowledgements that the server asked for and no client has given yet, by the token that local programs see. The
/// first answer wins; all of them end with the link they came from. Decision 0069.
struct AnswerTable {
  private struct Entry {
    /// The server's own id.
    var id: UInt64
    /// The name of the event that asked for it.
    let event: String
    /// The clients that were asked and are still there.
    var clients: [ClientOutputs.Pointer]
    /// One that left may have seen it.
    var wasHeard = false
    /// Whose line it stands in.
    let account: Account
    /// Where its token stands there.
    let place: UInt64
    /// And among those that many clients were asked for, where it is one.
    let placeOfMany: UInt64?
  }

  /// An acknowledgement that no client will give any more.
  struct Orphan {
    let token: String
    /// The server's own id.
    let id: UInt64
    /// A client that was asked may have seen it.
    let wasHeard: Bool
  }

  /// What the clients of one user were asked. What those of several users were asked stands in a line of its own, that
  /// of the configuration.
  private struct Line {
    /// The tokens in the order of their making.
    var order = TombstoneQueue<String>()
    /// Those that many clients were asked for, and how many these were together.
    var ofMany = TombstoneQueue<String>()
    var askedOfMany = 0
  }

  private var pending: [String: Entry] = [:]
  /// Their tokens by the server's ids.
  private var tokens: [UInt64: String] = [:]
  private var lines: [Account: Line] = [:]
  /// Acknowledgements beyond this count push out the oldest of the user who has the most: the server's own time-out
  /// handles it.
  static let limit = 10_000
  /// Likewise beyond so many clients that were asked, counted once for each acknowledgement: a client may subscribe many
  /// times, and what all of them were asked has to be looked through when one leaves. They push out only what many were
  /// asked as well, of the user whose clients were asked the most.
  static let askedLimit = 100_000
  /// More clients are many. As many acknowledgements as there may be do not exceed the other bound with fewer.
  static let manyFrom = askedLimit / limit + 1
  /// Of all that are pending.
  private var asked = 0
  /// Events that wanted an answer while no client could give one, or whose answer never came.
  private(set) var unanswered: UInt64 = 0

  /// Remembers which of the server's acknowledgement ids a fresh token stands for, and which clients were asked.
  /// Returns the ids that were pushed out.
  mutating func add(
    _ id: UInt64, as token: String, of event: String, for clients: [ClientOutputs.Pointer]
  ) -> [UInt64] {
    let account = Self.account(of: clients)
    var line = lines.removeValue(forKey: account) ?? Line()
    var placeOfMany: UInt64?
    if clients.count >= Self.manyFrom {
      placeOfMany = line.ofMany.append(token)
      line.askedOfMany += clients.count
    }
    pending[token] = Entry(
      id: id, event: event, clients: clients, account: account, place: line.order.append(token),
      placeOfMany: placeOfMany)
    lines[account] = line
    tokens[id] = token
    asked += clients.count
    var pushedOut: [UInt64] = []
    while let oldest = excess(besides: token), let id = take(oldest) {
      unanswered += 1
      pushedOut.append(id)
    }
    return pushedOut
  }

  /// The next one that is too much.
  private func excess(besides newest: String) -> String? {
    if pending.count > Self.limit {
      return lines.values.max { $0.order.count < $1.order.count }?.order.first
    }
    guard asked > Self.askedLimit,
      let oldest = lines.values.max(by: { $0.askedOfMany < $1.askedOfMany })?.ofMany.first, oldest != newest
    else { return nil }
    return oldest
  }

  /// On whose account clients are asked.
  private static func account(of clients: [ClientOutputs.Pointer]) -> Account {
    guard let first = clients.first?.pointee.account else { return .configuration }
    return clients.allSatisfy { $0.pointee.account == first } ? first : .configuration
  }

  var hasPending: Bool { !pending.isEmpty }

  func isPending(_ token: String) -> Bool { pending[token] != nil }

  /// The name of the event behind a token that is not answered yet.
  func event(of token: String) -> String? { pending[token]?.event }

  /// The server's id behind a token, once.
  mutating func take(_ token: String) -> UInt64? {
    guard let entry = pending.removeValue(forKey: token) else { return nil }
    lines[entry.account]?.order.remove(at: entry.place)
    if let place = entry.placeOfMany { lines[entry.account]?.ofMany.remove(at: place) }
    noteGone(entry.clients.count, of: entry)
    if lines[entry.account]?.order.isEmpty == true { lines[entry.account] = nil }
    // The server may have used the same id again.
    if tokens[entry.id] == token { tokens[entry.id] = nil }
    return entry.id
  }

  /// The server gave up waiting for an answer.
  mutating func withdraw(_ id: UInt64) {
    if let token = tokens[id] { abandon(token) }
  }

  /// A client can answer nothing any more. Returns what no other client was asked, in no order.
  mutating func left(by client: ClientOutputs.Pointer) -> [Orphan] {
    var orphans: [Orphan] = []
    // By index, so that thousands of entries are changed where they are, and not copied first.
    var index = pending.startIndex
    while index != pending.endIndex {
      if pending.values[index].clients.contains(client) {
        let before = pending.values[index].clients.count
        pending.values[index].clients.removeAll { $0 == client }
        pending.values[index].wasHeard = true
        let (token, entry) = pending[index]
        noteGone(before - entry.clients.count, of: entry)
        if entry.clients.isEmpty { orphans.append(Orphan(token: token, id: entry.id, wasHeard: true)) }
      }
      pending.formIndex(after: &index)
    }
    return orphans
  }

  /// A client will not see what it was asked, by one of its subscriptions. Returns it if no other client was asked.
  mutating func missed(_ token: String, by client: ClientOutputs.Pointer) -> Orphan? {
    guard let entry = pending[token], let index = entry.clients.firstIndex(of: client) else { return nil }
    pending[token]?.clients.remove(at: index)
    noteGone(1, of: entry)
    return entry.clients.count == 1 ? Orphan(token: token, id: entry.id, wasHeard: entry.wasHeard) : nil
  }

  /// No client will answer, and the server knows.
  mutating func abandon(_ token: String) {
    if take(token) != nil { unanswered += 1 }
  }

  /// No client subscribes that could answer.
  mutating func noteUnanswered() { unanswered += 1 }

  /// The link is gone: no answer can reach the server any more.
  mutating func endOfLink() {
    unanswered += UInt64(pending.count)
    pending.removeAll()
    tokens.removeAll()
    lines.removeAll()
    asked = 0
  }

  /// So many clients will not answer one any more.
  private mutating func noteGone(_ clients: Int, of entry: Entry) {
    asked -= clients
    if entry.placeOfMany != nil { lines[entry.account]?.askedOfMany -= clients }
  }
}
