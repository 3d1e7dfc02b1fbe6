/// New credentials for a connection that is up, and for one that was refused.
extension Connection {
  /// How long acknowledgements that are awaited may hold up the change to new credentials.
  static let renewalGrace: Duration = .seconds(5)
  private static let renewalCheck: Duration = .milliseconds(100)

  /// Joins anew with the credentials of this moment, once the server owes no acknowledgement any more, at the latest at
  /// the end of the grace. What is sent meanwhile queues and leaves afterwards.
  func renewCredentials(until limit: MonotonicInstant) {
    guard state == .connected, let channel else { return }
    guard !commands.isAwaiting || context.time.now >= limit else {
      context.timers.after(Self.renewalCheck) { [weak self, weak channel] in
        guard let self, let channel, channel === self.channel else { return }
        renewCredentials(until: limit)
      }
      return
    }
    restart(UpstreamFailure(.auth, "its credentials expire soon; it is joined again with new ones"))
  }

  /// After an end that other credentials may cure: the next attempt starts as soon as there are any.
  func awaitNewCredentials(after failure: UpstreamFailure) {
    guard failure.concernsCredentials else { return }
    connector.awaitNewCredentials { [weak self] in self?.hurry(.order) }
  }
}
