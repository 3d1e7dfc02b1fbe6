/// Writes the members of an event notification into memory that was made large enough: the one text that is written for
/// every event, so that a growing array's questions are asked once for all of it.
struct EventTailWriter {
  /// Bytes for everything but the name and the arguments: two numbers (`DecimalText.room`), the keys between them,
  /// quotes.
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

/// The number and the time of an event as its line says them.
struct EventStamp: Equatable, Sendable {
  private(set) var sequence = DecimalText()
  private(set) var time = DecimalText()

  init() {}

  /// `time` in milliseconds since 1970; what is before that counts as 1970.
  init(sequence: UInt64, time: Int64) { set(sequence: sequence, time: time) }

  mutating func set(sequence: UInt64, time: Int64) {
    self.sequence.set(sequence)
    self.time.set(UInt64(clamping: time))
  }
}
