/// Where a link goes and by which transport, until a server has answered for a namespace.
extension SocketIOLink {
  /// The order of transports at a place.
  static func choice(_ key: LinkKey, at place: LinkPlace, _ links: SocketIOLinks) -> TransportChoice {
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
}
