/// A rate with a burst of one second: what is taken comes back evenly, and never more than a second's worth waits. The
/// rate is told each time, as a reload may change it.
struct TokenBucket {
  /// Below zero after one that was larger than the burst.
  private var level: Double
  private var last: MonotonicInstant

  /// A full one.
  init(rate: Int, now: MonotonicInstant) {
    level = Double(rate)
    last = now
  }

  /// How long until so much may be taken; zero: now. What is larger than the burst may be when the bucket is full.
  mutating func wait(for amount: Int, rate: Int, now: MonotonicInstant) -> Duration {
    let passed = Double(max(0, (now - last).nanoseconds)) / 1e9
    last = now
    level = min(Double(rate), level + passed * Double(rate))
    let missing = Double(min(amount, rate)) - level
    // What is missing by the rounding of fractions is there.
    return missing <= 1e-6 ? .zero : .nanoseconds(Int64((missing / Double(rate) * 1e9).rounded(.up)))
  }

  mutating func take(_ amount: Int) { level -= Double(amount) }

  /// Whether it says nothing that a new one would not say.
  mutating func isFull(rate: Int, now: MonotonicInstant) -> Bool { wait(for: rate, rate: rate, now: now) == .zero }
}
