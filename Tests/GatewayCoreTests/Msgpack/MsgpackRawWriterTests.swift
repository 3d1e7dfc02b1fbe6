import Testing

@testable import GatewayCore

@Suite struct MsgpackRawWriterTests {
  private static func written(_ body: (inout MsgpackRawWriter) -> Void) -> [UInt8] {
    var writer = MsgpackRawWriter()
    body(&writer)
    return writer.withBytes { Array($0) }
  }

  @Test(arguments: [0, 1, 15, 16, 31, 32, 300, 1_023, 5_000])
  func aTextOfAnyLengthReadsBackAsItWas(_ length: Int) throws {
    let text = String(repeating: "é", count: length / 2) + String(repeating: "x", count: length % 2)
    let bytes = Self.written { $0.text(text) }
    var at = 0
    guard case .string(let range) = try MsgpackScanner.next(bytes.span.bytes, &at) else {
      Issue.record("no text")
      return
    }
    #expect(String(decoding: bytes[range], as: UTF8.self) == text && at == bytes.count)
  }

  @Test func whatIsMissingIsNull() {
    let bytes = Self.written {
      $0.text(nil)
      $0.binary(nil)
      $0.integer(nil)
    }
    #expect(bytes == [0xc0, 0xc0, 0xc0])
  }

  @Test func whatWasClearedIsGone() {
    var writer = MsgpackRawWriter()
    writer.binary([UInt8](repeating: 7, count: 5_000))
    for _ in 0..<2 {
      writer.clear(keeping: 2_000)
      writer.bool(true)
      #expect(writer.withBytes { Array($0) } == [0xc3])
    }
  }
}
