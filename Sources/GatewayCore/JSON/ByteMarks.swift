/// Looks for bytes eight at a time: control characters, a backslash, and one of `"` and `$`. That one stands right behind
/// the control characters when a bit of it is turned over, so that one subtraction finds both.
///
/// What is found has the highest bit of its byte. Others may have it too: those outside ASCII, and those above one that
/// was rightly found. The other bits mean nothing.
///
/// Of 16 bytes at a time the processor says itself which are meant; here that is asked for.
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

  /// Whether a backslash is among eight bytes.
  @inline(__always)
  static func hasBackslash(_ word: UInt64) -> Bool {
    let others = word ^ (ones &* 0x5c)
    return (others &- ones) & ~others & highest != 0
  }

  /// Which of 16 bytes are meant.
  typealias Marks = SIMDMask<SIMD16<Int8>>

  @inline(__always)
  static func areMissing(in marks: Marks) -> Bool {
    let words = words(marks)
    return words[0] | words[1] == 0
  }

  /// The place of the first byte that is meant; 16 where none is.
  @inline(__always)
  static func first(in marks: Marks) -> Int {
    let words = words(marks)
    return words[0] != 0
      ? words[0].littleEndian.trailingZeroBitCount &>> 3 : 8 &+ words[1].littleEndian.trailingZeroBitCount &>> 3
  }

  /// All bits of a byte that is meant are set.
  @inline(__always)
  private static func words(_ marks: Marks) -> SIMD2<UInt64> { unsafeBitCast(marks, to: SIMD2<UInt64>.self) }
}
