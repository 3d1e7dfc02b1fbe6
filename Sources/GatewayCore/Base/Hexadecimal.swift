/// Bytes as pairs of hexadecimal digits.
enum Hexadecimal {
  /// In lower case.
  static func encode(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Either case; nil for a text that is not pairs of digits.
  static func decode(_ text: String) -> [UInt8]? {
    let digits = text.utf8.map(value)
    guard digits.count % 2 == 0, !digits.contains(0xff) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  private static func value(_ letter: UInt8) -> UInt8 {
    switch letter {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): letter - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): letter - UInt8(ascii: "A") + 10
    default: 0xff
    }
  }
}
