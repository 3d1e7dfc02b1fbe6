/// Writes pieces of a text into memory that was made large enough, so that a growing array's questions are asked once for
/// all of them.
struct RawWriter {
  private let base: UnsafeMutableRawPointer
  private let capacity: Int
  /// Behind the last byte written.
  private(set) var end: Int

  /// Begins to write at an offset.
  init(_ memory: UnsafeMutableRawBufferPointer, at start: Int) {
    guard let base = memory.baseAddress else { preconditionFailure("there is no memory to write to") }
    self.base = base
    capacity = memory.count
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

  /// Copies more than the digits, in a few instructions; what is too much is written over.
  @inline(__always)
  mutating func put(_ number: DecimalText) {
    let start = end
    number.withBytes { put($0) }
    end = start &+ number.count
  }

  /// What `put` of a word touches at most.
  static let wordSize = 8

  /// The lowest bytes of a word, in a few instructions: all are copied, and what is too much is written over.
  @inline(__always)
  mutating func put(_ word: UInt64, count: Int) {
    precondition(Self.wordSize <= capacity &- end && count <= Self.wordSize)
    base.storeBytes(of: word.littleEndian, toByteOffset: end, as: UInt64.self)
    end &+= count
  }

  /// The decimal digits of a number.
  @inline(__always)
  mutating func put(decimal number: UInt64) {
    let behind = end &+ Self.digits(of: number)
    precondition(behind <= capacity)
    var (rest, at) = (number, behind)
    repeat {
      at &-= 1
      base.storeBytes(of: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10), toByteOffset: at, as: UInt8.self)
      rest /= 10
    } while rest > 0
    end = behind
  }

  /// How many decimal digits a number has: 1 to `digitLimit`.
  @inline(__always)
  static func digits(of number: UInt64) -> Int {
    var (rest, count) = (number, 1)
    while rest >= 10 {
      rest /= 10
      count &+= 1
    }
    return count
  }

  static let digitLimit = 20

  @inline(__always)
  mutating func put(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= capacity &- end)
    guard let source = bytes.baseAddress else { return }
    (base + end).copyMemory(from: source, byteCount: bytes.count)
    end &+= bytes.count
  }
}

extension [UInt8] {
  /// Appends what `body` writes, at most so many bytes.
  @inline(__always)
  mutating func append(room: Int, _ body: (inout RawWriter) -> Void) {
    append(addingCapacity: room) { output in
      output.withUnsafeMutableBufferPointer { buffer, count in
        var writer = RawWriter(UnsafeMutableRawBufferPointer(buffer), at: count)
        body(&writer)
        count = writer.end
      }
    }
  }
}
