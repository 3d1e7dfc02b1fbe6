/// The calls that wait for what the link of a connection tells of the past: their programs may have been told of more
/// elsewhere than is known here. Each waits until all that there was when it began has been told, until an attempt has
/// failed, or for its own limit.
final class ToldPast {
  private let endings: Endings
  private let timers: Timers
  private var waits = TombstoneQueue<PastWait>()
  /// Those before this place wait for what the present channel was asked for; nil: it was not asked.
  private var askedBefore: UInt64?
  /// Questions so far.
  private var questions: UInt64 = 0
  /// The one up to which an answer is wanted, whether a call waits for it or not.
  private var wanted: UInt64 = 0
  private let tellings = PastTellings()

  init(endings: Endings, _ timers: Timers) {
    self.endings = endings
    self.timers = timers
  }

  /// Calls back once, later, and says whether all was told. `channel`: the present one; a later one is asked when it is
  /// dialled. `cost`: what the end counts among `Endings`.
  func wait(
    for channel: (any UpstreamChannel)?, limit: Duration, cost: Int, _ done: @escaping (Bool) -> Void
  ) -> PastWait {
    let wait = PastWait(cost: cost, done)
    wait.place = waits.append(wait)
    wait.timer = timers.after(limit) { [weak self, weak wait] in
      guard let self, let wait else { return }
      endings.end { [self] in waits[wait.place] === wait ? end(wait, wasTold: false) : nil }
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

  /// This moment; the link is asked for all that there is by now, for as long as it does not tell it. `channel` as above.
  func mark(on channel: (any UpstreamChannel)?) -> PastMark {
    wanted = questions + 1
    if askedBefore == nil { ask(channel) }
    return PastMark(wanted, of: tellings)
  }

  /// Asks a channel for all that wait now. Those that come meanwhile are asked for behind them: together, however many.
  func ask(_ channel: (any UpstreamChannel)?) {
    guard let channel, !waits.isEmpty || wanted > tellings.last else { return }
    askedBefore = waits.endPlace
    questions += 1
    channel.tellPast()
  }

  func wasTold(by channel: any UpstreamChannel) {
    guard let askedBefore else { return }
    self.askedBefore = nil
    tellings.last = questions
    let hasMore = waits.endPlace > askedBefore || wanted > questions
    end(before: askedBefore, wasTold: true)
    if hasMore { ask(channel) }
  }

  /// The next channel is asked.
  func conversationEnded() { askedBefore = nil }

  /// What is known here has to do.
  func attemptFailed() {
    askedBefore = nil
    if !waits.isEmpty { end(before: waits.endPlace, wasTold: false) }
  }

  private func end(before place: UInt64, wasTold: Bool) {
    endings.end { [self] in
      guard let first = waits.firstPlace, first < place, let wait = waits.first else { return nil }
      return end(wait, wasTold: wasTold)
    }
  }

  /// Returns what that counts.
  private func end(_ wait: PastWait, wasTold: Bool) -> Int {
    cancel(wait)
    wait.done(wasTold)
    return wait.cost
  }
}

/// A call that waits for what the link tells of the past.
final class PastWait {
  fileprivate let cost: Int
  fileprivate let done: (Bool) -> Void
  fileprivate var place: UInt64 = 0
  fileprivate var timer: Timers.ID?

  fileprivate init(cost: Int, _ done: @escaping (Bool) -> Void) {
    self.cost = cost
    self.done = done
  }
}

extension Connection {
  /// How long a call waits at most for what the link tells of the past, where that was not told here; nil where it has not
  /// to wait. One that asks for nothing of it (nil) waits for the place behind which it begins, as long as nothing is known
  /// to be in the way.
  func pastLimit(of resume: ResumePoint?) -> Duration? {
    guard let limit = connector.pastLimit, channel != nil || expectsAttempt else { return nil }
    switch resume {
    case .since(let epoch, let sequence)?: return stream.isBehind(sequence, of: epoch) ? limit : nil
    case .last?: return isPastUntold ? limit : nil
    case nil: return isPastUntold && failedAttempts == 0 ? min(limit, Self.freshLimit) : nil
    }
  }

  /// The same of a question, which nothing keeps from being asked again: it does not wait where that is known to be in vain.
  func historyLimit(of resume: ResumePoint) -> Duration? { pastTrouble == nil ? pastLimit(of: resume) : nil }

  /// Why nothing of what is untold is told soon; nil where that is not known.
  var pastTrouble: UpstreamFailure? { isPastUntold ? connector.pastTrouble : nil }

  /// A program that asks for nothing of the past is not kept from its work for longer.
  private static let freshLimit: Duration = .seconds(1)

  /// What the link tells next is of the past, or may be: it has none to tell, or is not up, or has yet to read what there
  /// is. What comes meanwhile is no news to a subscription that begins now.
  var isPastUntold: Bool { connector.pastLimit != nil && channel?.isCurrent != true }

  /// Lets a call wait so long; `cost` and `done` as in `ToldPast`.
  func awaitPast(for limit: Duration, cost: Int, _ done: @escaping (Bool) -> Void) -> PastWait {
    toldPast.wait(for: channel, limit: limit, cost: cost, done)
  }

  /// The place behind which a call goes on, where the link has not told of it here yet and may.
  func placeAhead(in resume: ResumePoint?) -> PassedOver.Place? {
    guard connector.pastLimit != nil, case .since(let epoch, let sequence)? = resume,
      stream.expects(sequence, of: epoch)
    else { return nil }
    return PassedOver.Place(epoch: epoch, sequence: sequence)
  }
}
