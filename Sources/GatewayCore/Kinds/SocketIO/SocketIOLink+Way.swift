/// Where a link goes and by which transport, until a server has answered for a namespace.
extension SocketIOLink {
  /// The order of transports at a place.
  static func choice(_ key: LinkKey, at place: DialTarget, _ links: SocketIOLinks) -> TransportChoice {
    TransportChoice(
      order: key.transports.filter { $0 != .polling || links.requester != nil },
      remembered: links.transport(of: place.endpoint), upgrades: key.upgrades)
  }

  /// A namespace was accepted or refused: this is the right server.
  func answered() {
    guard !isAnswered else { return }
    isAnswered = true
    links?.setRoute(routes.index, of: key)
  }

  /// The present place has failed. As long as no namespace was answered, another URL may do better.
  func attemptFailed(_ failure: UpstreamFailure) {
    guard !isAnswered else { return end(failure) }
    perform(routes.failed(failure))
  }

  /// No namespace was answered in time. True when that concerns the whole place and not the one namespace: several URLs
  /// are configured and this one has answered for none yet.
  func moveOn(after failure: UpstreamFailure) -> Bool {
    guard !isAnswered, key.places.count > 1 else { return false }
    attemptFailed(failure)
    return true
  }

  /// Whether the failure is a redirect that is dealt with here.
  func isRedirected(_ failure: TransportFailure) -> Bool {
    guard !isAnswered, let step = routes.redirected(failure.failure, failure.headers) else { return false }
    if case .giveUp(let conclusion) = step { attemptFailed(conclusion) } else { perform(step) }
    return true
  }

  private func perform(_ step: LinkRoutes.Step) {
    switch step {
    case .dial:
      guard let links else { return }
      requests.move(to: routes.current)
      choice = Self.choice(key, at: routes.current, links)
      dialAgain()
    case .giveUp(let failure): end(failure)
    }
  }

  /// How long the server wants to be left alone, if it said so.
  func retryAfter(_ failure: TransportFailure) -> Duration? {
    RetryAfter.duration(failure.failure.status, failure.headers, now: time.wallMilliseconds)
  }

  /// The largest message that the server takes: as it says, and as it showed.
  var sizeLimit: Int? {
    let shown = links?.sizeLimit(of: routes.current.endpoint, by: carrier)
    guard let announced = engine?.handshake?.maxPayload else { return shown }
    return min(announced, shown ?? announced)
  }

  /// The transport has ended: from what size on the server refuses messages, if that was why. It is remembered, so that none
  /// is written again.
  func noteSizeLimit(_ failure: TransportFailure) -> MessageSize? {
    guard largestWritten > 0, let links else { return nil }
    let endpoint = routes.current.endpoint
    if let refused = failure.refused {
      // Whoever sent it knows its content, before which stand types, namespace and the id of the acknowledgement.
      let size = refused.count - Self.prefixLimit - (channels.map(\.namespace.count).max() ?? 0)
      guard size > 0, size <= largestWritten else { return nil }
      let posted = PollingOutbox.size(ofMessage: refused.count, isBinary: refused.isBinary, revision ?? .four)
      links.setSizeLimit(posted - 1, of: endpoint, by: .polling)
      let isAttachment = refused.isBinary && key.parser == .json
      return MessageSize(body: isAttachment ? .max : size, attachment: isAttachment ? size : .max)
    }
    guard failure.failure.status == Self.messageTooBig else { return nil }
    // It was the largest one: all that the server took were smaller.
    links.setSizeLimit(largestWritten, of: endpoint, by: .websocket)
    return MessageSize(body: largestWritten, attachment: largestWritten)
  }

  /// The code of a WebSocket's close. RFC 6455 section 7.4.1.
  private static let messageTooBig = 1009
  /// Most bytes of a packet before its content, without the namespace.
  private static let prefixLimit = 32
}
