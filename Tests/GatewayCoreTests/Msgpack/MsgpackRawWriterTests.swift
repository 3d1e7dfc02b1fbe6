import Testing

@testable import GatewayCore

@Suite struct MsgpackRawWriterTests {
  private static func written(_ room: Int, _ body: (inout MsgpackRawWriter) -> Void) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: room) { memory, count in
      var writer = MsgpackRawWriter(UnsafeMutableRawBufferPointer(memory), at: 0)
      body(&writer)
      count = writer.end
    }
  }

  @Test(arguments: [0, 1, 15, 16, 31, 32, 300])
  func aTextOfAnyLengthReadsBackAsItWas(_ length: Int) throws {
    let text = String(repeating: "é", count: length / 2) + String(repeating: "x", count: length % 2)
    let bytes = Self.written(length + 2 * MsgpackRawWriter.headLimit) { $0.text(text) }
    var at = 0
    guard case .string(let range) = try MsgpackScanner.next(bytes.span.bytes, &at) else {
      Issue.record("no text")
      return
    }
    #expect(String(decoding: bytes[range], as: UTF8.self) == text && at == bytes.count)
  }

  @Test func whatIsMissingIsNull() {
    let bytes = Self.written(64) {
      $0.text(nil)
      $0.binary(nil)
      $0.integer(nil)
    }
    #expect(bytes == [0xc0, 0xc0, 0xc0])
  }
}
