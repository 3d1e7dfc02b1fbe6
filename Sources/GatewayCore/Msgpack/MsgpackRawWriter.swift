/// Writes MessagePack values into memory of its own, which is used again for what follows and grows where it has to: a growing
/// array's questions are not asked for each byte. MessagePack specification, section "Formats".
public struct MsgpackRawWriter: ~Copyable {
  @usableFromInline
  private(set) var memory: UnsafeMutableRawPointer
  private var capacity: Int
  /// Behind the last byte written.
  public private(set) var end = 0

  /// What a value takes at most beside its own bytes.
  private static let headLimit = 9
  private static let firstCapacity = 1 << 10

  public init() {
    capacity = Self.firstCapacity
    memory = .allocate(byteCount: capacity, alignment: 8)
  }

  deinit { memory.deallocate() }

  /// Forgets what was written. Of its memory it keeps so many bytes, if it has more.
  public mutating func clear(keeping limit: Int) {
    end = 0
    if capacity > max(limit, Self.firstCapacity) { self = MsgpackRawWriter() }
  }

  /// Appends eight bytes that are no value, the lowest first.
  public mutating func append(_ word: UInt64) {
    makeRoom(MemoryLayout<UInt64>.size)
    memory.storeBytes(of: word.littleEndian, toByteOffset: end, as: UInt64.self)
    end &+= MemoryLayout<UInt64>.size
  }

  /// What was written.
  @inlinable
  public func withBytes<Result, Problem>(
    _ body: (UnsafeRawBufferPointer) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    try body(UnsafeRawBufferPointer(start: memory, count: end))
  }

  @inline(__always)
  mutating func null() { head(0xc0, 0, width: 0) }

  @inline(__always)
  mutating func bool(_ value: Bool) { head(value ? 0xc3 : 0xc2, 0, width: 0) }

  @inline(__always)
  mutating func unsigned(_ value: UInt64) {
    let (first, width): (UInt8, Int) =
      switch value {
      case ...0x7f: (UInt8(truncatingIfNeeded: value), 0)
      case ...0xffff_ffff: (0xce, 4)
      default: (0xcf, 8)
      }
    head(first, value, width: width)
  }

  /// Nil is null.
  @inline(__always)
  mutating func integer(_ value: Int64?) {
    guard let value else { return null() }
    if value >= 0 { unsigned(UInt64(value)) } else { head(0xd3, UInt64(bitPattern: value), width: 8) }
  }

  /// The head of an array; its values have to follow.
  @inline(__always)
  mutating func array(_ count: Int) { head(0xdd, UInt64(count), width: 4) }

  /// Nil is null.
  @inline(__always)
  mutating func text(_ text: String?) {
    if let text { self.text(text) } else { null() }
  }

  mutating func text(_ text: String) {
    if text.utf8.withContiguousStorageIfAvailable({ put(text: UnsafeRawBufferPointer($0)) }) == nil {
      put(foreign: text)
    }
  }

  /// A text of another library's, of which there are none here. By itself, so that no other text is counted for it.
  @inline(never)
  private mutating func put(foreign text: String) { Array(text.utf8).withUnsafeBytes { put(text: $0) } }

  @inline(__always)
  private mutating func put(text bytes: UnsafeRawBufferPointer) {
    if bytes.count < 32 {
      head(0xa0 | UInt8(truncatingIfNeeded: bytes.count), 0, width: 0)
    } else {
      head(0xdb, UInt64(bytes.count), width: 4)
    }
    copy(bytes)
  }

  /// Nil is null.
  mutating func binary(_ data: [UInt8]?) {
    guard let data else { return null() }
    head(0xc6, UInt64(data.count), width: 4)
    data.withUnsafeBytes { copy($0) }
  }

  /// Appends values that were encoded before.
  mutating func put(encoded values: [UInt8]) { values.withUnsafeBytes { copy($0) } }

  @inline(__always)
  private mutating func copy(_ bytes: UnsafeRawBufferPointer) {
    makeRoom(bytes.count)
    guard let source = bytes.baseAddress else { return }
    (memory + end).copyMemory(from: source, byteCount: bytes.count)
    end &+= bytes.count
  }

  /// Writes eight bytes whatever the width is; what is too much is written over.
  @inline(__always)
  private mutating func head(_ first: UInt8, _ value: UInt64, width: Int) {
    makeRoom(Self.headLimit)
    memory.storeBytes(of: first, toByteOffset: end, as: UInt8.self)
    memory.storeBytes(of: (value &<< UInt64(64 &- 8 &* width)).bigEndian, toByteOffset: end &+ 1, as: UInt64.self)
    end &+= 1 &+ width
  }

  @inline(__always)
  private mutating func makeRoom(_ count: Int) {
    if capacity &- end < count { grow(by: count) }
  }

  @inline(never)
  private mutating func grow(by count: Int) {
    let larger = max(2 * capacity, end + count)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
    grown.copyMemory(from: memory, byteCount: end)
    memory.deallocate()
    (memory, capacity) = (grown, larger)
  }
}
