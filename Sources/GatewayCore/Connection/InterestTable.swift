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
    var standing = Standing.unasked
  }

  private var entries: [Interest: Entry] = [:]

  /// Everything that a subscription wants.
  var all: [Interest] { Array(entries.keys) }

  /// Whether the server still owes an answer.
  var areAwaited: Bool { entries.values.contains { $0.standing == .asked } }

  /// One more subscription wants these.
  mutating func hold(_ interests: Set<Interest>) {
    for interest in interests { entries[interest, default: Entry()].holders += 1 }
  }

  /// A subscription has gone. Returns what no other one wants.
  mutating func giveBack(_ interests: Set<Interest>) -> [Interest] {
    interests.filter { interest in
      guard var entry = entries[interest] else { return false }
      entry.holders -= 1
      entries[interest] = entry.holders > 0 ? entry : nil
      return entry.holders <= 0
    }
  }

  /// Of these, what the present channel has yet to be told; they count as asked from now on.
  mutating func ask(_ interests: some Sequence<Interest>) -> [Interest] {
    interests.filter { interest in
      guard let standing = entries[interest]?.standing, standing == .unasked || standing == .refused else {
        return false
      }
      entries[interest]?.standing = .asked
      return true
    }
  }

  /// Of these, what the server still owes an answer for.
  func awaited(_ interests: Set<Interest>) -> Set<Interest> {
    interests.filter { entries[$0]?.standing == .asked }
  }

  /// The server's answer, or that it takes back what it agreed to. False when it is no news.
  mutating func answered(_ interest: Interest, agreed: Bool) -> Bool {
    switch entries[interest]?.standing {
    case .asked: break
    case .confirmed where !agreed: break
    case .unasked, .confirmed, .refused, nil: return false
    }
    entries[interest]?.standing = agreed ? .confirmed : .refused
    return true
  }

  /// The channel is gone, and with it whatever the server agreed to.
  mutating func endOfLink() {
    for interest in entries.keys { entries[interest]?.standing = .unasked }
  }
}

/// A call that waits until the server has agreed to what a subscription wants.
final class InterestWait {
  private var left: Set<Wanted>
  private var done: ((UpstreamFailure?) -> Void)?
  var timer: Timers.ID?

  /// `done` is called at most once: with nil when all were agreed to, or cannot be decided now.
  init(_ wanted: Set<Wanted>, _ done: @escaping (UpstreamFailure?) -> Void) {
    left = wanted
    self.done = done
  }

  var isOver: Bool { done == nil }

  func answered(_ wanted: Wanted, _ refusal: UpstreamFailure?) {
    guard left.remove(wanted) != nil else { return }
    if refusal != nil || left.isEmpty { end(refusal) }
  }

  func end(_ failure: UpstreamFailure?) {
    let done = done
    self.done = nil
    done?(failure)
  }

  /// `done` is not called any more.
  func cancel() { done = nil }
}
