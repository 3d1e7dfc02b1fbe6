/// A digest that names, and protects nothing (FIPS 180-4, section 6.1): Redis calls scripts by it.
enum SHA1 {
  /// Forty digits in lower case.
  static func hexadecimal(of message: [UInt8]) -> String {
    var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
    let bytes = padded(message)
    for start in stride(from: 0, to: bytes.count, by: 64) { take(bytes[start..<start + 64], into: &state) }
    return state.map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()
  }

  /// Behind the message a set bit, zeros, and how many bits it has.
  private static func padded(_ message: [UInt8]) -> [UInt8] {
    var bytes = message + [0x80]
    while bytes.count % 64 != 56 { bytes.append(0) }
    let bits = UInt64(message.count) * 8
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
    return bytes
  }

  private static func take(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
    var words: [UInt32] = []
    words.reserveCapacity(80)
    for at in stride(from: block.startIndex, to: block.endIndex, by: 4) {
      words.append(block[at..<at + 4].reduce(0) { $0 << 8 | UInt32($1) })
    }
    for at in 16..<80 { words.append(rotated(words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16], by: 1)) }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for (round, word) in words.enumerated() {
      let (mixed, constant): (UInt32, UInt32) =
        switch round {
        case ..<20: (b & c | ~b & d, 0x5a82_7999)
        case ..<40: (b ^ c ^ d, 0x6ed9_eba1)
        case ..<60: (b & c | b & d | c & d, 0x8f1b_bcdc)
        default: (b ^ c ^ d, 0xca62_c1d6)
        }
      let next = rotated(a, by: 5) &+ mixed &+ e &+ constant &+ word
      (a, b, c, d, e) = (next, a, rotated(b, by: 30), c, d)
    }
    for (at, word) in [a, b, c, d, e].enumerated() { state[at] &+= word }
  }

  private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}
