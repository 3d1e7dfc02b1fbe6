/// Frees the spare output buffers of clients when nobody needed one for a while. An object of its own, because it is told of
/// nearly every event that comes alone, and the gateway, which is held weakly elsewhere, would cost more to ask.
final class SpareRelease {
  private let timers: Timers
  private let releaseIdle: () -> Bool
  private var isLooking = false
  /// Buffers that nobody needed for so long are freed.
  private static let patience: Duration = .seconds(5)

  /// `releaseIdle` frees what nobody needed since it was called last, and says whether anything is left.
  init(_ timers: Timers, _ releaseIdle: @escaping () -> Bool) {
    self.timers = timers
    self.releaseIdle = releaseIdle
  }

  /// Looks again and again, until no spare buffer is left.
  func beginLooking() {
    guard !isLooking else { return }
    isLooking = true
    timers.after(Self.patience) { [self] in
      isLooking = false
      if releaseIdle() { beginLooking() }
    }
  }
}
