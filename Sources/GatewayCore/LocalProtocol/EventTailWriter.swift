/// Writes the members of an event notification into memory that was made large enough: the one text that is written for
/// every event, so that a growing array's questions are asked once for all of it.
struct EventTailWriter {
  /// Bytes for everything but the name and the arguments: two numbers of up to 20 digits, the keys between them, quotes.
  static let room = 96

  private let memory: UnsafeMutableRawBufferPointer
  /// Behind the last byte written.
  private(set) var end: Int

  /// Begins to write at an offset.
  init(_ memory: UnsafeMutableRawBufferPointer, at start: Int) {
    self.memory = memory
    end = start
  }

  @inline(__always)
  mutating func put(_ text: StaticString) {
    put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  @inline(__always)
  mutating func put(_ span: RawSpan) {
    span.withUnsafeBytes { put($0) }
  }

  /// Decimal digits, written in place from the last to the first, two at a time.
  mutating func put(decimal value: UInt64) {
    let count = Self.digitCount(value)
    precondition(count <= memory.count &- end)
    var at = end &+ count
    var rest = value
    while rest >= 100 {
      let (hundredth, pair) = rest.quotientAndRemainder(dividingBy: 100)
      at &-= 2
      putPair(pair, at: at)
      rest = hundredth
    }
    if rest >= 10 {
      putPair(rest, at: end)
    } else {
      memory[end] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest)
    }
    end &+= count
  }

  /// `pair` is below 100.
  @inline(__always)
  private func putPair(_ pair: UInt64, at place: Int) {
    let digits = Self.pairs.utf8Start + Int(truncatingIfNeeded: pair &* 2)
    memory[place] = digits[0]
    memory[place &+ 1] = digits[1]
  }

  private static let pairs: StaticString = """
    0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
    5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899
    """

  private static func digitCount(_ value: UInt64) -> Int {
    var count = 1
    var rest = value
    while rest >= 10_000 {
      rest /= 10_000
      count &+= 4
    }
    if rest >= 1_000 { return count &+ 3 }
    if rest >= 100 { return count &+ 2 }
    return rest >= 10 ? count &+ 1 : count
  }

  @inline(__always)
  private mutating func put(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= memory.count &- end)
    guard let source = bytes.baseAddress, let base = memory.baseAddress else { return }
    (base + end).copyMemory(from: source, byteCount: bytes.count)
    end &+= bytes.count
  }
}
