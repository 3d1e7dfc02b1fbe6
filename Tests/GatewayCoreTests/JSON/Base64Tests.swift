import Testing

@testable import GatewayCore

private func encode(_ data: [UInt8]) -> String {
  var output: [UInt8] = []
  Base64.encode(data.span.bytes, into: &output)
  return String(decoding: output, as: UTF8.self)
}

/// With a look at whether the text is judged in place as it is decoded.
private func decode(_ text: [UInt8]) -> [UInt8]? {
  let data = Base64.decode(text.span.bytes)
  #expect(Base64.isEncoded(text.span.bytes) == (data != nil))
  return data
}

private func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)) }

@Suite struct Base64Tests {
  /// RFC 4648 section 10, and the letters at the ends of the alphabet.
  @Test(
    arguments: [
      ([], ""), (Array("f".utf8), "Zg=="), (Array("fo".utf8), "Zm8="), (Array("foo".utf8), "Zm9v"),
      (Array("foob".utf8), "Zm9vYg=="), (Array("fooba".utf8), "Zm9vYmE="), (Array("foobar".utf8), "Zm9vYmFy"),
      ([0xff, 0xff, 0xff], "////"), ([0xfb, 0xef, 0xbe], "++++"), ([0, 0, 0], "AAAA"), ([0], "AA=="), ([0xff], "/w=="),
    ] as [([UInt8], String)])
  func encodesAndDecodes(_ data: [UInt8], _ text: String) {
    #expect(encode(data) == text)
    #expect(decode(text) == data)
  }

  @Test func everyLengthComesBack() {
    for count in 0..<200 {
      let data = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
      #expect(decode(encode(data)) == data)
    }
  }

  @Test func appendsToWhatIsThere() {
    var output = Array("x".utf8)
    Base64.encode(Array("f".utf8).span.bytes, into: &output)
    Base64.encode([UInt8]().span.bytes, into: &output)
    #expect(output == Array("xZg==".utf8))
  }

  @Test(arguments: [
    "Z", "Zg", "Zg=", "Zg===", "Z===", "====", "=", "==", "=Zg=", "Z=g=", "Zg=g", "Zg==Zg==", "Zm8=Zm9v", "Zm9vZ",
    "Zm9v====",
  ])
  func refusesWrongPadding(_ text: String) {
    #expect(decode(text) == nil)
  }

  @Test(arguments: ["Zh==", "Zv==", "Zm9=", "Zm+=", "AB==", "AAB="])
  func refusesBitsThatCarryNoData(_ text: String) {
    #expect(decode(text) == nil)
  }

  @Test(arguments: ["Zm9-", "Zm9_", "Zm 9", "Zm9\n", "Zg==\n\n\n\n", "Zm9\0", "Zmé9", "Zm9.", "\u{80}AA"])
  func refusesForeignLetters(_ text: String) {
    #expect(decode(text) == nil)
  }

  @Test func everyForeignByteIsRefusedInEveryPlace() {
    let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    for byte in UInt8.min...UInt8.max {
      for place in 0..<4 {
        var text = Array("AAAAAAAA".utf8)
        text[place] = byte
        #expect((decode(text) != nil) == alphabet.contains(byte))
      }
    }
  }
}
