/// The decimal digits of a number that mostly is the one behind the last, or the last one again: only what changes is
/// written.
struct DecimalText: Equatable, Sendable {
  /// Bytes that a copy of the digits may touch, those behind the last digit included.
  static let room = 24

  private(set) var value: UInt64 = 0
  /// How many digits there are: 1 to 20.
  private(set) var count = 1
  /// From the first digit on.
  private var digits = InlineArray<24, UInt8>(repeating: UInt8(ascii: "0"))

  init(_ value: UInt64 = 0) { set(value) }

  /// Takes another number.
  mutating func set(_ value: UInt64) {
    if value == self.value { return }
    if value &- self.value == 1, value != 0, increment() { self.value = value } else { write(value) }
  }

  /// The digits, and behind them bytes that mean nothing.
  @inline(__always)
  func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) { digits.span.bytes.withUnsafeBytes(body) }

  /// False where the number needs another digit.
  private mutating func increment() -> Bool {
    var at = count &- 1
    if digits[at] < UInt8(ascii: "9") {
      digits[at] &+= 1
      return true
    }
    while at >= 0, digits[at] == UInt8(ascii: "9") { at &-= 1 }
    guard at >= 0 else { return false }
    digits[at] &+= 1
    while at < count &- 1 {
      at &+= 1
      digits[at] = UInt8(ascii: "0")
    }
    return true
  }

  private mutating func write(_ value: UInt64) {
    self.value = value
    count = 0
    var rest = value
    repeat {
      count &+= 1
      rest /= 10
    } while rest > 0
    rest = value
    for at in (0..<count).reversed() {
      digits[at] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
  }

  static func == (a: Self, b: Self) -> Bool { a.value == b.value }
}
