/// Tells equal contents of messages from different ones, today and after a restart. Two contents that collide would
/// have to agree in 64 bits, and harm only the user who made them.
enum Fingerprint {
  /// Of several texts in their order.
  static func of(_ parts: [[UInt8]]) -> UInt64 {
    var state: UInt64 = 0xcbf2_9ce4_8422_2325
    for part in parts { mix(part, into: &state) }
    return state
  }

  private static func mix(_ bytes: [UInt8], into state: inout UInt64) {
    bytes.withUnsafeBytes { mix($0, into: &state) }
  }

  /// FNV-1a over eight bytes at a time, the length first.
  private static func mix(_ buffer: UnsafeRawBufferPointer, into state: inout UInt64) {
    func mix(_ word: UInt64) {
      state = (state ^ word) &* 0x0000_0100_0000_01b3
      state ^= state >> 29
    }
    mix(UInt64(buffer.count))
    var place = 0
    while place &+ 8 <= buffer.count {
      mix(buffer.loadUnaligned(fromByteOffset: place, as: UInt64.self).littleEndian)
      place &+= 8
    }
    for byte in buffer[place...] { mix(UInt64(byte)) }
  }
}
