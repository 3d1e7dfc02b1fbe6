/// Histories on disk: what has to be handed over before anybody is told of it, and those that nobody has any more.
extension Gateway {
  /// To be called right before anything is written to local clients: what they are about to be told has to outlive the
  /// daemon first, so that no number is ever used twice. One write for each connection that received something.
  @inline(__always)
  public func commitHistories() {
    if histories.hasPending { histories.commit() }
  }

  /// At the start, and then on each tick.
  func lookAfterHistories() {
    if histories.onReport == nil {
      histories.onReport = { [unowned self] in note(.history(upstream: $0.upstream, namespace: $0.namespace, $1)) }
    }
    histories.sinceCleaning += 1
    // An hour of ticks.
    guard histories.sinceCleaning > 120 else { return }
    removeOldHistories()
  }

  /// Histories of upstreams that are not configured any more, or not to be kept, go when they are old.
  func removeOldHistories() {
    histories.sinceCleaning = 0
    histories.removeOld { configuration.upstreams[$0]?.settings.history.disk == true }
  }
}
