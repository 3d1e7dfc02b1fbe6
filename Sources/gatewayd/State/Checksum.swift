/// FNV-1a over the values of a row, eight bytes at a time. It finds accidents, not intent.
struct Checksum {
  private var state: UInt64 = 0xcbf2_9ce4_8422_2325

  var value: Int64 { Int64(bitPattern: state) }

  mutating func add(_ value: Int64?) {
    mix(value == nil ? 0 : 1)
    mix(UInt64(bitPattern: value ?? 0))
  }

  /// A text as its UTF-8.
  mutating func add(_ bytes: UnsafeRawBufferPointer?) {
    mix(bytes == nil ? 0 : 1)
    if let bytes { add(bytes) }
  }

  private mutating func add(_ buffer: UnsafeRawBufferPointer) {
    mix(UInt64(buffer.count))
    var place = 0
    // The loop itself costs half as much as what is mixed in it.
    while place &+ 32 <= buffer.count {
      for word in 0..<4 { mix(buffer.loadUnaligned(fromByteOffset: place &+ 8 &* word, as: UInt64.self)) }
      place &+= 32
    }
    while place &+ 8 <= buffer.count {
      mix(buffer.loadUnaligned(fromByteOffset: place, as: UInt64.self))
      place &+= 8
    }
    var rest: UInt64 = 0
    for byte in buffer[place...] { rest = rest << 8 | UInt64(byte) }
    mix(rest)
  }

  private mutating func mix(_ word: UInt64) {
    state = (state ^ word) &* 0x0000_0100_0000_01b3
    state ^= state >> 32
  }
}
