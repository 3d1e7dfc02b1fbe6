/// What a rule wants to happen to a connection.
enum Verdict: Equatable, Sendable {
  /// Do this now, then take a new snapshot.
  case act(KeeperAction)
  /// Nothing now. The connection must be looked at again at that instant, which lies in the future; nil: not before one
  /// of its facts changes.
  case wait(until: MonotonicInstant?)
}

/// What the keeper can order. Each is legal in the state it is ordered in.
enum KeeperAction: Equatable, Sendable {
  /// The machine's `connect`.
  case connect
  /// The machine's `disconnect`, with the reason to show.
  case disconnect(DownReason)
  /// A `created` connection whose first attempt is not to be made, or not to be finished: close the channel if there is
  /// one, then the machine's `lost`, with the reason to show.
  case abandon(DownReason)
  /// The machine's `release`.
  case release
}

/// A verdict with its origin: which rule spoke, and why.
struct Judgement: Equatable, Sendable {
  /// The rule's name, as in `status`.
  var rule: String
  var verdict: Verdict
  /// One sentence for a person.
  var why: String

  init(rule: String, verdict: Verdict, why: String) {
    self.rule = rule
    self.verdict = verdict
    self.why = why
  }
}
