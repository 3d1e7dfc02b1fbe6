/// The questions to the peer whether it is still there, apart from the protocol's heartbeat: asked soon after the opening and
/// after each heartbeat for the sake of the round trip, and urgently when the network may have changed under the link.
/// At most one of each kind is unanswered at a time.
struct LinkProbe: Equatable, Sendable {
  /// The last answer's, from the asking to the answer.
  private(set) var roundTrip: Duration?
  /// The peer must be heard of within a time that the owner watches, or is gone.
  private(set) var isUrgent = false
  private var asked: MonotonicInstant?

  /// For the round trip. False: a question is still unanswered, so none is to be sent.
  mutating func ask(at now: MonotonicInstant) -> Bool {
    guard asked == nil else { return false }
    asked = now
    return true
  }

  /// For life or death. Whether the owner must send a question and watch the time: not while one is under way, and not
  /// with a peer that has never answered one, which may be how it is.
  mutating func askUrgently(at now: MonotonicInstant) -> Bool {
    guard !isUrgent, roundTrip != nil else { return false }
    isUrgent = true
    // What was asked before may be long ago by now.
    asked = now
    return true
  }

  /// The question could not be sent.
  mutating func withdrawn() {
    asked = nil
    isUrgent = false
  }

  /// Anything came from the peer: it lives.
  mutating func heard() { isUrgent = false }

  /// The answer to the last question came.
  mutating func answered(at now: MonotonicInstant) {
    roundTrip = asked.map { now - $0 } ?? roundTrip
    asked = nil
    isUrgent = false
  }
}
