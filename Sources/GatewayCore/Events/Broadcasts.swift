/// What all subscriptions of one stream are told beside events, which is its states and its gaps: of very many some in each
/// turn of the loop, the first at once. Each knows how far it was told, and catches up before it is given anything else,
/// so that for each of them everything comes in its order. Decision 0126.
final class Broadcasts {
  enum Content {
    /// The connection is in another state: for those that want to know.
    case state(SharedNotification)
    /// Written once for all of them.
    case gap(Backlog.Gap, SharedNotification)
  }

  /// What some were not told yet, the oldest first.
  private var pending = Ring<Content>()
  /// The number of the newest one; 0 before the first.
  private(set) var last: UInt64 = 0
  /// Where the present pass over the subscriptions stands, and what all of them were told when it is over.
  private var pass = (serial: UInt64(0), end: UInt64(0))
  private let work: SlicedWork
  private let account: Account

  /// Subscriptions that are told in one turn.
  static let portion = 1_024
  /// Clients that are written to behind it: a write takes as long as some ten subscriptions.
  private static let writes = 128
  /// More wait only where a server breaks the rules again and again: then everybody is told at once.
  static let limit = 64

  /// `work`: in whose turns they are told.
  init(_ work: SlicedWork, for account: Account) { (self.work, self.account) = (work, account) }

  /// Some were not told everything yet.
  var isPending: Bool { !pending.isEmpty }

  /// Tells the subscriptions of a stream one thing more.
  func tell(_ content: Content, in stream: EventStream) {
    let isUnderWay = isPending
    pending.append(content)
    last += 1
    guard !isUnderWay else { return pending.count > Self.limit ? finish(in: stream) : () }
    pass = (0, last)
    work.begin(for: account) { [self] in tellPortion(in: stream) }
  }

  /// Tells everybody at once what is left.
  func finish(in stream: EventStream) {
    guard isPending else { return }
    for (_, subscription) in stream.subscriptions(from: 0) { subscription.catchUp() }
    pending = Ring()
  }

  /// What came behind a number, the oldest first.
  func content(behind number: UInt64) -> some Sequence<Content> {
    let pending = pending
    let first = last - UInt64(pending.count)
    return (Int(max(number, first) - first)..<pending.count).lazy.compactMap { pending[$0] }
  }

  /// Returns whether that was all.
  private func tellPortion(in stream: EventStream) -> Bool {
    guard isPending else { return true }
    var portion = Portion(Self.portion, work.timers)
    var told = 0
    defer { stream.noteTold(told) }
    let written = stream.writesDue + Self.writes
    for (serial, subscription) in stream.subscriptions(from: pass.serial) {
      guard stream.writesDue < written, portion.takesMore() else {
        pass.serial = serial
        return false
      }
      subscription.catchUp()
      told += 1
    }
    while UInt64(pending.count) > last - pass.end { _ = pending.popFirst() }
    pass = (0, last)
    return !isPending
  }
}

extension Subscription {
  /// Is told what all others were told, and it was not yet.
  func catchUp() {
    guard let broadcasts, told < broadcasts.last else { return }
    let before = told
    told = broadcasts.last
    for content in broadcasts.content(behind: before) {
      switch content {
      case .state(let notification): if wantsState { notify(notification.line(for: id)) }
      case .gap(let gap, let notification): tell(gap, as: notification)
      }
    }
  }
}
