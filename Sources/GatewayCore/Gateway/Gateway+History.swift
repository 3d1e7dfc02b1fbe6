/// Histories on disk: what has to be handed over before anybody is told of it, and those that nobody has any more.
extension Gateway {
  /// To be called right before anything is written to local clients: what they are about to be told has to outlive the
  /// daemon first, so that no number is ever used twice. One write for each connection that received something.
  @inline(__always)
  public func commitHistories() {
    if histories.hasPending { histories.commit() }
  }

  /// The names of the histories that the configuration in force wants on disk, whether anybody uses them or not: those of
  /// its upstreams with their own namespaces.
  func wantedHistories() -> Set<String> {
    let wanted = configuration.upstreams.filter(\.value.settings.history.disk).keys
    return Set(wanted.compactMap { resolver.configured($0).flatMap(HistoryLog.Identity.init)?.name })
  }
}
