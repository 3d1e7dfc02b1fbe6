/// Asks the peer whether it is still there, apart from the protocol's heartbeat: soon after the opening and after each
/// heartbeat for the sake of the round trip, and urgently when the network may have changed under the link. The owner
/// sends the question and says what came; at most one question of each kind is unanswered at a time.
final class LinkProbe {
  private let timers: Timers
  private let time: any TimeSource
  /// The last answer's, from the asking to the answer.
  private(set) var roundTrip: Duration?
  private var asked: MonotonicInstant?
  /// Runs while the peer must be heard of, or is gone.
  private var timer: Timers.ID?

  init(_ timers: Timers, _ time: any TimeSource) {
    self.timers = timers
    self.time = time
  }

  deinit { timers.cancel(timer) }

  /// Whether the peer must be heard of in time.
  var isUrgent: Bool { timer != nil }

  /// Whether a question is still unanswered.
  var isUnanswered: Bool { asked != nil }

  /// For the round trip. `ask` sends the question, and returns false where it cannot be sent.
  func ask(_ ask: () -> Bool) {
    asked = asked ?? time.now
    if !ask() { withdraw() }
  }

  /// For life or death: calls `unheard` if nothing comes within `limit`. A peer that has never answered a question,
  /// which may be how it is, is not asked, nor one that is being asked.
  func askUrgently(within limit: Duration, _ ask: () -> Bool, unheard: @escaping () -> Void) {
    guard !isUrgent, roundTrip != nil else { return }
    // What was asked before may be long ago by now.
    asked = time.now
    guard ask() else { return withdraw() }
    timer = timers.after(limit) { [weak self] in self?.lookOnceMore(unheard) }
  }

  /// What already waits in the socket gets one more turn to be read.
  private func lookOnceMore(_ unheard: @escaping () -> Void) {
    timer = timers.after(.zero) { [weak self] in
      self?.timer = nil
      unheard()
    }
  }

  private func withdraw() {
    asked = nil
    heard()
  }

  /// Anything came from the peer: it lives.
  func heard() {
    guard let timer else { return }
    timers.cancel(timer)
    self.timer = nil
  }

  /// The answer to the last question came.
  func answered() {
    roundTrip = asked.map { time.now - $0 } ?? roundTrip
    asked = nil
    heard()
  }
}
