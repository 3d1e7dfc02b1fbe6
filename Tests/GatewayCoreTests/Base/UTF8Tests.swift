import Testing

@testable import GatewayCore

@Suite struct UTF8Tests {
  private func isUTF8(_ bytes: [UInt8]) -> Bool { bytes.span.bytes.isUTF8 }

  /// Around the blocks that are looked at in one piece.
  @Test func aByteThatIsNoUTF8IsSeenAtEveryPlaceOfATextOfEveryLength() {
    for count in [1, 7, 8, 9, 63, 64, 65, 72, 127, 128, 200] {
      var bytes = [UInt8](repeating: 65, count: count)
      #expect(isUTF8(bytes))
      for place in 0..<count {
        bytes[place] = 0xff
        #expect(!isUTF8(bytes), "\(place) of \(count)")
        bytes[place] = 65
      }
    }
    #expect(isUTF8([]))
  }

  @Test func otherLettersAreUTF8AndHalfOnesAreNot() {
    let text = Array((String(repeating: "a", count: 100) + "grüße 😀").utf8)
    #expect(isUTF8(text))
    #expect(!isUTF8(text.dropLast()))
  }
}

extension UTF8Tests {
  private func isUTF8(_ bytes: ArraySlice<UInt8>) -> Bool { isUTF8(Array(bytes)) }
}
