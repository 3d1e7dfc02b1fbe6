import Testing

@testable import GatewayCore

private typealias Read = (packets: [String], problem: EngineIOProblem?)

/// The packets as text, binary ones as `<01 02>`, and what ended the reading.
private func read(_ body: [UInt8], _ form: PayloadForm, sizeLimit: Int = 1_000) -> Read {
  var reader = PayloadReader(form: form, sizeLimit: sizeLimit)
  var packets: [String] = []
  do throws(EngineIOProblem) {
    while let packet = try reader.next(in: body) {
      let bytes = Array(body[packet.range])
      packets.append(
        packet.isBinary
          ? "<" + bytes.map { String($0, radix: 16) }.joined(separator: " ") + ">"
          : String(decoding: bytes, as: UTF8.self))
    }
  } catch { return (packets, error) }
  return (packets, nil)
}

/// The same in small steps.
private func readInSteps(_ body: [UInt8], _ form: PayloadForm, budget: Int) -> [String]? {
  var reader = PayloadReader(form: form, sizeLimit: 1_000)
  var packets: [String] = []
  var shown = 0
  do throws(EngineIOProblem) {
    while let step = try reader.step(in: body, budget: budget) {
      switch step {
      case .packet(let packet):
        packets.append(String(decoding: body[packet.range], as: UTF8.self))
        shown = 0
      case .part(let part):
        #expect(part.range.count >= shown, "a packet grows")
        shown = part.range.count
      }
    }
  } catch { return nil }
  return packets
}

@Test(arguments: [4, 5, 9, 64])
func packetsReadInStepsAreTheSame(_ budget: Int) {
  let texts = ["4" + String(repeating: "grüße 😀 ", count: 7), "2", "4test", "4" + String(repeating: "x", count: 70)]
  #expect(readInSteps(Array(texts.joined(separator: "\u{1e}").utf8), .separated, budget: budget) == texts)
  let counted = texts.map { "\($0.utf16.count):\($0)" }.joined()
  #expect(readInSteps(Array(counted.utf8), .counted, budget: budget) == texts)
  let broken = Array("4".utf8) + [UInt8](repeating: 0x80, count: 100)
  #expect(readInSteps(broken, .separated, budget: budget) == nil)
}

private func expect(_ body: String, _ form: PayloadForm, _ packets: [String], _ problem: EngineIOProblem? = nil) {
  let read = read([UInt8](body.utf8), form)
  #expect(read.packets == packets && read.problem == problem, "\(body): \(read)")
}

@Test func packetsOfRevisionFourStandBetweenSeparators() {
  expect("0{}", .separated, ["0{}"])
  expect("0\u{1e}1\u{1e}2probe\u{1e}3probe\u{1e}4test", .separated, ["0", "1", "2probe", "3probe", "4test"])
  expect("4test\u{1e}bAQIDBA==", .separated, ["4test", "bAQIDBA=="])
  expect("4€😀", .separated, ["4€😀"])
  expect("", .separated, [], .malformedPayload)
  expect("\u{1e}4a", .separated, [], .malformedPayload)
  expect("4a\u{1e}\u{1e}4b", .separated, ["4a"], .malformedPayload)
  expect("4a\u{1e}", .separated, [], .malformedPayload)
}

@Test func textOfRevisionThreeCountsUTF16Units() {
  expect(
    "97:0" + String(repeating: "x", count: 96) + "2:40", .counted, ["0" + String(repeating: "x", count: 96), "40"])
  expect(#"15:42["echo","😀"]"#, .counted, [#"42["echo","😀"]"#])
  expect("2:4€10:b4AQIDBA==", .counted, ["4€", "b4AQIDBA=="])
  expect("3:4😀2:4a", .counted, ["4😀", "4a"])
  expect("0:", .counted, [])
  expect("", .counted, [])
  expect("2:4", .counted, [], .incompletePayload)
  expect("2:4a3", .counted, ["4a"], .incompletePayload)
  expect("2:4😀", .counted, [], .malformedPayload)
  expect("0:2:4a", .counted, [], .malformedPayload)
  expect("2:4a0:", .counted, ["4a"], .malformedPayload)
  expect(":4a", .counted, [], .malformedPayload)
  expect("x:4a", .counted, [], .malformedPayload)
  expect("-1:4a", .counted, [], .malformedPayload)
  expect("00000000001:4", .counted, [], .malformedPayload)
  expect("9999999999:4", .counted, [], .incompletePayload)
}

@Test func octetsOfRevisionThreeCountBytes() {
  let text = [UInt8]("4€".utf8)
  let body = [0, 4, 0xff] + text + [1, 5, 0xff, 4, 1, 2, 3, 4] + [0, 1, 0, 0xff] + [UInt8]("4123456789".utf8)
  #expect(read(body, .octets).packets == ["4€", "<4 1 2 3 4>", "4123456789"])
  let broken: [([UInt8], EngineIOProblem)] = [
    ([0], .incompletePayload), ([0, 2], .incompletePayload), ([0, 2, 0xff], .incompletePayload),
    ([0, 2, 0xff, 52], .incompletePayload),
    ([2, 1, 0xff, 52], .malformedPayload), ([0, 0xff, 52], .malformedPayload), ([0, 10, 0xff, 52], .malformedPayload),
    ([0, 0, 0xff], .malformedPayload), ([0] + [UInt8](repeating: 9, count: 11) + [0xff], .malformedPayload),
    ([0, 1, 0xff, 0x80], .payloadNotUTF8),
  ]
  for (body, problem) in broken { #expect(read(body, .octets).problem == problem, "\(body)") }
  #expect(read([1, 1, 0xff, 0x80], .octets).packets == ["<80>"], "binary need not be text")
}

@Test func payloadsAreBounded() {
  #expect(read([UInt8]("4abc".utf8), .separated, sizeLimit: 4).problem == nil)
  #expect(read([UInt8]("4abcd".utf8), .separated, sizeLimit: 4).problem == .packetTooLarge)
  let many = [UInt8](String(repeating: "6\u{1e}", count: PayloadReader.packetLimit).utf8)
  #expect(read(many + [54], .separated).problem == .tooManyPackets(limit: PayloadReader.packetLimit))
  #expect(read(Array(many.dropLast()), .separated).problem == nil)
  #expect(read([52, 0xc3], .separated).problem == .payloadNotUTF8)
  #expect(read([UInt8]("2:4".utf8) + [0xc3], .counted).problem == .incompletePayload)
  #expect(read([UInt8]("2:4".utf8) + [0xff, 0x40], .counted).problem == .payloadNotUTF8)
}

@Test func everyCutOfAPayloadIsReadWithoutATrap() {
  let bodies: [([UInt8], PayloadForm)] = [
    ([UInt8]("4a€\u{1e}bAQID\u{1e}2".utf8), .separated), ([UInt8]("4:4a😀1:212:b4AQIDBAUG".utf8), .counted),
    ([0, 2, 0xff, 52, 53, 1, 1, 0xff, 4], .octets),
  ]
  for (body, form) in bodies {
    for cut in 0..<body.count { _ = read(Array(body[..<cut]), form) }
    #expect(read(body, form).problem == nil || form == .counted)
  }
}

@Test func firstBodyTellsTheForm() {
  func form(_ body: String, _ type: String? = "text/plain; charset=UTF-8") -> PayloadForm? {
    PayloadForm(opening: [UInt8](body.utf8), contentType: type)
  }
  #expect(form(#"0{"sid":"x"}"#) == .separated)
  #expect(form(#"97:0{"sid":"x"}2:40"#) == .counted)
  #expect(form(#"97:0{"sid":"x"}"#, "application/octet-stream") == .counted)
  #expect(form("\u{0}\u{9}\u{7}ÿ0{", "application/octet-stream") == .octets)
  #expect(form("\u{0}\u{9}\u{7}ÿ0{", "Application/Octet-Stream;x") == .octets)
  #expect(form("\u{0}\u{9}\u{7}ÿ0{") == nil)
  for foreign in ["", "<html>", "ok", "97", "97;", ":0", #"{"code":0}"#, "12345678901:"] {
    #expect(form(foreign) == nil)
  }
  #expect(PayloadForm(body: [0], contentType: "application/octet-stream", revision: .four) == .separated)
  #expect(PayloadForm(body: [0], contentType: "application/octet-stream", revision: .three) == .octets)
  #expect(PayloadForm(body: [50], contentType: "application/octet-stream", revision: .three) == .counted)
  #expect(PayloadForm(body: [0], contentType: nil, revision: .three) == .counted)
}

private func outbox(_ packets: [(Bool, [UInt8])]) -> PollingOutbox {
  var outbox = PollingOutbox()
  for (isBinary, bytes) in packets { outbox.append(PollingOutbox.Packet(isBinary: isBinary, bytes: bytes)) }
  return outbox
}

@Test func postsHoldWhatFitsInOrder() {
  var box = outbox([(false, [UInt8]("4ab".utf8)), (true, [1, 2, 3, 4]), (false, [UInt8]("4c".utf8))])
  #expect(box.byteCount == 9)
  // 3 + 1 + 9 + 1 + 2
  #expect(box.takeBatch(.four, sizeLimit: 16) == [UInt8]("4ab\u{1e}bAQIDBA==\u{1e}4c".utf8))
  #expect(box.isEmpty && box.byteCount == 0 && box.takeBatch(.four, sizeLimit: 16) == nil)

  box = outbox([(false, [UInt8]("4ab".utf8)), (true, [1, 2, 3, 4]), (false, [UInt8]("4c".utf8))])
  #expect(box.takeBatch(.four, sizeLimit: 15) == [UInt8]("4ab\u{1e}bAQIDBA==".utf8), "the separator counts")
  #expect(box.byteCount == 2)
  #expect(box.takeBatch(.four, sizeLimit: 1) == [UInt8]("4c".utf8), "one goes in any case")

  box = outbox([(false, [UInt8]("4ab".utf8)), (true, [4, 1, 2, 3]), (false, [UInt8]("4c".utf8))])
  #expect(
    box.takeBatch(.three, sizeLimit: 100)
      == [0, 3, 0xff, 52, 97, 98, 1, 4, 0xff, 4, 1, 2, 3, 0, 2, 0xff, 52, 99])
}

@Test func postHoldsAtMostSixteenPackets() {
  var box = outbox((0..<2_000).map { (false, [UInt8]("4\($0)".utf8)) })
  var seen: [String] = []
  while let body = box.takeBatch(.four, sizeLimit: 1_000_000) {
    let packets = read(body, .separated).packets
    #expect(packets.count <= 16)
    seen += packets
  }
  #expect(seen == (0..<2_000).map { "4\($0)" })
}

@Test func sizesAreThoseOfTheBodies() {
  for revision in [EngineIORevision.three, .four] {
    for isBinary in [true, false] {
      for count in [1, 2, 3, 4, 9, 10, 99, 100] {
        var box = outbox([(isBinary, [UInt8](repeating: 52, count: count))])
        let body = box.takeBatch(revision, sizeLimit: .max)
        #expect(body?.count == PollingOutbox.size(ofMessage: count, isBinary: isBinary, revision))
      }
    }
  }
}
