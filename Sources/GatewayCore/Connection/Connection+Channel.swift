/// What the current channel tells the connection. What a channel says that was given up counts for nothing.
extension Connection: UpstreamChannelOwner {
  func channelOpened(_ channel: any UpstreamChannel) {
    guard channel === self.channel else { return }
    let unsaid = enters.open()
    guard channel === self.channel else { return }
    beginConversation()
    for (message, problem) in unsaid { enters.answered(message, .refused(mayHaveArrived: false), problem) }
    interests.beginOpening()
  }

  func channel(
    _ channel: any UpstreamChannel, receivedEvent name: RawSpan, arguments: RawSpan, kwargs: RawSpan?, ack: UInt64?
  ) {
    guard channel === self.channel else { return }
    guard let ack else {
      return stream.deliver(rawName: name, arguments: arguments, kwargs: kwargs, wantsAnswer: false) { _ in nil }
    }
    var isHandedOn = false
    stream.deliver(rawName: name, arguments: arguments, kwargs: kwargs, wantsAnswer: true) { match in
      isHandedOn = true
      return answers.ask(match.answerers, ack, of: EventStream.name(of: name), on: channel)
    }
    if !isHandedOn { answers.declineUnheard(ack, on: channel) }
  }

  func channel(_ channel: any UpstreamChannel, at place: EventPlace) {
    if channel === self.channel { stream.place(place) }
  }

  func channelToldPast(_ channel: any UpstreamChannel) {
    if channel === self.channel { toldPast.wasTold(by: channel) }
  }

  var lineLimit: Int { stream.lineLimit }
  var doubtsLink: Bool { !enters.areProven }

  func channel(_ channel: any UpstreamChannel, receivedEvent name: RawSpan, tooLong size: Int, ack: UInt64?) {
    guard channel === self.channel else { return }
    stream.deliver(rawName: name, tooLong: size)
    if let ack { answers.declineUnheard(ack, on: channel) }
  }

  func channel(_ channel: any UpstreamChannel, dropped event: DroppedEvent) {
    guard channel === self.channel else { return }
    stream.lose(event)
    if let ack = event.ack { answers.declineUnheard(ack, on: channel) }
  }

  func channel(_ channel: any UpstreamChannel, carriedEventOf size: Int) {
    if channel === self.channel { stream.count(size) }
  }

  func channel(_ channel: any UpstreamChannel, carriedMessageOf size: Int) {
    if channel === self.channel { delivery.commands.noteOutgoing(size) }
  }

  func channel(_ channel: any UpstreamChannel, withdrew ack: UInt64) {
    guard channel === self.channel else { return }
    answers.withdraw(ack)
  }

  func channel(
    _ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan, kwargs: RawSpan?
  ) {
    guard channel === self.channel, !enters.answered(id), let command = delivery.awaiting(id) else { return }
    delivery.finish(command, .acknowledged(RemoteAnswer(arguments, kwargs: kwargs)))
  }

  func channel(_ channel: any UpstreamChannel, answered id: UInt64, tooLong size: Int, isPart: Bool) {
    guard channel === self.channel, isPart || !enters.answered(id), let command = delivery.awaiting(id) else { return }
    let answer = RemoteAnswer(tooLong: size)
    if isPart { delivery.progressed(command, answer) } else { delivery.finish(command, .acknowledged(answer)) }
  }

  func channel(_ channel: any UpstreamChannel, answeredUnreadably id: UInt64) {
    guard channel === self.channel, !enters.answered(id), let command = delivery.awaiting(id) else { return }
    delivery.finish(command, .acknowledged(.unreadable))
  }

  func channel(_ channel: any UpstreamChannel, failed id: UInt64, _ error: RemoteError) {
    guard channel === self.channel, !enters.answered(id, error), let command = delivery.awaiting(id) else { return }
    delivery.finish(command, .failed(error))
  }

  func channel(_ channel: any UpstreamChannel, refused write: UnconfirmedWrite, _ problem: MessageProblem) {
    guard channel === self.channel, !enters.refused(write, problem) else { return }
    delivery.refused(write, problem)
  }

  func channel(
    _ channel: any UpstreamChannel, progressed id: UInt64, arguments: RawSpan, kwargs: RawSpan?
  ) {
    guard channel === self.channel, let command = delivery.awaiting(id) else { return }
    delivery.progressed(command, RemoteAnswer(arguments, kwargs: kwargs))
  }

  func channel(_ channel: any UpstreamChannel, answered interest: Interest, _ refusal: UpstreamFailure?) {
    guard channel === self.channel else { return }
    interests.answered(interest, refusal)
  }

  func channelHasNewCredentials(_ channel: any UpstreamChannel) {
    guard channel === self.channel else { return }
    renewCredentials(until: context.time.now + Self.renewalGrace)
  }

  func channel(_ channel: any UpstreamChannel, sampledTime sample: ClockSample) {
    guard channel === self.channel else { return }
    stream.clock.take(sample)
  }

  func stampEvent() -> Int64? { stream.stampNow() }

  func channel(_ channel: any UpstreamChannel, waitsFor failure: UpstreamFailure) {
    guard channel === self.channel, state != .connected else { return }
    let isNews = lastFailure != failure
    upkeep.attemptWaits(for: failure)
    if isNews { stream.notifyStates(stateNotification) }
    // Another host's attempt has failed: what is queued ends as where it had been this one's.
    if failure.isRefusal { delivery.attemptFailed(failure) }
    review()
  }

  func channelEnded(_ channel: any UpstreamChannel, _ failure: UpstreamFailure) {
    guard channel === self.channel else { return }
    lost(failure)
  }

  // MARK: - The course of a conversation

  /// The server has accepted us; events may come from now on.
  func beginConversation() {
    stream.conversationBegan(isRecovered: channel?.isRecovered == true)
    stream.log?.noteResumption()
  }

  /// A subscription that asks for nothing of the past begins.
  func prepareForFreshSubscriber() {
    if connector.resumption == nil { stream.prepareForFreshSubscriber() }
  }

  /// Everything that belongs to the conversation is agreed.
  func opened() {
    upkeep.attemptSucceeded(at: channel?.facts.transport?.address)
    transition(.opened)
    enters.awaitTrial()
  }

  func lost(_ failure: UpstreamFailure) {
    upkeep.lost(failure)
    awaitNewCredentials(after: failure)
    connector.awaitWay { [reference] in reference.object?.hurry(.network) }
    transition(.lost)
    delivery.attemptFailed(failure)
    review()
  }

  private func transition(_ event: ConnectionStateMachine.Event) {
    do { try apply(event) } catch { report(.illegal(error)) }
    review()
  }
}

/// New credentials for a connection that is up, and for one that was refused.
extension Connection {
  /// How long acknowledgements that are awaited may hold up the change to new credentials.
  static let renewalGrace: Duration = .seconds(5)
  private static let renewalCheck: Duration = .milliseconds(100)

  /// Joins anew with the credentials of this moment, once the server owes no acknowledgement any more, at the latest at
  /// the end of the grace. What is sent meanwhile queues and leaves afterwards.
  func renewCredentials(until limit: MonotonicInstant) {
    guard state == .connected, let channel else { return }
    guard !delivery.commands.isAwaiting || context.time.now >= limit else {
      context.timers.after(Self.renewalCheck) { [reference, weak channel] in
        guard let connection = reference.object, let channel, channel === connection.channel else { return }
        connection.renewCredentials(until: limit)
      }
      return
    }
    restart(UpstreamFailure(.auth, "its credentials expire soon; it is joined again with new ones"))
  }

  /// After an end that other credentials may cure: the next attempt starts as soon as there are any.
  func awaitNewCredentials(after failure: UpstreamFailure) {
    guard failure.concernsCredentials else { return }
    connector.awaitNewCredentials { [reference] in reference.object?.hurry(.order) }
  }
}
