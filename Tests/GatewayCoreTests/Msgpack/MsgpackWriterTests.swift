import Testing

@testable import GatewayCore

private func written(_ json: String, binaries: Int = 2) -> String {
  let bytes = [UInt8](json.utf8)
  do throws(MessageProblem) {
    return try MsgpackWriter.write(bytes.span.bytes, binaryLimit: binaries).map {
      ($0 < 16 ? "0" : "") + String($0, radix: 16)
    }.joined()
  } catch {
    guard case .invalid(let sentence) = error else { return "\(error)" }
    return sentence
  }
}

@Test(arguments: [
  ("null", "c0"), (" true ", "c3"), ("false", "c2"), ("0", "00"), ("127", "7f"), ("128", "cc80"), ("256", "cd0100"),
  ("65536", "ce00010000"), ("4294967296", "cf0000000100000000"), ("9007199254740993", "cf0020000000000001"),
  ("18446744073709551615", "cfffffffffffffffff"), ("-1", "ff"), ("-32", "e0"), ("-33", "d0df"), ("-129", "d1ff7f"),
  ("-32769", "d2ffff7fff"), ("-2147483649", "d3ffffffff7fffffff"), ("-9223372036854775808", "d38000000000000000"),
  ("-0", "cb8000000000000000"), ("0.1", "cb3fb999999999999a"), ("1.0", "cb3ff0000000000000"),
  ("1e2", "cb4059000000000000"),
  ("1e-400", "cb0000000000000000"), (#""""#, "a0"), (#""€""#, "a3e282ac"), (#""\u20ac\n""#, "a4e282ac0a"),
  (#""\ud83d\ude00""#, "a4f09f9880"), ("[]", "90"), ("[ 1 , [ ] , {} ]", "93019080"),
  (#"{ "a" : { "b" : [1,2] } , "a" : "," }"#, "82a16181a162920102a161a12c"),
  (#"{"$bin":"AAH/"}"#, "c4030001ff"), (#"{"$\u0062in" : ""}"#, "c400"), (#"{"$$bin":"x"}"#, "81a42462696ea178"),
  (#"{"$$bin":{"$bin":""}}"#, "81a42462696ec400"), (#"{"$bin":1,"a":2}"#, "82a42462696e01a16102"),
  (#"{"_placeholder":true,"num":0}"#, "82ac5f706c616365686f6c646572c3a36e756d00"),
])
func jsonBecomesMessagePack(json: String, bytes: String) {
  #expect(written(json) == bytes, "\(json)")
}

@Test func headsAreAsShortAsTheyCanBe() {
  for (count, head) in [(31, "bf"), (32, "d920"), (255, "d9ff"), (256, "da0100"), (65_536, "db00010000")] {
    #expect(written("\"" + String(repeating: "a", count: count) + "\"").hasPrefix(head + "6161"))
  }
  for (count, head) in [(15, "9f"), (16, "dc0010"), (65_536, "dd00010000")] {
    #expect(written("[" + String(repeating: "1,", count: count - 1) + "1]").hasPrefix(head + "0101"))
  }
  let members = { (count: Int) in "{" + (0..<count).map { "\"\($0)\":0" }.joined(separator: ",") + "}" }
  for (count, head) in [(15, "8f"), (16, "de0010"), (65_536, "df00010000")] {
    #expect(written(members(count)).hasPrefix(head + "a13000"))
  }
  for (count, head) in [(255, "c4ff"), (256, "c50100"), (65_536, "c600010000")] {
    var base64: [UInt8] = []
    Base64.encode([UInt8](repeating: 7, count: count).span.bytes, into: &base64)
    #expect(written(#"{"$bin":""# + String(decoding: base64, as: UTF8.self) + #""}"#).hasPrefix(head + "0707"))
  }
}

@Test(arguments: [
  ("18446744073709551616", "an integer beyond 64 bits cannot be sent with the msgpack parser; send it as a string"),
  ("[-9223372036854775809]", "an integer beyond 64 bits cannot be sent with the msgpack parser; send it as a string"),
  ("1e999", "a number beyond 1.8e308 cannot be sent with the msgpack parser; send it as a string"),
  (#""\ud800""#, "a string holds half a surrogate pair, which cannot be sent with the msgpack parser"),
  (#"{"\udc00x":1}"#, "a string holds half a surrogate pair, which cannot be sent with the msgpack parser"),
  (#"{"$bin":"A"}"#, #"the value of "$bin" is not canonical base64 with padding"#),
  (#"{"$bin":1}"#, #"the value of "$bin" must be a string of base64"#),
  (#"{"$bin":"","$bin":""}"#, #"the value of "$bin" must be a string of base64"#),
  (#"[{"$bin":""},{"$bin":""},{"$bin":""}]"#, "a message may hold at most 2 binary values"),
])
func whatWouldNotArriveAsItIsIsRefused(json: String, sentence: String) {
  #expect(written(json) == sentence)
}
