/// When credentials that expire are read again. Pure arithmetic; `fraction` is a random number in 0 ..< 1.
struct RefreshSchedule: Equatable, Sendable {
  /// No reading follows another sooner, however short the token's life is.
  static let shortestDelay: Duration = .seconds(1)
  /// The random spread, as a share of the margin: not all machines ask in the same second.
  private static let spread = 0.2

  let settings: RefreshSettings

  /// From the acceptance of a token to the first reading. The margin is `share` percent of the time that is left, within
  /// `least` and `most`, and never more than half of that time. Nil left: the clocks contradict the token.
  func first(left: Duration?, fraction: Double) -> Duration {
    guard let left, left > .zero else { return max(settings.most, Self.shortestDelay) }
    let share = min(max(settings.share, 0), 100)
    let wanted = min(max(left / 100 * share, settings.least), settings.most)
    let margin = min(wanted + wanted * (Self.spread * min(max(fraction, 0), 1)), left / 2)
    return max(left - margin, Self.shortestDelay)
  }

  /// From a reading that brought nothing new to the next one: half of what is left, within `least` and `most`.
  func next(left: Duration) -> Duration {
    guard left > .zero else { return max(settings.most, Self.shortestDelay) }
    return max(min(left / 2, settings.most), settings.least, Self.shortestDelay)
  }
}
