import Testing
@testable import GatewayCore

private func written(_ body: (inout JSONWriter) -> Void) -> String {
  var writer = JSONWriter(reserving: 0)
  body(&writer)
  return String(decoding: writer.bytes, as: UTF8.self)
}

private func read(_ text: String) throws(JSONError) -> JSONValue { try JSONValue.parse(Array(text.utf8).span.bytes) }

@Suite struct JSONWriterTests {
  @Test func placesCommasAndColons() {
    let text = written { writer in
      writer.beginObject()
      writer.key("a")
      writer.integer(1)
      writer.key("b")
      writer.beginArray()
      writer.bool(true)
      writer.bool(false)
      writer.null()
      writer.beginArray()
      writer.endArray()
      writer.beginObject()
      writer.endObject()
      writer.string("x")
      writer.endArray()
      writer.key("c")
      writer.beginObject()
      writer.key("d")
      writer.raw(Array("{\"z\":1.0}".utf8))
      writer.key("e")
      writer.raw(Array("[ ]".utf8).span.bytes)
      writer.endObject()
      writer.key("f")
      writer.number(0.5)
      writer.endObject()
    }
    #expect(text == #"{"a":1,"b":[true,false,null,[],{},"x"],"c":{"d":{"z":1.0},"e":[ ]},"f":0.5}"#)
  }

  @Test(arguments: [
    ("", #""""#), ("plain", #""plain""#), ("é😀\u{7f}\u{2028}/", "\"é😀\u{7f}\u{2028}/\""), ("\"\\", #""\"\\""#),
    ("a\nb\rc\td", #""a\nb\rc\td""#),
    ("\0\u{1}\u{8}\u{b}\u{c}\u{f}\u{10}\u{1f}", #""\u0000\u0001\u0008\u000b\u000c\u000f\u0010\u001f""#),
    ("\"", #""\"""#), ("x\"", #""x\"""#), ("\nx", #""\nx""#),
  ])
  func escapesOnlyWhatItMust(_ text: String, _ expected: String) throws {
    #expect(written { $0.string(text) } == expected)
    #expect(written { $0.key(text) } == expected + ":")
    #expect(try read(expected) == .string(text))
  }

  @Test func writesIntegersOfEveryWidth() {
    #expect(written { $0.integer(0) } == "0")
    #expect(written { $0.integer(-1) } == "-1")
    #expect(written { $0.integer(10) } == "10")
    #expect(written { $0.integer(Int64.min) } == "-9223372036854775808")
    #expect(written { $0.integer(UInt64.max) } == "18446744073709551615")
    #expect(written { $0.integer(UInt8(255)) } == "255")
    #expect(written { $0.integer(Int8.min) } == "-128")
  }

  @Test(arguments: [
    (0.8, "0.8"), (1.0, "1.0"), (-0.0, "-0.0"), (1e300, "1e+300"), (Double.leastNonzeroMagnitude, "5e-324"),
    (.infinity, "null"),
    (-.infinity, "null"), (.nan, "null"),
  ])
  func writesNumbersThatReadBackTheSame(_ number: Double, _ expected: String) throws {
    #expect(written { $0.number(number) } == expected)
    #expect(throws: Never.self) { try read(expected) }
  }
}

/// What needs no escape is passed over eight bytes at a time: whatever needs one must be seen at every place.
@Suite struct JSONEscapeTests {
  @Test(arguments: ["x", " ", "!", "#", "[", "]", "\u{7f}", "é"])
  func everyTextReadsBackAsItWas(filler: String) {
    for length in 0...40 {
      expectReadBack(String(repeating: filler, count: length))
      for place in 0..<length {
        for special in ["\"", "\\", "\u{1f}", "\u{0}", "\n", "\u{80}", "😀"] {
          expectReadBack(
            String(repeating: filler, count: place) + special
              + String(repeating: filler, count: length - place - 1))
        }
      }
    }
  }

  private func expectReadBack(_ text: String) {
    var writer = JSONWriter()
    writer.string(text)
    let written = writer.bytes
    #expect((try? JSONScanner.validate(written.span.bytes)) != nil)
    #expect(JSONScanner.decodeString(written.span.bytes, 0..<written.count) == text)
  }
}
