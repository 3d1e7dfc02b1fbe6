/// Histories on disk: what has to be handed over before anybody is told of it, and those that nobody has any more.
extension Gateway {
  /// To be called right before anything is written to local clients: what they are about to be told has to outlive the
  /// daemon first, so that no number is ever used twice. One write for each connection that received something.
  @inline(__always)
  public func commitHistories() {
    if histories.hasPending { histories.commit() }
  }

  /// Whether the configuration in force wants a history of an upstream on disk.
  func wantsHistory(_ upstream: String) -> Bool {
    configuration.upstreams[upstream]?.settings.history.disk == true
  }
}
