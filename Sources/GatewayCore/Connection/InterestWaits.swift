/// The calls that wait until a server has agreed to what subscriptions want, in the order in which they were made, and
/// by what they wait for. Taking one out costs the same however many wait.
struct InterestWaits {
  private var all = TombstoneQueue<InterestWait>()
  private var byWanted: [Wanted: TombstoneQueue<InterestWait>] = [:]

  /// The place behind all that were given: those that wait now stand before it.
  var endPlace: UInt64 { all.endPlace }
  var isEmpty: Bool { all.isEmpty }

  mutating func add(_ wait: InterestWait) {
    wait.place = all.append(wait)
    for wanted in wait.left { byWanted[wanted, default: TombstoneQueue()].insert(wait, at: wait.place) }
  }

  /// Takes one out. False if it does not wait any more.
  mutating func remove(_ wait: InterestWait) -> Bool {
    guard all[wait.place] === wait else { return false }
    all.remove(at: wait.place)
    for wanted in wait.left {
      byWanted[wanted]?.remove(at: wait.place)
      if byWanted[wanted]?.isEmpty == true { byWanted[wanted] = nil }
    }
    return true
  }

  /// The first of those that stand before a place; it stays.
  func first(before place: UInt64) -> InterestWait? { all.firstPlace.flatMap { $0 < place ? all.first : nil } }

  /// Those that wait for one thing. They stay, but not for that.
  mutating func takeAll(for wanted: Wanted) -> TombstoneQueue<InterestWait>? { byWanted.removeValue(forKey: wanted) }

  /// Whether the server still owes an answer that one waits for. If not, its end is under way.
  func isOwed(_ wait: InterestWait) -> Bool { wait.left.contains { byWanted[$0]?[wait.place] === wait } }
}

/// A call that waits until the server has agreed to what a subscription wants.
final class InterestWait {
  /// What is not agreed to yet.
  private(set) var left: Set<Wanted>
  /// What its end counts among `Endings`.
  let cost: Int
  private var done: ((UpstreamFailure?) -> Void)?
  var timer: Timers.ID?
  /// Set by `InterestWaits`.
  fileprivate(set) var place: UInt64 = 0

  /// `done` is called at most once: with nil when all were agreed to, or cannot be decided now.
  init(_ wanted: Set<Wanted>, cost: Int, _ done: @escaping (UpstreamFailure?) -> Void) {
    left = wanted
    self.cost = cost
    self.done = done
  }

  /// The server has agreed to one. Returns whether that was the last.
  func agreed(_ wanted: Wanted) -> Bool {
    left.remove(wanted)
    return left.isEmpty
  }

  func end(_ failure: UpstreamFailure?) {
    let done = done
    self.done = nil
    done?(failure)
  }
}
