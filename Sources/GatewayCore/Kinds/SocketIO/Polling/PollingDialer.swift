/// Dials long-polling where `EngineIOSocket` expects a dialer.
final class PollingDialer: TransportDialer {
  private let revision: EngineIORevision
  private let requests: LinkRequests
  private let requester: any HTTPRequester
  private let timers: Timers
  /// Nil: a session that began with polling stays with it.
  private let webSockets: (any TransportDialer)?

  init(
    revision: EngineIORevision, requests: LinkRequests, requester: any HTTPRequester, timers: Timers,
    webSockets: (any TransportDialer)?
  ) {
    self.revision = revision
    self.requests = requests
    self.requester = requester
    self.timers = timers
    self.webSockets = webSockets
  }

  /// The request says nothing that the link's requests do not.
  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = UpgradingTransport(
      requests: requests, timers: timers, webSockets: webSockets, receiver: receiver)
    transport.start(revision, requester)
    return transport
  }
}
