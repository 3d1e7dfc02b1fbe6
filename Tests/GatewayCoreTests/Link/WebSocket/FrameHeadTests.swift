import Testing

@testable import GatewayCore

@Suite struct FrameHeadTests {
  private func octets(_ head: FrameHead) -> [UInt8] {
    var octets: [UInt8] = []
    head.withBytes { octets = Array($0) }
    return octets
  }

  @Test func theLengthTakesTheShortestForm() {
    let mask: UInt32 = 0x0403_0201
    #expect(octets(FrameHead(opcode: 1, length: 0, mask: mask)) == [0x81, 0x80, 1, 2, 3, 4])
    #expect(octets(FrameHead(opcode: 2, length: 125, mask: mask)) == [0x82, 0xfd, 1, 2, 3, 4])
    #expect(octets(FrameHead(opcode: 9, length: 126, mask: mask)) == [0x89, 0xfe, 0, 126, 1, 2, 3, 4])
    #expect(octets(FrameHead(opcode: 1, length: 65_535, mask: mask)) == [0x81, 0xfe, 0xff, 0xff, 1, 2, 3, 4])
    let long = FrameHead(opcode: 1, reserved: 4, length: 65_536, mask: mask)
    #expect(octets(long) == [0xc1, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4])
    #expect(long.count == FrameHead.longest)
    #expect(long != FrameHead(opcode: 1, length: 65_536, mask: mask))
  }

  /// The specification's own example: a masked "Hello" (section 5.7).
  @Test func theExampleOfTheSpecification() {
    let mask: UInt32 = 0x3d21_fa37
    #expect(octets(FrameHead(opcode: 1, length: 5, mask: mask)) == [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d])
    #expect(masked(Array("Hello".utf8), mask, pieces: [5]) == [0x7f, 0x9f, 0x4d, 0x51, 0x58])
  }

  @Test func piecesAreMaskedLikeTheWhole() {
    let mask: UInt32 = 0xfedc_ba98
    let payload = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let expected = payload.enumerated().map { index, byte in
      byte ^ UInt8(truncatingIfNeeded: mask >> (8 * UInt32(index & 3)))
    }
    for cut in 0...300 { #expect(masked(payload, mask, pieces: [cut, 300 - cut]) == expected) }
    #expect(masked(payload, mask, pieces: [1, 2, 3, 5, 33, 31, 64, 161]) == expected)
  }

  private func masked(_ payload: [UInt8], _ key: UInt32, pieces: [Int]) -> [UInt8] {
    var mask = FrameMask(key)
    var output: [UInt8] = []
    var start = 0
    for count in pieces {
      var target = [UInt8](repeating: 0xaa, count: count)
      payload[start..<start + count].withUnsafeBytes { source in
        target.withUnsafeMutableBytes { mask.apply(source, to: $0) }
      }
      output += target
      start += count
    }
    return output
  }
}
