/// The change of one session from long-polling to a WebSocket, without either. Engine.IO protocol, section "Upgrade".
///
/// The order of packets depends on it: what the server sent by polling must have been read before it may speak on the
/// WebSocket, and what was posted must have arrived before anything is written there. Therefore polling pauses first,
/// and the last packets of its pending requests are still delivered.
struct TransportUpgrade: Equatable, Sendable {
  enum State: Equatable, Sendable {
    /// The handshake has not come. May become `probing`, `staying` or `over`.
    case waiting
    /// A WebSocket is being opened. May become `asking`, `staying` or `over`.
    case probing
    /// It is open and was asked whether it leads to the same session. May become `pausing`, `staying` or `over`.
    case asking
    /// It does, and polling comes to rest. May become `upgraded`, `staying` or `over`.
    case pausing
    /// The WebSocket carries the session. May become `over`.
    case upgraded
    /// The session stays with polling. May become `over`.
    case staying
    /// Terminal.
    case over
  }

  enum Event: Equatable, Sendable {
    case handshake(mayUpgrade: Bool)
    case probeOpened
    case probeAnswered
    /// Something else came on the WebSocket.
    case probeMisspoke
    case probeLost
    case deadlinePassed
    /// No request of polling is under way.
    case pollingRests
    /// The session ended, or is to end.
    case ended
  }

  enum Action: Equatable, Sendable {
    case dial
    case arm
    case disarm
    case ask
    case pause
    /// Tell the server, then send what has waited.
    case switchOver
    case discardProbe
    case resume
  }

  private(set) var state = State.waiting

  mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    case (.waiting, .handshake(mayUpgrade: true)): return enter(.probing, [.arm, .dial])
    case (.waiting, .handshake(mayUpgrade: false)): return enter(.staying, [])
    case (.probing, .probeOpened): return enter(.asking, [.ask])
    case (.asking, .probeAnswered): return enter(.pausing, [.pause])
    case (.pausing, .pollingRests): return enter(.upgraded, [.disarm, .switchOver])

    case (.probing, .probeLost), (.asking, .probeLost): return enter(.staying, [.disarm])
    case (.probing, .probeMisspoke), (.probing, .probeAnswered), (.asking, .probeMisspoke), (.asking, .probeOpened),
      (.probing, .deadlinePassed), (.asking, .deadlinePassed):
      return enter(.staying, [.disarm, .discardProbe])
    case (.pausing, .probeLost): return enter(.staying, [.disarm, .resume])
    case (.pausing, .probeMisspoke), (.pausing, .probeAnswered), (.pausing, .probeOpened), (.pausing, .deadlinePassed):
      return enter(.staying, [.disarm, .discardProbe, .resume])

    case (.probing, .ended), (.asking, .ended), (.pausing, .ended): return enter(.over, [.disarm, .discardProbe])
    case (.waiting, .ended), (.upgraded, .ended), (.staying, .ended): return enter(.over, [])

    case (.waiting, .probeOpened), (.waiting, .probeAnswered), (.waiting, .probeMisspoke), (.waiting, .probeLost),
      (.waiting, .deadlinePassed), (.waiting, .pollingRests),
      (.probing, .handshake), (.probing, .pollingRests), (.asking, .handshake), (.asking, .pollingRests),
      (.pausing, .handshake),
      (.upgraded, .handshake), (.upgraded, .probeOpened), (.upgraded, .probeAnswered), (.upgraded, .probeMisspoke),
      (.upgraded, .probeLost), (.upgraded, .deadlinePassed), (.upgraded, .pollingRests),
      (.staying, .handshake), (.staying, .probeOpened), (.staying, .probeAnswered), (.staying, .probeMisspoke),
      (.staying, .probeLost), (.staying, .deadlinePassed), (.staying, .pollingRests),
      (.over, .handshake), (.over, .probeOpened), (.over, .probeAnswered), (.over, .probeMisspoke), (.over, .probeLost),
      (.over, .deadlinePassed), (.over, .pollingRests), (.over, .ended):
      return []
    }
  }

  private mutating func enter(_ next: State, _ actions: [Action]) -> [Action] {
    state = next
    return actions
  }
}
