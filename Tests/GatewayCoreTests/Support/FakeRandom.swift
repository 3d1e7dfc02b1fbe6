@testable import GatewayCore

/// Numbers that look random and are the same in every run (SplitMix64), unless a test prescribes the next ones.
final class FakeRandom: RandomSource {
  private var state: UInt64
  /// Taken first, in order.
  var prescribed: [UInt64] = []

  init(seed: UInt64 = 0) { state = seed }

  /// Makes the next `fraction()` give `value`, which must be in 0 ..< 1.
  func prescribe(fraction value: Double) { prescribed.append(UInt64(value * 0x1p53) << 11) }

  func bits() -> UInt64 {
    if !prescribed.isEmpty { return prescribed.removeFirst() }
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

extension FakeRandom: RandomNumberGenerator {
  func next() -> UInt64 { bits() }
}
