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
  @inline(__always)
  mutating func set(_ value: UInt64) { if value != self.value { change(to: value) } }

  private mutating func change(to value: UInt64) {
    guard value > self.value else { return write(value) }
    if value &- self.value == 1, digits[count &- 1] < UInt8(ascii: "9") {
      digits[count &- 1] &+= 1
      self.value = value
      return
    }
    // What comes on top changes the last digits, as far as it is carried.
    var (carried, at) = (value &- self.value, count)
    while carried > 0, at > 0 {
      at &-= 1
      carried &+= UInt64(digits[at] &- UInt8(ascii: "0"))
      digits[at] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: carried % 10)
      carried /= 10
    }
    // It may have more digits.
    if carried == 0 { self.value = value } else { write(value) }
  }

  /// The digits, and behind them bytes that mean nothing.
  @inline(__always)
  func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) { digits.span.bytes.withUnsafeBytes(body) }

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
