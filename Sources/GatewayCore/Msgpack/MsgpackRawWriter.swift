/// Writes MessagePack values into memory that was made large enough, as `RawWriter` does with texts: a growing array's
/// questions are asked once for all of them. MessagePack specification, section "Formats".
struct MsgpackRawWriter {
  private let memory: UnsafeMutableRawBufferPointer
  /// Behind the last byte written.
  private(set) var end: Int

  /// What a value takes at most beside its own bytes; behind the last one there has to be room for another head.
  static let headLimit = 9

  /// Begins to write at an offset.
  init(_ memory: UnsafeMutableRawBufferPointer, at start: Int) {
    self.memory = memory
    end = start
  }

  mutating func null() { head(0xc0, 0, width: 0) }
  mutating func bool(_ value: Bool) { head(value ? 0xc3 : 0xc2, 0, width: 0) }

  mutating func unsigned(_ value: UInt64) {
    switch value {
    case ...0x7f: head(UInt8(truncatingIfNeeded: value), 0, width: 0)
    case ...0xffff_ffff: head(0xce, value, width: 4)
    default: head(0xcf, value, width: 8)
    }
  }

  /// Nil is null.
  mutating func integer(_ value: Int64?) {
    switch value {
    case nil: null()
    case let value? where value >= 0: unsigned(UInt64(value))
    case let value?: head(0xd3, UInt64(bitPattern: value), width: 8)
    }
  }

  /// The head of an array; its values have to follow.
  mutating func array(_ count: Int) { head(0xdd, UInt64(count), width: 4) }

  /// Nil is null.
  @inline(__always)
  mutating func text(_ text: String?) {
    if let text { self.text(text) } else { null() }
  }

  mutating func text(_ text: String) {
    text.utf8Span.span.bytes.withUnsafeBytes { bytes in
      if bytes.count < 32 {
        head(0xa0 | UInt8(truncatingIfNeeded: bytes.count), 0, width: 0)
      } else {
        head(0xdb, UInt64(bytes.count), width: 4)
      }
      copy(bytes)
    }
  }

  /// Nil is null.
  mutating func binary(_ data: [UInt8]?) {
    guard let data else { return null() }
    head(0xc6, UInt64(data.count), width: 4)
    data.withUnsafeBytes { copy($0) }
  }

  @inline(__always)
  private mutating func copy(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= memory.count &- end)
    guard let source = bytes.baseAddress, let base = memory.baseAddress else { return }
    (base + end).copyMemory(from: source, byteCount: bytes.count)
    end &+= bytes.count
  }

  /// Writes eight bytes whatever the width is; what is too much is written over.
  @inline(__always)
  private mutating func head(_ first: UInt8, _ value: UInt64, width: Int) {
    precondition(memory.count &- end >= Self.headLimit)
    memory[end] = first
    memory.storeBytes(of: (value &<< UInt64(64 &- 8 &* width)).bigEndian, toByteOffset: end &+ 1, as: UInt64.self)
    end &+= 1 &+ width
  }
}
