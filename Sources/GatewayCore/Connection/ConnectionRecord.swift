/// When a connection was up, and since when it is not.
struct ConnectionRecord {
  /// When the present state was entered.
  private(set) var since: MonotonicInstant
  /// The same, in milliseconds since 1970.
  private(set) var sinceWall: Int64
  /// When it was last up, and since when it is not, in milliseconds since 1970. Attempts move neither, but for the first
  /// one after a time in which nothing needed it.
  private(set) var lastConnected: Int64?
  private(set) var downSince: Int64?
  /// Nothing needs it since it went down, or since some time later.
  private var isUnneeded = false
  /// How often it was connected after the first time.
  private(set) var reconnects = 0
  /// Since when it is not connected, and how long it was not before that.
  private var downBegan: MonotonicInstant?
  private var downBefore = Duration.zero

  init(_ time: any TimeSource) {
    (since, sinceWall) = (time.now, time.wallMilliseconds)
    // It is made because it is wanted: what its first attempt takes counts as well.
    (downSince, downBegan) = (sinceWall, since)
  }

  /// How long it is not connected by now, for whatever reason; nil while it is.
  func down(at now: MonotonicInstant) -> Duration? { downBegan.map { now - $0 } }

  /// How long it was not connected, over all times.
  func totalDown(at now: MonotonicInstant) -> Duration { downBefore + (down(at: now) ?? .zero) }

  /// Nothing needs it any more, though it was tried in vain until now: the time in which it is down ends with that.
  mutating func endedUnneeded() { isUnneeded = true }

  /// It is to stay down, and counts as such from now on where nothing has missed it before.
  mutating func closedByOrder(_ time: any TimeSource) {
    if downSince != nil, isUnneeded { downSince = time.wallMilliseconds }
  }

  /// A state was entered. `isUnneeded`: nothing needs it, and no order has ended it.
  mutating func moved(to state: ConnectionState, isUnneeded: Bool, _ time: any TimeSource) {
    (since, sinceWall) = (time.now, time.wallMilliseconds)
    if downSince == nil { self.isUnneeded = isUnneeded }
    // Something needs it from now on.
    if state == .reconnecting, self.isUnneeded { (downSince, self.isUnneeded) = (nil, false) }
    switch state {
    case .connected:
      if lastConnected != nil { reconnects += 1 }
      (lastConnected, downSince) = (sinceWall, nil)
      (downBefore, downBegan) = (totalDown(at: since), nil)
    case .created, .disconnected, .reconnecting:
      downSince = downSince ?? sinceWall
      downBegan = downBegan ?? since
    case .released: break
    }
  }
}

/// A connection in a log record.
public struct ConnectionFact: Equatable, Sendable {
  public var connection: String
  public var upstream: String?
  /// Without user info and query values.
  public var url: String
  public var namespace: String
  public var reason: DownReason?
  public var detail: String?
  public var attempt: Int
  /// Milliseconds until the next attempt.
  public var retryIn: Int64?
  /// It is down because a host of its fleet has given the link to another one.
  public var isGivenAway = false
}

extension Connection {
  /// For the log.
  var fact: ConnectionFact {
    let down = state == .connected ? nil : lastFailure
    return ConnectionFact(
      connection: id, upstream: specification.name, url: specification.url.redacted,
      namespace: specification.shownNamespace, reason: down?.reason, detail: down?.detail, attempt: failedAttempts,
      retryIn: retryIn, isGivenAway: down == UpstreamFailure.linkGivenAway)
  }

  /// For the subscriptions that want states.
  var stateNotification: SharedNotification {
    let down = downFailure
    return LocalNotification.stateToMany(
      state, epoch: stream.epoch, attempt: state == .connected ? nil : failedAttempts,
      retryIn: state == .disconnected ? retryIn : nil, reason: down?.reason, detail: down?.detail,
      status: down?.status, isRecovered: state == .connected && stream.continuity.isContinued)
  }
}
