import Testing

@testable import GatewayCore

@Suite struct ExactTextTests {
  @Test func aDifferenceIsSeenAtEveryPlaceOfEveryLength() {
    for length in 0...40 {
      let text = (0..<length).map { UInt8($0 + 1) }
      #expect(isEqual(text, Array(text)))
      #expect(!isEqual(text, text + [0]))
      for place in 0..<length {
        var other = text
        other[place] ^= 0x80
        #expect(!isEqual(text, other), "\(length) \(place)")
      }
    }
  }

  private func isEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool { a.span.bytes.isEqual(to: b.span.bytes) }
}
