/// Looks for bytes eight and 32 at a time: control characters, a backslash, and one of `"` and `$`. That one stands
/// right behind the control characters when a bit of it is turned over, so that one subtraction finds both.
///
/// What is found has the highest bit of its byte. Others may have it too: those outside ASCII, and those above one that
/// was rightly found. The other bits mean nothing.
enum ByteMarks {
  /// What is looked for beside control characters and backslashes: the bit that is turned over.
  enum Target: UInt64 {
    case quote = 0x02
    case dollar = 0x04
  }

  /// The bits that mean something.
  static let highest: UInt64 = 0x8080_8080_8080_8080
  private static let ones: UInt64 = 0x0101_0101_0101_0101

  @inline(__always)
  static func find(_ target: Target, in word: UInt64) -> UInt64 {
    let low = (word ^ (ones &* target.rawValue)) &- (ones &* 0x21)
    let backslash = (word ^ (ones &* 0x5c)) &- ones
    return low | backslash
  }

  @inline(__always)
  static func find(_ target: Target, in block: SIMD4<UInt64>) -> SIMD4<UInt64> {
    typealias Block = SIMD4<UInt64>
    let low = (block ^ Block(repeating: ones &* target.rawValue)) &- Block(repeating: ones &* 0x21)
    let backslash = (block ^ Block(repeating: ones &* 0x5c)) &- Block(repeating: ones)
    return low | backslash
  }

  /// Whether a backslash is among eight bytes.
  @inline(__always)
  static func hasBackslash(_ word: UInt64) -> Bool {
    let others = word ^ (ones &* 0x5c)
    return (others &- ones) & ~others & highest != 0
  }

  /// Whether no byte has its highest bit.
  @inline(__always)
  static func areMissing(in bits: SIMD4<UInt64>) -> Bool {
    ((bits[0] | bits[1]) | (bits[2] | bits[3])) & highest == 0
  }

  /// The place of the first byte that has its highest bit; 32 where none has.
  @inline(__always)
  static func first(in bits: SIMD4<UInt64>) -> Int {
    for lane in 0..<4 where bits[lane] & highest != 0 {
      return lane &* 8 &+ (bits[lane] & highest).littleEndian.trailingZeroBitCount &>> 3
    }
    return 32
  }
}
