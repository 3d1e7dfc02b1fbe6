/// What the subscriptions of one connection want of the upstream, each thing counted, and how far the server agreed.
/// Decision 0050.
struct InterestTable {
  private enum Standing: Equatable {
    /// The present channel was not told. May become `asked`.
    case unasked
    /// May become `confirmed`, `refused` or, with the channel, `unasked`.
    case asked
    /// May become `refused`, when the server takes it back, or `unasked`, with the channel.
    case confirmed
    /// May become `asked` again, for a new holder, or `unasked`, with the channel.
    case refused
  }

  private struct Entry {
    var holders = 0
    /// As it was on the channel of that number.
    var standing = Standing.unasked
    var channel: UInt64 = 0
    /// The server refused it, and has not agreed since.
    var wasRefused = false
  }

  private var entries: [Interest: Entry] = [:]
  /// The number of the present channel: what was said on others is not gone through when they end.
  private var channel: UInt64 = 0
  /// How many the server owes an answer for.
  private var awaitedCount = 0

  /// Everything that a subscription wants.
  var all: [Interest] { Array(entries.keys) }

  /// Whether the server still owes an answer.
  var areAwaited: Bool { awaitedCount > 0 }

  private func standing(of interest: Interest) -> Standing? {
    entries[interest].map { $0.channel == channel ? $0.standing : .unasked }
  }

  private mutating func set(_ standing: Standing, of interest: Interest) {
    entries[interest]?.standing = standing
    entries[interest]?.channel = channel
  }

  /// One more subscription wants these.
  mutating func hold(_ interests: Set<Interest>) {
    for interest in interests { entries[interest, default: Entry()].holders += 1 }
  }

  /// A subscription has gone. Returns what no other one wants.
  mutating func giveBack(_ interests: Set<Interest>) -> [Interest] {
    interests.filter { interest in
      guard var entry = entries[interest] else { return false }
      entry.holders -= 1
      if entry.holders <= 0, standing(of: interest) == .asked { awaitedCount -= 1 }
      entries[interest] = entry.holders > 0 ? entry : nil
      return entry.holders <= 0
    }
  }

  /// Of these, what the present channel has yet to be told; they count as asked from now on.
  mutating func ask(_ interests: some Sequence<Interest>) -> [Interest] {
    interests.filter { interest in
      guard let standing = standing(of: interest), standing == .unasked || standing == .refused else { return false }
      set(.asked, of: interest)
      awaitedCount += 1
      return true
    }
  }

  /// Of these, what the server still owes an answer for.
  func awaited(_ interests: Set<Interest>) -> Set<Interest> {
    interests.filter { standing(of: $0) == .asked }
  }

  /// What an answer of the server is.
  enum News {
    case none
    case agreed
    case refused
    /// It agrees to what it refused before.
    case agreedAtLast
  }

  /// The server's answer, or that it takes back what it agreed to.
  mutating func answered(_ interest: Interest, agreed: Bool) -> News {
    switch standing(of: interest) {
    case .asked: awaitedCount -= 1
    case .confirmed where !agreed: break
    case .unasked, .confirmed, .refused, nil: return .none
    }
    set(agreed ? .confirmed : .refused, of: interest)
    defer { entries[interest]?.wasRefused = !agreed }
    guard agreed else { return .refused }
    return entries[interest]?.wasRefused == true ? .agreedAtLast : .agreed
  }

  /// Whether the server refuses it on the present channel.
  func isRefused(_ interest: Interest) -> Bool { standing(of: interest) == .refused }

  /// The channel is gone, and with it whatever the server agreed to.
  mutating func endOfLink() {
    channel += 1
    awaitedCount = 0
  }
}
