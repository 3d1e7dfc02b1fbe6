/// How much of what takes long is done in one turn of the loop: so many elements at most, and after half a millisecond no
/// more, whatever each of them takes.
struct Portion {
  static let limit: Duration = .microseconds(500)

  private let timers: Timers
  private let end: MonotonicInstant
  private var left: Int
  private var isFirst = true

  /// `timers`: whose clock it goes by.
  init(_ count: Int, _ timers: Timers) {
    self.timers = timers
    end = timers.now + Self.limit
    left = count
  }

  /// Whether one more is done. The first always is, so that no work stands still.
  mutating func takesMore() -> Bool {
    guard left > 0 else { return false }
    left -= 1
    defer { isFirst = false }
    return isFirst || timers.now < end
  }

  /// The last one counts so much more than one.
  mutating func count(_ more: Int) { left -= more }
}

/// What there was at one moment, to be gone through in portions. It lets go of each that it has given, and of the others
/// in portions when it is not wanted any more: by then they may live by it alone, and to free thousands of connections
/// at once takes tens of milliseconds.
final class Snapshot<Element> {
  private var rest = Ring<Element>()
  /// What waits in it may hold this.
  private weak var work: SlicedWork?
  private let account: Account

  /// `work`: in whose turns it lets go, and on the account of whoever has it gone through.
  init(_ elements: some Sequence<Element>, _ work: SlicedWork, for account: Account) {
    self.work = work
    self.account = account
    for element in elements { rest.append(element) }
  }

  deinit {
    var left = Ring<Element>()
    swap(&left, &rest)
    work?.release(left, for: account)
  }

  var isEmpty: Bool { rest.isEmpty }

  /// Takes out the next one.
  func next() -> Element? { rest.popFirst() }
}
