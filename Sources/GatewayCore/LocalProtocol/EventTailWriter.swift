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
    while rest >= 10 {
      let (tenth, pair) = rest.quotientAndRemainder(dividingBy: 100)
      let (tens, ones) = pair.quotientAndRemainder(dividingBy: 10)
      memory[at &- 1] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: ones)
      memory[at &- 2] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: tens)
      at &-= 2
      rest = tenth
    }
    if at > end { memory[end] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest) }
    end &+= count
  }

  private static func digitCount(_ value: UInt64) -> Int {
    var count = 1
    var limit: UInt64 = 10
    // The largest number has twenty digits, one more than the largest limit.
    while count < 20, value >= limit {
      count &+= 1
      limit = count < 20 ? limit &* 10 : limit
    }
    return count
  }

  @inline(__always)
  private mutating func put(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= memory.count &- end)
    guard let source = bytes.baseAddress, let base = memory.baseAddress else { return }
    (base + end).copyMemory(from: source, byteCount: bytes.count)
    end &+= bytes.count
  }
}
