/// Base64 with the standard alphabet and padding (RFC 4648 section 4). Decision 0003.
public enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  /// The six bits of each letter; 0xff for bytes that are none.
  private static let letters: [UInt8] = {
    var table = [UInt8](repeating: 0xff, count: 256)
    for (value, letter) in alphabet.enumerated() { table[Int(letter)] = UInt8(value) }
    return table
  }()
  private static let padding = UInt8(ascii: "=")

  /// How long the encoded form of so many bytes is.
  static func encodedCount(_ size: Int) -> Int { (size &+ 2) / 3 * 4 }

  /// Appends the encoded form of `data`.
  public static func encode(_ data: RawSpan, into output: inout [UInt8]) {
    let whole = data.byteCount / 3
    output.append(addingCapacity: encodedCount(data.byteCount)) { output in
      output.withUnsafeMutableBufferPointer { letters, count in
        alphabet.withUnsafeBufferPointer { alphabet in
          data.withUnsafeBytes { data in
            var (to, at) = (count, 0)
            for _ in 0..<whole {
              let group = Int(data[at]) << 16 | Int(data[at &+ 1]) << 8 | Int(data[at &+ 2])
              letters[to] = alphabet[group >> 18]
              letters[to &+ 1] = alphabet[group >> 12 & 63]
              letters[to &+ 2] = alphabet[group >> 6 & 63]
              letters[to &+ 3] = alphabet[group & 63]
              to &+= 4
              at &+= 3
            }
            count = to
            guard at < data.count else { return }
            // One or two bytes more, and padding for those that are missing.
            let second = at + 1 < data.count ? Int(data[at + 1]) : nil
            let group = Int(data[at]) << 16 | (second ?? 0) << 8
            letters[to] = alphabet[group >> 18]
            letters[to + 1] = alphabet[group >> 12 & 63]
            letters[to + 2] = second == nil ? padding : alphabet[group >> 6 & 63]
            letters[to + 3] = padding
            count = to + 4
          }
        }
      }
    }
  }

  /// The data of an encoded text, or nil: exactly the standard alphabet, complete padding, and no bit set that carries
  /// no data, so that two different texts never mean the same.
  static func decode(_ text: RawSpan) -> [UInt8]? {
    guard text.byteCount % 4 == 0 else { return nil }
    guard text.byteCount > 0 else { return [] }
    let last = text.byteCount - 4
    var output: [UInt8] = []
    let letters = letters.span
    // Whether there is room is asked once for all.
    output.append(addingCapacity: text.byteCount / 4 * 3) { output in
      output.withUnsafeMutableBufferPointer { bytes, count in
        for at in stride(from: 0, to: last, by: 4) {
          guard let group = group(text, at, letters: 4, letters) else { return }
          bytes[count] = UInt8(truncatingIfNeeded: group >> 16)
          bytes[count &+ 1] = UInt8(truncatingIfNeeded: group >> 8)
          bytes[count &+ 2] = UInt8(truncatingIfNeeded: group)
          count &+= 3
        }
      }
    }
    guard output.count == last / 4 * 3, let (group, count) = lastGroup(text, last, letters) else { return nil }
    for shift in [16, 8, 0].prefix(count) { output.append(UInt8(truncatingIfNeeded: group >> UInt32(shift))) }
    return output
  }

  /// Whether `decode` finds data in it.
  static func isEncoded(_ text: RawSpan) -> Bool {
    guard text.byteCount % 4 == 0 else { return false }
    guard text.byteCount > 0 else { return true }
    let last = text.byteCount - 4
    let letters = letters.span
    var seen: UInt8 = 0
    for at in 0..<last { seen |= letters[Int(JSONScanner.byte(text, at))] }
    return seen & 0xc0 == 0 && lastGroup(text, last, letters) != nil
  }

  /// The bits of the last four letters, which may be padded, and how many bytes of data they are.
  private static func lastGroup(_ text: RawSpan, _ at: Int, _ letters: Span<UInt8>) -> (bits: UInt32, count: Int)? {
    var count = 4
    if JSONScanner.byte(text, at &+ 3) == padding { count = JSONScanner.byte(text, at &+ 2) == padding ? 2 : 3 }
    guard let group = group(text, at, letters: count, letters) else { return nil }
    let unused: UInt32 = count == 2 ? 0xffff : count == 3 ? 0xff : 0
    return group & unused == 0 ? (group, count - 1) : nil
  }

  /// Twenty-four bits from the first `letters` of four letters, the missing ones zero.
  @inline(__always)
  private static func group(_ text: RawSpan, _ at: Int, letters count: Int, _ letters: Span<UInt8>) -> UInt32? {
    var group: UInt32 = 0
    var seen: UInt8 = 0
    for offset in 0..<count {
      let value = letters[Int(JSONScanner.byte(text, at &+ offset))]
      seen |= value
      group |= UInt32(value & 63) << UInt32(18 - 6 * offset)
    }
    return seen & 0xc0 == 0 ? group : nil
  }
}
