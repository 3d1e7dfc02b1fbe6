/// The number of a call, in the order of their making; on the socket it is the `id`.
typealias CallID = Int

/// A call of the protocol, from its making to its answer.
struct Call: Sendable {
  /// How long an answer is waited for.
  enum Patience: Sendable, Equatable {
    /// So long behind the writing of the call.
    case answer(Duration)
    /// The call has a deadline of its own, which the daemon is told and keeps; this side gives up a little later.
    case deadline(Duration)
    case unbounded
  }

  /// Whose call it is.
  enum Owner: Sendable, Equatable {
    case program
    /// The first `subscribe` of a subscription: the program waits for it.
    case beginning(SubscriptionID)
    /// A later one, which nobody waits for.
    case resuming(SubscriptionID)
  }

  enum Stage: Sendable, Equatable {
    /// For a daemon that takes it; becomes `posted`.
    case waiting
    /// Written; becomes `waiting` again where it can do no harm twice, and `abandoned`.
    case posted
    /// Nobody waits for the answer any more, which still fills one of the daemon's places.
    case abandoned
  }

  let method: String
  /// For a subscription they are made when the call is written.
  let params: Params
  var patience: Patience
  /// How long a daemon is waited for; nil: without end.
  var reach: Duration?
  /// It may be carried out twice.
  var isRepeatable = false
  var owner = Owner.program

  var stage = Stage.waiting
  /// When the present stage ends without success.
  var stageEnd: ContinuousClock.Instant?
  /// When the daemon is not waited for any longer.
  var reachEnd: ContinuousClock.Instant?
  /// A daemon that was about to stop has refused it: that moves `reachEnd` once.
  var isDrained = false
  /// When the call as a whole ends; with `Patience.deadline`.
  var end: ContinuousClock.Instant?

  /// Calls that change nothing: they are made again when the daemon went away before it answered.
  static let repeatable: Set<String> = [
    "hello", "ping", "status", "stats", "metrics", "history", "wait", "clients.list", "upstreams.list", "outbox.list",
    "rpc.discover",
    "access.explain",
  ]
}
