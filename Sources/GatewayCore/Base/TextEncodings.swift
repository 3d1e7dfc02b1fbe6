/// Percent-encoding for the target of an HTTP request (RFC 3986 section 2.1).
enum PercentEncoding {
  private static let digits = Array("0123456789ABCDEF".utf8)

  /// Letters, digits and the four marks that never need encoding; everything else is encoded.
  static func component(_ text: String) -> String { encode(text.utf8, keeping: isUnreserved) }

  /// A path that is written as the user wrote it: only what cannot stand in a path is encoded.
  static func path(_ text: String) -> String {
    encode(text.utf8) { isUnreserved($0) || "!$&'()*+,;=:@/%".utf8.contains($0) }
  }

  /// A query that is written as the user wrote it: only what cannot stand in a query is encoded.
  static func query(_ text: String) -> String {
    encode(text.utf8) { isUnreserved($0) || "!$&'()*+,;=:@/?%".utf8.contains($0) }
  }

  /// The text that an encoded component means; a `%` without two digits stands for itself.
  static func decode(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      let pair = rest.prefix(2).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
      if byte == UInt8(ascii: "%"), pair.count == 2 {
        bytes.append(UInt8(pair[0] * 16 + pair[1]))
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: false
    }
  }

  private static func encode(_ bytes: some Sequence<UInt8>, keeping isKept: (UInt8) -> Bool) -> String {
    var output: [UInt8] = []
    for byte in bytes {
      if isKept(byte) {
        output.append(byte)
      } else {
        output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: output, as: UTF8.self)
  }
}

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
