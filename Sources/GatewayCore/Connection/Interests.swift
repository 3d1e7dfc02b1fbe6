/// What subscriptions want of an upstream that sends only what it was asked for: asked once for all of them, confirmed
/// by the server, asked again on every new link, given back with the last of them. The conversation counts as connected
/// when the server has answered for everything. Decision 0050.
final class Interests {
  /// It alone has this object. Set by the connection, once.
  unowned var connection: Connection!
  private let timers: Timers
  private var table = InterestTable()
  /// The calls that wait for answers to what they want.
  private var waits: [InterestWait] = []
  /// Runs while a conversation has begun, and what is wanted is being confirmed.
  private var openingTimer: Timers.ID?

  init(_ context: ConnectionContext) { timers = context.timers }

  /// How long the server may take to answer for what it was asked.
  var confirmationLimit: Duration {
    let settings = connection.specification.settings
    return settings.connectTimeout ?? settings.handshake
  }

  // MARK: - Holders

  /// A subscription wants these. Returns what the server has to confirm first; nothing while there is no conversation.
  func hold(_ interests: Set<Interest>) -> Set<Interest> {
    table.hold(interests)
    ask(interests)
    return connection.state == .connected ? table.awaited(interests) : []
  }

  /// A subscription is gone.
  func giveBack(_ interests: Set<Interest>) {
    let unwanted = table.giveBack(interests)
    guard connection.connector.confirmsInterests, let channel = connection.channel else { return }
    for interest in unwanted { channel.drop(interest) }
    concludeOpening()
  }

  /// A channel was dialled: it is asked for everything.
  func askForAll() { ask(table.all) }

  private func ask(_ interests: some Sequence<Interest>) {
    guard connection.connector.confirmsInterests, let channel = connection.channel else { return }
    for interest in table.ask(interests) { channel.want(interest) }
  }

  // MARK: - The beginning of a conversation

  /// The conversation has begun. It counts as connected now, or when the server has answered for everything that is
  /// wanted, and what is entered is said.
  func beginOpening() {
    guard isAwaited else { return connection.opened() }
    openingTimer = timers.after(confirmationLimit, connection.ringing { $0.interests.openingTimedOut() })
  }

  /// Something of that may be done.
  func concludeOpening() {
    guard openingTimer != nil, !isAwaited else { return }
    endOpening()
    connection.opened()
  }

  private var isAwaited: Bool { table.areAwaited || !connection.enters.areSaid }

  private func openingTimedOut() {
    guard !table.areAwaited else {
      return connection.abandon(UpstreamFailure(.timeout, "the server did not confirm all subscriptions in time"))
    }
    // The server reads slowly what is entered: others wait for that no longer.
    endOpening()
    connection.opened()
  }

  private func endOpening() {
    timers.cancel(openingTimer)
    openingTimer = nil
  }

  /// The channel is gone: what is wanted will be asked for on the next one, so that no call has to wait.
  func endOfLink() {
    endOpening()
    table.endOfLink()
    end(waits, nil)
  }

  // MARK: - Answers

  /// The server has answered for one.
  func answered(_ interest: Interest, _ refusal: UpstreamFailure?) {
    guard table.answered(interest, agreed: refusal == nil) else { return }
    let concerned = connection.stream.subscriptions.filter { $0.interests.contains(interest) }
    answered(.interest(interest), refusal, concerning: concerned)
  }

  /// The calls that wait for it go on, and the subscriptions that want it are told why it is refused.
  func answered(_ wanted: Wanted, _ refusal: UpstreamFailure?, concerning subscriptions: [Subscription]) {
    for wait in waits { wait.answered(wanted, refusal) }
    end(waits.filter(\.isOver), nil)
    if let refusal { connection.report?(connection, .refusedInterest(wanted, refusal)) }
    for subscription in subscriptions {
      subscription.note(wanted, refusal: refusal?.detail, epoch: connection.stream.epoch)
    }
    concludeOpening()
  }

  /// Calls back once, when the server has answered for these, the channel is gone, or the time of a handshake is over.
  func await(_ wanted: Set<Wanted>, _ done: @escaping (UpstreamFailure?) -> Void) -> InterestWait {
    let wait = InterestWait(wanted, done)
    wait.timer = timers.after(
      confirmationLimit,
      connection.ringing {
        $0.interests.end(
          [wait], UpstreamFailure(.timeout, "the server did not confirm the subscription in time"))
      })
    waits.append(wait)
    return wait
  }

  /// The call does not wait any more.
  func cancel(_ wait: InterestWait) {
    wait.cancel()
    end([wait], nil)
  }

  private func end(_ ended: [InterestWait], _ failure: UpstreamFailure?) {
    guard !ended.isEmpty else { return }
    waits.removeAll { wait in ended.contains { $0 === wait } }
    for wait in ended {
      timers.cancel(wait.timer)
      wait.end(failure)
    }
  }
}
