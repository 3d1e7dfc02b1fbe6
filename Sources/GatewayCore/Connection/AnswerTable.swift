/// Acknowledgements that the server asked for and nobody has given yet, by the token that local programs see. The first
/// answer wins; all of them end with the link they came from.
struct AnswerTable {
  private var pending: [String: UInt64] = [:]
  /// Tokens in the order of their making, some of them answered already.
  private var order: [String] = []
  /// Acknowledgements beyond this count push out the oldest: the server's own time-out handles it.
  private static let limit = 10_000
  /// Events that wanted an answer while nobody could give one, or whose answer never came.
  private(set) var unanswered: UInt64 = 0

  /// Remembers which of the server's acknowledgement ids a fresh token stands for.
  mutating func add(_ id: UInt64, as token: String) {
    pending[token] = id
    order.append(token)
    if order.count > 2 * Self.limit { order.removeAll { pending[$0] == nil } }
    while pending.count > Self.limit, !order.isEmpty {
      if pending.removeValue(forKey: order.removeFirst()) != nil { unanswered += 1 }
    }
  }

  func isPending(_ token: String) -> Bool { pending[token] != nil }

  /// The server's id behind a token, once.
  mutating func take(_ token: String) -> UInt64? { pending.removeValue(forKey: token) }

  /// The server gave up waiting for an answer.
  mutating func withdraw(_ id: UInt64) {
    guard let token = pending.first(where: { $0.value == id })?.key else { return }
    pending[token] = nil
    unanswered += 1
  }

  /// Nobody subscribes who could answer.
  mutating func noteUnanswered() { unanswered += 1 }

  /// The link is gone: no answer can reach the server any more.
  mutating func endOfLink() {
    unanswered += UInt64(pending.count)
    pending.removeAll()
    order.removeAll()
  }
}
