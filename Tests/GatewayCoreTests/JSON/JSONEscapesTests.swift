import Testing

@testable import GatewayCore

/// The inside of JSON strings, compared with one that is written a byte at a time.
@Suite struct JSONEscapesTests {
  private static func reference(_ text: [UInt8]) -> [UInt8] {
    text.flatMap { byte -> [UInt8] in
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): Array(#"\n"#.utf8)
      case UInt8(ascii: "\r"): Array(#"\r"#.utf8)
      case UInt8(ascii: "\t"): Array(#"\t"#.utf8)
      case ..<0x10: Array(#"\u000\#(String(byte, radix: 16))"#.utf8)
      case ..<0x20: Array(#"\u00\#(String(byte, radix: 16))"#.utf8)
      default: [byte]
      }
    }
  }

  private static func escaped(_ text: [UInt8], behind front: [UInt8] = []) -> [UInt8] {
    var output = front
    text.withUnsafeBufferPointer { output.append(escaping: $0) }
    return output
  }

  private static func expectTheSame(_ text: [UInt8]) {
    let expected = reference(text)
    #expect(escaped(text) == expected)
    #expect(JSONEscapes.count(text.span.bytes) == expected.count)
    #expect(JSONEscapes.areNeeded(by: text.span.bytes) == (expected.count > text.count))
  }

  @Test func everyByteIsEscapedAtEveryPlaceAsOneByOne() {
    for byte in UInt8.min...UInt8.max {
      for length in 1...18 {
        for place in 0..<length {
          var text = [UInt8](repeating: UInt8(ascii: "x"), count: length)
          text[place] = byte
          Self.expectTheSame(text)
        }
      }
      Self.expectTheSame([UInt8](repeating: byte, count: 33))
    }
  }

  @Test func anyTextIsEscapedAsOneByOne() {
    let random = FakeRandom(seed: 1)
    let special = Array("\"\\\n\r\t\u{0}\u{1}\u{1f} !#[]x\u{7f}é😀".utf8)
    for round in 0..<4_000 {
      let rare = round % 4
      let text = (0..<round % 80).map { _ -> UInt8 in
        let bits = random.bits()
        let isSpecial = bits >> 60 >= UInt64(5 * rare)
        return isSpecial ? special[Int(bits % UInt64(special.count))] : UInt8(truncatingIfNeeded: bits)
      }
      Self.expectTheSame(text)
      let front = [UInt8](repeating: 0, count: round % 9)
      #expect(Self.escaped(text, behind: front) == front + Self.reference(text))
    }
  }

  @Test(arguments: ["", "x", "\u{1}", "a\"b", "\n\n\n\n\n\n\n\n\n", "plain and long enough"])
  func aStringThatDoesNotFitIsNotWritten(_ text: String) {
    let bytes = Array(text.utf8)
    let whole = [UInt8(ascii: "\"")] + Self.reference(bytes) + [UInt8(ascii: "\"")]
    var output: [UInt8] = [1]
    let isWritten = output.append(string: bytes.span.bytes, within: whole.count - 1)
    #expect(!isWritten && output == [1])
    let fits = output.append(string: bytes.span.bytes, within: whole.count)
    #expect(fits && output == [1] + whole)
  }

  @Test func aByteMayStandInFront() {
    var output: [UInt8] = []
    let fits = output.append(string: Array("$bin\n".utf8).span.bytes, prefix: UInt8(ascii: "$"), within: 9)
    #expect(fits && output == Array(#""$$bin\n""#.utf8))
    let isWritten = output.append(string: Array("$bin\n".utf8).span.bytes, prefix: UInt8(ascii: "$"), within: 8)
    #expect(!isWritten && output.count == 9)
  }
}
