/// Writes pieces of a text into memory that was made large enough, so that a growing array's questions are asked once for
/// all of them.
struct RawWriter {
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

  /// Copies more than the digits, in a few instructions; what is too much is written over.
  @inline(__always)
  mutating func put(_ number: DecimalText) {
    let start = end
    number.withBytes { put($0) }
    end = start &+ number.count
  }

  @inline(__always)
  private mutating func put(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= memory.count &- end)
    guard let source = bytes.baseAddress, let base = memory.baseAddress else { return }
    (base + end).copyMemory(from: source, byteCount: bytes.count)
    end &+= bytes.count
  }
}
