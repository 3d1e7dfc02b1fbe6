import Testing

@testable import GatewayCore

private func hex(_ digits: String) -> [UInt8] {
  let digits = Array(digits.filter { $0 != " " })
  return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
}

/// The JSON text of one value and nothing behind it, or the problem's name.
private func text(_ bytes: [UInt8], depth: Int = 8, binaries: Int = 4, limit: Int = 1 << 20) -> String {
  var text = MsgpackText(reserving: 0, binaryLimit: binaries, byteLimit: limit)
  var at = 0
  do throws(MsgpackProblem) {
    try text.append(bytes.span.bytes, &at, depth: depth)
    return at == bytes.count ? String(decoding: text.finish(), as: UTF8.self) : "rest"
  } catch { return "\(error)" }
}

@Test(arguments: [
  ("c0", "null"), ("c2", "false"), ("c3", "true"), ("00", "0"), ("7f", "127"), ("e0", "-32"), ("ff", "-1"),
  ("ccff", "255"), ("cdffff", "65535"), ("ceffffffff", "4294967295"), ("cf0020000000000001", "9007199254740993"),
  ("cfffffffffffffffff", "18446744073709551615"), ("d080", "-128"), ("d18000", "-32768"),
  ("d280000000", "-2147483648"), ("d38000000000000000", "-9223372036854775808"),
  ("d37fffffffffffffff", "9223372036854775807"),
  ("cb3ff8000000000000", "1.5"), ("cb3fb999999999999a", "0.1"), ("cb8000000000000000", "-0.0"),
  ("ca3dcccccd", "0.10000000149011612"), ("cb7fefffffffffffff", "1.7976931348623157e+308"),
  ("cb7ff8000000000000", "null"), ("cb7ff0000000000000", "null"), ("caff800000", "null"),
  ("a0", #""""#), ("a3e282ac", #""€""#), ("d903220a5c", #""\"\n\\""#), ("da000161", #""a""#), ("db0000000161", #""a""#),
  ("c400", #"{"$bin":""}"#), ("c4030001ff", #"{"$bin":"AAH/"}"#), ("c500017f", #"{"$bin":"fw=="}"#),
  ("c6000000017f", #"{"$bin":"fw=="}"#),
  ("90", "[]"), ("9301c0a161", #"[1,null,"a"]"#), ("dc000190", "[[]]"), ("dd00000001c3", "[true]"),
  ("80", "{}"), ("82a16101a16280", #"{"a":1,"b":{}}"#), ("de0001a16101", #"{"a":1}"#),
  ("df00000001a16101", #"{"a":1}"#),
  // Keys that are integers, keys that mean something locally, keys that only resemble them.
  ("8201c0ffc0", #"{"1":null,"-1":null}"#), ("81cfffffffffffffffff01", #"{"18446744073709551615":1}"#),
  ("81a42462696e01", #"{"$$bin":1}"#), ("81a5242462696e01", #"{"$$$bin":1}"#),
  ("82a42462696e01a16102", #"{"$bin":1,"a":2}"#), ("82a42462696e01a5242462696e02", #"{"$bin":1,"$$bin":2}"#),
  ("81a362696e01", #"{"bin":1}"#), ("81ac5f706c616365686f6c646572c3", #"{"_placeholder":true}"#),
  // JavaScript's undefined, a date and an ArrayBuffer as the reference client's encoder writes them.
  ("d40000", "null"), ("d70000000193 4fd1d400", #""2024-11-21T17:42:51.648Z""#),
  ("d700ffffffffffffffff", #""1969-12-31T23:59:59.999Z""#), ("c70200dead", #"{"$bin":"3q0="}"#),
  ("c70800 0000000000000000", #"{"$bin":"AAAAAAAAAAA="}"#),
  // The specification's timestamps.
  ("d6ff00000000", #""1970-01-01T00:00:00.000Z""#), ("d6ff673f5a80", #""2024-11-21T16:06:24.000Z""#),
  ("d7ff00000004 00000000", #""1970-01-01T00:00:00.000000001Z""#),
  ("c70cff 00000000 ffffffffffffffff", #""1969-12-31T23:59:59.000Z""#),
])
func valuesBecomeJSON(bytes: String, json: String) {
  #expect(text(hex(bytes)) == json, "\(bytes)")
}

@Test(arguments: [
  // Text that is not UTF-8, keys of other kinds or repeated ones with a meaning, unknown extensions, impossible times.
  "82a42462696e01a42462696e02",
  "a1ff", "81a1ff01", "81c001", "81c301", "81cb000000000000000001", "819001", "81c40101", "d40100", "d40500",
  "c70105ff",
  "d5000000", "d7ffffffffff00000000", "d7007fffffffffffffff", "d7008000000000000000",
  "c70cff 00000000 7fffffffffffffff", "c70cff 3b9aca00 0000000000000000", "c704ff00000000",
])
func whatHasNoFormInJSONCannotBeShown(bytes: String) {
  #expect(text(hex(bytes)) == "undecodable")
}

@Test(arguments: [
  "", "c1", "cc", "cd00", "ce000000", "cf00000000000000", "d0", "ca000000", "cb00", "a261", "d9", "d901",
  "da0001",
  "dbffffffff61", "c401", "c6ffffffff", "91", "92c0", "ddffffffff", "dc0002c0", "81", "81a161", "dfffffffff", "de0001",
  "c7", "c70100", "c9ffffffff00", "d80000", "9191",
])
func whatEndsTooEarlyIsMalformed(bytes: String) {
  let bytes = hex(bytes)
  #expect(text(bytes) == "malformed")
  // As the only value of a map, in one go and in pieces.
  let map = [0x81, 0xa1, 0x78] + bytes
  for size in 1...map.count {
    var outline = MsgpackOutline(of: ["x"])
    for end in stride(from: size, to: map.count, by: size) {
      #expect(throws: Never.self) { try outline.advance(map.span.bytes.extracting(0..<end), isWhole: false) }
    }
    #expect(throws: MsgpackProblem.malformed) { try outline.advance(map.span.bytes, isWhole: true) }
  }
}

@Test func depthBinariesAndSizeAreLimited() {
  #expect(text(hex("9191 90"), depth: 3) == "[[[]]]")
  #expect(text(hex("9191 90"), depth: 2) == "undecodable")
  #expect(text(hex("81a16181a161 80"), depth: 2) == "undecodable")
  #expect(text(hex("9191 c400"), depth: 3) == #"[[{"$bin":""}]]"#)
  #expect(text(hex("9191 c400"), depth: 2) == "undecodable")
  #expect(text(hex("9191 c70000"), depth: 2) == "undecodable")
  #expect(text(hex("92c400c400"), binaries: 2) == #"[{"$bin":""},{"$bin":""}]"#)
  #expect(text(hex("92c400c400"), binaries: 1) == "tooManyBinaries(limit: 1)")
  #expect(text([0xdc, 0x01, 0x00] + [UInt8](repeating: 0xc0, count: 256), limit: 100) == "tooLarge")
}

@Test func aStringWhoseEscapesAreTooLongIsNotWritten() {
  let controls: [UInt8] = [0xd9, 40] + [UInt8](repeating: 1, count: 40)
  #expect(text(controls, limit: 242).utf8.count == 242)
  #expect(text(controls, limit: 241) == "tooLarge")
  #expect(text([0x81] + controls + [0], limit: 241) == "tooLarge")
  var written = MsgpackText(reserving: 0, binaryLimit: 0, byteLimit: 241)
  var at = 0
  do throws(MsgpackProblem) { try written.append(controls.span.bytes, &at, depth: 1) } catch {
    #expect(error == .tooLarge)
  }
  #expect(written.count == 0)
}

@Test func nestingCostsNoStackWhileItIsSkipped() {
  var bytes = [UInt8](repeating: 0x91, count: 1_000_000)
  bytes.append(0xc0)
  let map = [0x81, 0xa1, 0x78] + bytes
  var outline = MsgpackOutline(of: ["x"])
  #expect(throws: Never.self) { try outline.advance(map.span.bytes, isWhole: true) }
  #expect(outline.values == [3])
  #expect(text(bytes, depth: 64) == "undecodable")
}

@Test(
  arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (951_868_799_999, "2000-02-29T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"), (-62_198_755_200_000, "-000001-01-01T00:00:00.000Z"),
    (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"), (8_640_000_000_000_000, "+275760-09-13T00:00:00.000Z"),
    (-8_640_000_000_000_000, "-271821-04-20T00:00:00.000Z"),
  ] as [(Int64, String)])
func datesReadAsJavaScriptWritesThem(milliseconds: Int64, text: String) {
  #expect(ISOInstant(milliseconds: milliseconds)?.text == text)
}

/// The date as a calendar has it that counts day by day.
@Test func everyDayFollowsTheOneBefore() {
  var (year, month, day) = (1_896, 1, 1)
  for number in -27_028..<60_000 {
    let digits = [year, month, day].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: "-")
    #expect(ISOInstant(seconds: Int64(number) * 86_400 + 86_399)?.text == "\(digits)T23:59:59.000Z")
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    (day, month) = day < days ? (day + 1, month) : (1, month + 1)
    if month == 13 { (month, year) = (1, year + 1) }
  }
}

@Test func everyFractionHasItsDigits() {
  for (nanoseconds, text) in [
    (0, "000"), (1_000_000, "001"), (999_000_000, "999"), (1, "000000001"), (1_001, "000001001"),
    (123_456_789, "123456789"), (999_999_999, "999999999"), (500_000_010, "500000010"),
  ] {
    #expect(ISOInstant(seconds: 3_723, nanoseconds: nanoseconds)?.text == "1970-01-01T01:02:03.\(text)Z")
    let last = ISOInstant(seconds: 8_640_000_000_000, nanoseconds: nanoseconds)?.text
    #expect(last == "+275760-09-13T00:00:00.\(text)Z")
  }
}

@Test func markedMapsWithinMarkedMapsCostNoMoreThanTheirContent() {
  let values = [UInt8](repeating: 0xc0, count: 200_000)
  let list: [UInt8] = [0xdd, 0, 3, 0x0d, 0x40] + values
  let key: [UInt8] = [0xa4] + Array("$bin".utf8)
  let nested = Array(repeatElement([0x82] + key, count: 60).joined()) + list
  let closed = nested + Array(repeatElement([0xa1, 0x61, 0xc0], count: 60).joined())
  let clock = ContinuousClock()
  func cost(_ bytes: [UInt8]) -> Duration {
    (0..<3).map { _ in clock.measure { #expect(text(bytes, depth: 62, limit: 4 << 20).utf8.count > 1_000_000) } }.min()
      ?? .zero
  }
  let flat = cost(list)
  #expect(cost(closed) < flat * 4)
}
