import Testing

@testable import GatewayCore

/// Strings are looked at 64, 16 and eight bytes at a time: whatever needs attention must be seen at every place of a block.
@Suite struct JSONBlockTests {
  private static let lengths = [
    0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 63, 64, 65, 79, 80, 81, 95, 96, 97, 127, 128, 129, 150,
  ]

  private func scanned(_ text: [UInt8]) -> Result<Int, JSONError> {
    do throws(JSONError) { return .success(try JSONScanner.validate(text.span.bytes).upperBound) } catch {
      return .failure(error)
    }
  }

  @Test(arguments: lengths) func plainTextOfEveryLengthIsPassedOver(length: Int) {
    for byte in [UInt8(ascii: "x"), 0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f] {
      let text = [0x22] + [UInt8](repeating: byte, count: length) + [0x22]
      #expect(scanned(text) == .success(length + 2))
    }
  }

  @Test(arguments: lengths) func whatNeedsAttentionIsSeenAtEveryPlace(length: Int) {
    for place in 0..<length {
      for (special, expected) in [
        ([0x1f], JSONError.syntax(at: place + 1)), ([0x00], .syntax(at: place + 1)), ([0x0a], .syntax(at: place + 1)),
        ([0x80], .utf8(at: place + 1)), ([0xff], .utf8(at: place + 1)), ([0x5c, 0x78], .syntax(at: place + 1)),
      ] as [([UInt8], JSONError)] {
        var text = [0x22] + [UInt8](repeating: UInt8(ascii: "x"), count: length) + [0x22]
        text.replaceSubrange(place + 1..<place + 2, with: special)
        #expect(scanned(text) == .failure(expected))
      }
      var closed = [0x22] + [UInt8](repeating: UInt8(ascii: "x"), count: length) + [0x22]
      closed[place + 1] = 0x22
      #expect(scanned(closed) == .failure(.syntax(at: place + 2)))
      var escaped = [0x22] + [UInt8](repeating: UInt8(ascii: "x"), count: length) + [0x22]
      escaped.replaceSubrange(place + 1..<place + 2, with: Array(#"\"é"#.utf8))
      #expect(scanned(escaped) == .success(escaped.count))
    }
  }

  /// Of each byte at each place of a block, with others behind it, by a look at one byte after another.
  @Test func theEndOfAStringIsFoundWhereALookAtEachByteFindsIt() {
    for byte in UInt8.min...UInt8.max {
      for place in [0, 7, 8, 15, 16, 17, 40, 63, 64, 79, 80, 150] {
        var text = [0x22] + [UInt8](repeating: UInt8(ascii: "x"), count: 160) + [0x22]
        text[place + 1] = byte
        let expected: Result<Int, JSONError> =
          switch byte {
          case 0x22: .failure(.syntax(at: place + 2))
          case ..<0x20, 0x5c: .failure(.syntax(at: place + 1))
          case 0x80...: .failure(.utf8(at: place + 1))
          default: .success(text.count)
          }
        #expect(scanned(text) == expected)
      }
    }
  }

  private func needsRewriting(_ text: [UInt8], from start: Int = 0) -> Bool {
    LocalForm.needsRewriting(text.span.bytes, start..<text.count)
  }

  /// Of each byte: only line ends are more than a look at the next bytes.
  @Test func onlyLineEndsAreFoundByThemselves() {
    for byte in UInt8.min...UInt8.max {
      for place in [0, 7, 8, 15, 16, 17, 40, 63, 64, 79, 80, 150] {
        var text = [UInt8](repeating: UInt8(ascii: "x"), count: 160)
        text[place] = byte
        #expect(needsRewriting(text) == (byte == 10 || byte == 13))
      }
    }
  }

  @Test(arguments: lengths) func aLineEndOrAMarkIsFoundAtEveryPlace(length: Int) {
    for filler in [UInt8(ascii: "x"), 0x10, 0x23, 0x5d, 0xa4, 0x8a, 0xff] {
      let plain = [UInt8](repeating: filler, count: length)
      #expect(!needsRewriting(plain))
      for place in 0..<length {
        var broken = plain
        broken[place] = UInt8(ascii: "\n")
        #expect(needsRewriting(broken))
        #expect(!needsRewriting(broken, from: place + 1))
        var marked = plain
        marked.replaceSubrange(place..<place + 1, with: Array(#""$b"#.utf8))
        #expect(needsRewriting(marked))
      }
    }
  }
}
