/// What the current channel tells the connection. A channel that was given up may still have something to say; nobody
/// listens to it.
extension Connection: UpstreamChannelOwner {
  func channelOpened(_ channel: any UpstreamChannel) {
    guard channel === self.channel else { return }
    beginConversation()
    if interests.areAwaited { awaitInterests() } else { opened() }
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
      let token = context.tokens.next()
      for old in answers.add(ack, as: token, for: match.answerers) { channel.decline(old, .abandoned) }
      isHandedOn = true
      return token
    }
    if !isHandedOn {
      answers.noteUnanswered()
      channel.decline(ack, .unheard)
    }
  }

  var lineLimit: Int { stream.lineLimit }

  func channel(_ channel: any UpstreamChannel, receivedEvent name: RawSpan, tooLong size: Int, ack: UInt64?) {
    guard channel === self.channel else { return }
    stream.deliver(rawName: name, tooLong: size)
    guard let ack else { return }
    answers.noteUnanswered()
    channel.decline(ack, .unheard)
  }

  /// A client that may have been asked for answers can give none any more: it has left, or subscribes to nothing here that
  /// it would answer. Where the server cannot be told, its own time-out decides, and a program that comes back may still
  /// answer.
  func answererLeft(_ client: ClientOutputs.Pointer) {
    guard let channel else { return }
    for orphan in answers.left(by: client) where channel.decline(orphan.id, .abandoned) {
      answers.abandon(orphan.token)
    }
  }

  /// A client that did not keep up will never see an event that it was to answer. If nobody else does, nothing was begun.
  func answererMissed(_ token: String, _ client: ClientOutputs.Pointer) {
    guard let channel, let orphan = answers.missed(token, by: client) else { return }
    if channel.decline(orphan.id, orphan.wasHeard ? .abandoned : .unheard) { answers.abandon(token) }
  }

  func channel(_ channel: any UpstreamChannel, droppedEvent reason: GapReason) {
    guard channel === self.channel else { return }
    stream.lose(reason)
  }

  func channel(_ channel: any UpstreamChannel, withdrew ack: UInt64) {
    guard channel === self.channel else { return }
    answers.withdraw(ack)
  }

  func channel(
    _ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan, kwargs: RawSpan?
  ) {
    guard channel === self.channel, let command = commands.command(awaiting: id) else { return }
    finish(command, .acknowledged(RemoteAnswer(arguments, kwargs: kwargs)))
  }

  func channel(_ channel: any UpstreamChannel, answered id: UInt64, tooLong size: Int, isPart: Bool) {
    guard channel === self.channel, let command = commands.command(awaiting: id) else { return }
    let answer = RemoteAnswer(tooLong: size)
    if isPart { report?(self, .progressed(command, answer)) } else { finish(command, .acknowledged(answer)) }
  }

  func channel(_ channel: any UpstreamChannel, answeredUnreadably id: UInt64) {
    guard channel === self.channel, let command = commands.command(awaiting: id) else { return }
    finish(command, .acknowledged(.unreadable))
  }

  func channel(_ channel: any UpstreamChannel, failed id: UInt64, _ error: RemoteError) {
    guard channel === self.channel, let command = commands.command(awaiting: id) else { return }
    finish(command, .failed(error))
  }

  func channel(
    _ channel: any UpstreamChannel, progressed id: UInt64, arguments: RawSpan, kwargs: RawSpan?
  ) {
    guard channel === self.channel, let command = commands.command(awaiting: id) else { return }
    report?(self, .progressed(command, RemoteAnswer(arguments, kwargs: kwargs)))
  }

  func channel(_ channel: any UpstreamChannel, answered interest: Interest, _ refusal: UpstreamFailure?) {
    guard channel === self.channel else { return }
    answered(interest, refusal)
  }

  /// The server has answered a command.
  private func finish(_ command: Command, _ outcome: CommandOutcome) {
    guard command.retry == nil else { return finishTry(command, outcome) }
    guard commands.land(command) != nil else { return }
    settle(command, outcome)
    if !isOccupied { noteIdle() }
  }

  func channelHasNewCredentials(_ channel: any UpstreamChannel) {
    guard channel === self.channel else { return }
    renewCredentials(until: context.time.now + Self.renewalGrace)
  }

  func channel(_ channel: any UpstreamChannel, sampledTime sample: ClockSample) {
    guard channel === self.channel else { return }
    stream.clock.take(sample)
  }

  func channelEnded(_ channel: any UpstreamChannel, _ failure: UpstreamFailure) {
    guard channel === self.channel else { return }
    lost(failure)
  }
}
