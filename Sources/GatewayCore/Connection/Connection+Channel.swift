/// What the current channel tells the connection. A channel that was given up may still have something to say; nobody
/// listens to it.
extension Connection: UpstreamChannelOwner {
  public func channelOpened(_ channel: any UpstreamChannel) {
    guard channel === self.channel else { return }
    opened()
  }

  public func channel(
    _ channel: any UpstreamChannel, receivedEvent name: RawSpan, arguments: RawSpan, ack: UInt64?
  ) {
    guard channel === self.channel else { return }
    var token: String?
    stream.deliver(rawName: name, arguments: arguments, wantsAnswer: ack != nil) {
      guard let ack else { return nil }
      let fresh = context.tokens.next()
      answers.add(ack, as: fresh)
      token = fresh
      return fresh
    }
    if ack != nil, token == nil { answers.noteUnanswered() }
  }

  public func channel(_ channel: any UpstreamChannel, droppedEvent reason: GapReason) {
    guard channel === self.channel else { return }
    stream.lose(reason)
  }

  public func channel(_ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan) {
    guard channel === self.channel else { return }
    if let command = commands.retries.id(ofAck: id) {
      return finishTry(command, .acknowledged(arguments.withUnsafeBytes { Array($0) }))
    }
    guard let command = commands.acknowledged(id) else { return }
    settle(command, .acknowledged(arguments.withUnsafeBytes { Array($0) }))
    if !isOccupied { review() }
  }

  public func channelHasNewCredentials(_ channel: any UpstreamChannel) {
    guard channel === self.channel else { return }
    renewCredentials(until: context.time.now + Self.renewalGrace)
  }

  public func channel(_ channel: any UpstreamChannel, sampledTime sample: ClockSample) {
    guard channel === self.channel else { return }
    stream.clock.take(sample)
  }

  public func channelEnded(_ channel: any UpstreamChannel, _ failure: UpstreamFailure) {
    guard channel === self.channel else { return }
    lost(failure)
  }
}
