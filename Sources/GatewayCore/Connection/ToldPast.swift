/// The calls that wait for what the link of a connection tells of the past: their programs may have been told of more
/// elsewhere than is known here. Each waits until all that there was when it began has been told, until an attempt has
/// failed, or for its own limit.
final class ToldPast {
  private let endings: Endings
  private let timers: Timers
  private var waits = TombstoneQueue<PastWait>()
  /// Those before this place wait for what the present channel was asked for; nil: it was not asked.
  private var askedBefore: UInt64?

  init(endings: Endings, _ timers: Timers) {
    self.endings = endings
    self.timers = timers
  }

  /// Calls back once, later. `channel`: the present one; a later one is asked when it is dialled. `cost`: what the end
  /// counts among `Endings`.
  func wait(
    for channel: (any UpstreamChannel)?, limit: Duration, cost: Int, _ done: @escaping () -> Void
  ) -> PastWait {
    let wait = PastWait(cost: cost, done)
    wait.place = waits.append(wait)
    wait.timer = timers.after(limit) { [weak self, weak wait] in
      guard let self, let wait else { return }
      endings.end { [self] in waits[wait.place] === wait ? end(wait) : nil }
    }
    if askedBefore == nil { ask(channel) }
    return wait
  }

  /// The call does not wait any more.
  func cancel(_ wait: PastWait) {
    guard waits[wait.place] === wait else { return }
    waits.remove(at: wait.place)
    timers.cancel(wait.timer)
  }

  /// Asks a channel for all that wait now. Those that come meanwhile are asked for behind them: together, however many.
  func ask(_ channel: (any UpstreamChannel)?) {
    guard let channel, !waits.isEmpty else { return }
    askedBefore = waits.endPlace
    channel.tellPast()
  }

  func wasTold(by channel: any UpstreamChannel) {
    guard let askedBefore else { return }
    self.askedBefore = nil
    let hasMore = waits.endPlace > askedBefore
    end(before: askedBefore)
    if hasMore { ask(channel) }
  }

  /// The next channel is asked.
  func conversationEnded() { askedBefore = nil }

  /// What is known here has to do.
  func attemptFailed() {
    askedBefore = nil
    if !waits.isEmpty { end(before: waits.endPlace) }
  }

  private func end(before place: UInt64) {
    endings.end { [self] in
      guard let first = waits.firstPlace, first < place, let wait = waits.first else { return nil }
      return end(wait)
    }
  }

  /// Returns what that counts.
  private func end(_ wait: PastWait) -> Int {
    cancel(wait)
    wait.done()
    return wait.cost
  }
}

/// A call that waits for what the link tells of the past.
final class PastWait {
  fileprivate let cost: Int
  fileprivate let done: () -> Void
  fileprivate var place: UInt64 = 0
  fileprivate var timer: Timers.ID?

  fileprivate init(cost: Int, _ done: @escaping () -> Void) {
    self.cost = cost
    self.done = done
  }
}

extension Connection {
  /// How long a call that goes on behind a place has to wait for what the link tells of the past; nil: not at all.
  func pastLimit(for resume: ResumePoint?) -> Duration? {
    guard let limit = connector.pastLimit, case .since(let epoch, let sequence)? = resume,
      stream.isBehind(sequence, of: epoch), channel != nil || expectsAttempt
    else { return nil }
    return limit
  }
}
