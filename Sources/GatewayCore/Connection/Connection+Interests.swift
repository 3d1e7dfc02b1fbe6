/// What subscriptions want of an upstream that sends only what it was asked for: asked once for all of them, confirmed
/// by the server, asked again on every new link, given back with the last of them.
extension Connection {
  /// A subscription wants these. Returns what the server has to confirm first; nothing while there is no conversation.
  func hold(_ interests: Set<Interest>) -> Set<Interest> {
    self.interests.hold(interests)
    askFor(interests)
    return state == .connected ? self.interests.awaited(interests) : []
  }

  /// A subscription is gone.
  func giveBack(_ interests: Set<Interest>) {
    let unwanted = self.interests.giveBack(interests)
    guard connector.confirmsInterests, let channel else { return }
    for interest in unwanted { channel.drop(interest) }
    concludeOpening()
  }

  /// Calls back once, when the server has answered for these, the channel is gone, or the time of a handshake is over.
  func await(_ wanted: Set<Wanted>, _ done: @escaping (UpstreamFailure?) -> Void) -> InterestWait {
    let wait = InterestWait(wanted, done)
    wait.timer = context.timers.after(confirmationLimit) { [weak self] in
      self?.endWaits([wait], UpstreamFailure(.timeout, "the server did not confirm the subscription in time"))
    }
    self.interests.waits.append(wait)
    return wait
  }

  /// The call does not wait any more.
  func cancel(_ wait: InterestWait) {
    wait.cancel()
    endWaits([wait], nil)
  }

  /// A channel was dialled, or a subscription wants more of it.
  func askFor(_ interests: some Sequence<Interest>) {
    guard connector.confirmsInterests, let channel else { return }
    for interest in self.interests.ask(interests) { channel.want(interest) }
  }

  /// The conversation has begun: it counts as connected when the server has answered for everything that is wanted, and
  /// what is entered is said.
  func awaitOpening() {
    interests.isOpening = true
    interests.openingTimer = context.timers.after(confirmationLimit) { [weak self] in self?.openingTimedOut() }
    concludeOpening()
  }

  private func openingTimedOut() {
    guard !interests.areAwaited else {
      return abandon(UpstreamFailure(.timeout, "the server did not confirm all subscriptions in time"))
    }
    // The server reads slowly what is entered: others wait for that no longer.
    endOpening()
    opened()
  }

  func concludeOpening() {
    guard interests.isOpening, !interests.areAwaited, enters.areSaid else { return }
    endOpening()
    opened()
  }

  private func endOpening() {
    interests.isOpening = false
    context.timers.cancel(interests.openingTimer)
    interests.openingTimer = nil
  }

  /// The server has answered for one.
  func answered(_ interest: Interest, _ refusal: UpstreamFailure?) {
    guard interests.answered(interest, agreed: refusal == nil) else { return }
    answered(.interest(interest), refusal, concerning: stream.subscriptions.filter { $0.interests.contains(interest) })
  }

  /// The calls that wait for it go on, and the subscriptions that want it are told why it is refused.
  func answered(_ wanted: Wanted, _ refusal: UpstreamFailure?, concerning subscriptions: [Subscription]) {
    for wait in interests.waits { wait.answered(wanted, refusal) }
    endWaits(interests.waits.filter(\.isOver), nil)
    if let refusal { report?(self, .refusedInterest(wanted, refusal)) }
    for subscription in subscriptions {
      subscription.note(wanted, refusal: refusal?.detail, epoch: stream.epoch)
    }
    concludeOpening()
  }

  /// The channel is gone: what is wanted will be asked for on the next one, so that no call has to wait.
  func forgetInterests() {
    endOpening()
    interests.endOfLink()
    enters.endOfLink()
    endWaits(interests.waits, nil)
  }

  private func endWaits(_ ended: [InterestWait], _ failure: UpstreamFailure?) {
    guard !ended.isEmpty else { return }
    interests.waits.removeAll { wait in ended.contains { $0 === wait } }
    for wait in ended {
      context.timers.cancel(wait.timer)
      wait.end(failure)
    }
  }

  /// How long the server may take to answer for what it was asked.
  var confirmationLimit: Duration {
    specification.settings.connectTimeout ?? specification.settings.handshake
  }
}
