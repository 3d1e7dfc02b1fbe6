/// Random numbers for back-off jitter and identifiers.
public protocol RandomSource: AnyObject {
  /// Sixty-four random bits.
  func bits() -> UInt64
}

extension RandomSource {
  /// Evenly distributed in 0 ..< 1.
  func fraction() -> Double { Double(bits() >> 11) * 0x1p-53 }

  /// A random (version 4) UUID in lower case, RFC 9562 section 5.4.
  func uuid() -> String {
    let high = bits() & 0xffff_ffff_ffff_0fff | 0x0000_0000_0000_4000
    let low = bits() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for (index, shift) in stride(from: 60, through: 0, by: -4).enumerated() {
      if index == 8 || index == 12 { text.append(UInt8(ascii: "-")) }
      text.append(digits[Int(high >> UInt64(shift) & 15)])
    }
    for (index, shift) in stride(from: 60, through: 0, by: -4).enumerated() {
      if index == 0 || index == 4 { text.append(UInt8(ascii: "-")) }
      text.append(digits[Int(low >> UInt64(shift) & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
