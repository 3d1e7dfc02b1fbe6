/// How often something took how long, in steps that double. Adding costs the same however much was added before, and no
/// memory; what is asked of it is good to a factor of two at worst.
public struct DurationHistogram: Sendable {
  /// Step `i` counts what took at most 2^(10 + i) nanoseconds and longer than the step before it allows: the first one
  /// microsecond, the last but one about 69 seconds. The last one has no bound.
  static let stepCount = 28
  private static let firstBits = 10

  private var counts = InlineArray<28, UInt64>(repeating: 0)
  /// Of all durations, in nanoseconds.
  private(set) var sum: UInt64 = 0

  public init() {}

  /// Counts one, in nanoseconds; less than nothing counts as nothing.
  public mutating func add(_ nanoseconds: Int64) {
    let value = UInt64(max(0, nanoseconds))
    let bits = UInt64.bitWidth &- ((max(value, 1) &- 1) &>> UInt64(Self.firstBits)).leadingZeroBitCount
    counts[min(bits, Self.stepCount &- 1)] &+= 1
    sum &+= value
  }

  /// Counts what another one has counted.
  mutating func add(_ other: DurationHistogram) {
    for step in 0..<Self.stepCount { counts[step] &+= other.counts[step] }
    sum &+= other.sum
  }

  /// How many were counted.
  var count: UInt64 { (0..<Self.stepCount).reduce(0) { $0 &+ counts[$1] } }

  /// How many each step has; nothing behind the last that has any.
  var steps: [UInt64] {
    let used = (0..<Self.stepCount).last { counts[$0] > 0 }.map { $0 + 1 } ?? 0
    return (0..<used).map { counts[$0] }
  }

  /// How many took at most 2^`bits` nanoseconds, of the powers that are bounds of steps.
  func count(upToPower bits: Int) -> UInt64 {
    (0...min(bits - Self.firstBits, Self.stepCount - 1)).reduce(0) { $0 &+ counts[$1] }
  }

  /// What that part of all took at most, in nanoseconds, evenly spread within its step; nil before the first.
  func quantile(_ part: Double) -> UInt64? {
    let rank = part * Double(count)
    var below: UInt64 = 0
    for step in 0..<Self.stepCount where counts[step] > 0 {
      let within = (rank - Double(below)) / Double(counts[step])
      below &+= counts[step]
      guard Double(below) >= rank else { continue }
      let end = Double(UInt64(1) << UInt64(Self.firstBits + step))
      let start = step > 0 ? end / 2 : 0
      return UInt64(start + (end - start) * min(1, max(0, within)))
    }
    return nil
  }
}
