/// Writes JSON in one line.
enum JSONWriter {
  static func text(of value: JSON, form: JSONReader.Form) -> [UInt8] {
    var text: [UInt8] = []
    write(value, form: form, to: &text)
    return text
  }

  static func write(_ value: JSON, form: JSONReader.Form, to text: inout [UInt8]) {
    switch value {
    case .null: text += "null".utf8
    case .bool(let value): text += (value ? "true" : "false").utf8
    case .number(let number): text += number.text.utf8
    case .string(let string): write(string, to: &text)
    case .bytes(let bytes):
      text += "{\"$bin\":\"".utf8
      Base64.encode(bytes, to: &text)
      text += "\"}".utf8
    case .array(let elements):
      text.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        write(element, form: form, to: &text)
      }
      text.append(UInt8(ascii: "]"))
    case .object(let members):
      let isMarked = form == .payload && members.count == 1 && BinaryMark.isOne(members[0].key)
      text.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        write(isMarked ? "$" + member.key : member.key, to: &text)
        text.append(UInt8(ascii: ":"))
        write(member.value, form: form, to: &text)
      }
      text.append(UInt8(ascii: "}"))
    }
  }

  /// A string with its quotes.
  static func write(_ string: String, to text: inout [UInt8]) {
    text.append(UInt8(ascii: "\""))
    for byte in string.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        text.append(UInt8(ascii: "\\"))
        text.append(byte)
      case UInt8(ascii: "\n"): text += "\\n".utf8
      case 0..<0x20: text += ((byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16)).utf8
      default: text.append(byte)
      }
    }
    text.append(UInt8(ascii: "\""))
  }
}

/// Bytes as text: the standard alphabet, with padding (RFC 4648, section 4).
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  /// What each byte stands for; 64 where it is none of the alphabet.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 64, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()

  static func encode(_ bytes: [UInt8], to text: inout [UInt8]) {
    text.reserveCapacity(text.count + (bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      for place in 0..<4 {
        let isPadding = place > group.count
        text.append(isPadding ? UInt8(ascii: "=") : alphabet[Int(bits >> (18 - 6 * UInt32(place)) & 63)])
      }
    }
  }

  /// Nil where it is no such text.
  static func decode(_ string: String) -> [UInt8]? {
    let text = Array(string.utf8)
    guard text.count.isMultiple(of: 4) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    for start in stride(from: 0, to: text.count, by: 4) {
      var group = text[start..<start + 4]
      if start + 4 == text.count {
        if group.last == UInt8(ascii: "=") { group.removeLast() }
        if group.last == UInt8(ascii: "=") { group.removeLast() }
      }
      var bits: UInt32 = 0
      for character in group {
        let value = values[Int(character)]
        guard value < 64 else { return nil }
        bits = bits << 6 | UInt32(value)
      }
      bits <<= 6 * UInt32(4 - group.count)
      for octet in 0..<group.count - 1 { bytes.append(UInt8(truncatingIfNeeded: bits >> (16 - 8 * UInt32(octet)))) }
    }
    return bytes
  }
}
