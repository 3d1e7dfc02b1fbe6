/// Everything the keeper may know about one connection, at one instant. Taken by the connection's owner whenever a
/// relevant fact changed, and on a slow tick.
struct Health: Equatable, Sendable {
  var now: MonotonicInstant
  var state: ConnectionState
  /// When `state` was entered.
  var since: MonotonicInstant
  /// In `created`: whether the first attempt has been started. No other state needs it.
  var attemptIsUnderWay = false
  /// Why what that attempt waits for is not there; nil where it waits for nothing but its server.
  var waitsFor: DownReason?
  /// An attempt that is under way has no end of its own: it waits until another host has reached the server.
  var attemptsWait = false

  /// At least one lease: a subscription, a waiting request, or a queued command.
  var hasLeases = false
  /// What waited for it has its end, and was not told of it yet.
  var isEnding = false
  /// When the last lease was returned; nil when there never was one, or while there is one.
  var unleasedSince: MonotonicInstant?
  /// `keep = "always"`.
  var isKeptAlways = false
  /// Of a configured upstream; otherwise made from a URL.
  var isConfigured = false

  /// Why the connection is not connected, or why it last was not; nil when nothing has failed yet.
  var lastReason: DownReason?
  /// The HTTP status or close code that came with it.
  var lastStatus: Int?
  /// Failed attempts and lost links in a row.
  var attempts = 0
  /// When the last attempt was started.
  var lastAttemptAt: MonotonicInstant?
  /// What the back-off drew after the last failure; nil when nothing failed since the connection was last up, or when
  /// it went down on purpose (`idle`, `requested`, `offline`, `draining`).
  var nextAttemptAt: MonotonicInstant?
  /// The server asked not to be tried earlier.
  var notBefore: MonotonicInstant?
  /// When the machine's budget of attempts is expected to allow the one that is due; nil unless that waits for its
  /// turn.
  var turnAt: MonotonicInstant?
  /// As many attempts as `reconnect.attempts` have failed: what is waited for is `reconnect.rest`.
  var isResting = false
  var urgency = Urgency.none

  /// An administrator asked for `disconnect`, and none for `reconnect` since; or the upstream left the configuration.
  var isHeld = false
  /// The history that an earlier daemon kept on disk is still being read, or a call waits to be told of it.
  var awaitsPast = false
  /// Whether a route to the upstream may exist. Always true for one on this machine.
  var networkIsUp = true
  /// The daemon stops, and the time to flush is over or not needed.
  var isDraining = false

  /// How long an unused connection stays connected.
  var linger: Duration
  /// How long an unused, closed connection stays listed.
  var retain: Duration
  /// Reconnect after the server disconnected the namespace?
  var reconnectsAfterKick: Bool
  /// Reconnect at all?
  var reconnects: Bool

  /// A snapshot of a connection of which nothing but this is known.
  init(
    state: ConnectionState, since: MonotonicInstant, now: MonotonicInstant, settings: UpstreamSettings
  ) {
    self.state = state
    self.since = since
    self.now = now
    isKeptAlways = settings.keep == .always
    linger = settings.linger
    retain = settings.retain
    reconnectsAfterKick = settings.reconnectAfterKick
    reconnects = settings.reconnect.enabled
  }

  /// Whether the connection is wanted.
  var isOccupied: Bool { hasLeases || isKeptAlways }

  /// The upstream was reached and does not want us.
  var isRefused: Bool { lastReason?.isRefusal(status: lastStatus) == true }

  /// Since when the connection has been unused *and* in its present state.
  var idleSince: MonotonicInstant { max(since, unleasedSince ?? since) }
}

/// What does not want to wait for the back-off, from the weakest to the strongest. The owner remembers the strongest
/// one until the next attempt starts.
enum Urgency: Int, Comparable, CaseIterable, Sendable {
  case none
  /// The network came back.
  case network
  /// A new lease.
  case lease
  /// A new request or `no_queue` send, whose caller waits for an answer.
  case request
  /// An administrator's `reconnect`, or new credentials.
  case order

  static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
