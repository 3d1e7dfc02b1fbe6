import Testing

@testable import GatewayCore

/// Messages that are longer than a line and come in parts.
@Suite struct MessagePartsTests {
  private let harness = GatewayHarness { $0.limits.receiveBytes = 64 << 10 }

  /// One part as a call of `send`; only with `id` it is answered.
  private static func call(
    _ data: String, at place: Int, of total: Int, part: Int = 7, id: Int? = nil, method: String = "send",
    others: String = #""upstream":"chat","event":"e""#
  ) -> String {
    var writer = JSONWriter()
    writer.string(data)
    let text = String(decoding: writer.bytes, as: UTF8.self)
    let answered = id.map { #""id":\#($0),"# } ?? ""
    let part = #"{"id":\#(part),"at":\#(place),"of":\#(total),"data":\#(text)}"#
    return #"{"jsonrpc":"2.0",\#(answered)"method":"\#(method)","params":{\#(others),"part":\#(part)}}"#
  }

  /// Says a text in pieces that end at these places.
  private static func say(_ text: String, cuts: [Int], to client: HarnessClient, id: Int = 1) {
    let bytes = Array(text.utf8)
    var start = 0
    for end in cuts + [bytes.count] {
      let data = String(decoding: bytes[start..<end], as: UTF8.self)
      client.say(call(data, at: start, of: bytes.count, id: end == bytes.count ? id : nil))
      start = end
    }
  }

  private static func error(_ lines: [String]) -> [String] {
    HarnessClient.values(lines).map { value in
      let data = value["error"]?["data"]
      return data?["quota"]?.stringValue ?? data?["type"]?.stringValue ?? "none"
    }
  }

  private func connected() -> HarnessClient {
    let client = harness.client()
    client.call("send", #"{"upstream":"chat","event":"first"}"#)
    harness.upstream.channel.accept()
    return client
  }

  private var written: [String] { Array(harness.upstream.channel.written.dropFirst()) }

  @Test func aTextThatIsCutAnywhereArrivesWhole() {
    let client = connected()
    let text = #"["a\"b\\",{"n":-1.5e3,"é":"😀"},true,[]]"#
    let places = Array(text.utf8.indices.dropFirst()).map { text.utf8.distance(from: text.startIndex, to: $0) }
    let cuts = places.filter { Array(text.utf8)[$0] & 0xc0 != 0x80 }
    for cut in cuts { Self.say(text, cuts: [cut], to: client) }
    Self.say(text, cuts: cuts, to: client)
    let answers = client.readValues().map { $0["result"]?["state"]?.stringValue }
    #expect(answers == Array(repeating: "accepted", count: cuts.count + 1))
    #expect(written == Array(repeating: "e \(text)", count: cuts.count + 1))
    #expect(harness.gateway.receiveMemory.used == 0)
  }

  @Test func aRequestInPartsIsAnsweredByTheServer() {
    let client = connected()
    client.say(Self.call("[1,", at: 0, of: 5, method: "request"))
    client.say(Self.call("2]", at: 3, of: 5, id: 3, method: "request"))
    harness.upstream.channel.acknowledge(0, "4")
    #expect(client.read() == [#"{"jsonrpc":"2.0","id":3,"result":{"args":[4]}}"#])
  }

  @Test func onlyTheLastPartIsAnswered() {
    let client = connected()
    client.say(Self.call("[1,", at: 0, of: 5))
    #expect(client.read().isEmpty)
    client.say(Self.call("2]", at: 3, of: 5, id: 2))
    #expect(client.readValues().map { $0["id"]?.integerValue } == [2])
    client.say(Self.call("[1,", at: 0, of: 5, id: 3))
    #expect(Self.error(client.read()) == ["InvalidParams"])
  }

  @Test(arguments: [
    // The text, where the second part says that it begins, and how long it says that the text is.
    ("[1,2]", 4, 5), ("[1,2]", 2, 5), ("[1,2]", 3, 6), ("{1,2]", 3, 5), ("[1,]]", 3, 5), ("[1]]]", 3, 5),
  ])
  func whatDoesNotFitTogetherIsRefusedWithTheLastPart(text: String, place: Int, total: Int) {
    let client = connected()
    client.say(Self.call(String(text.prefix(3)), at: 0, of: 5))
    let rest = String(text.suffix(total - place))
    client.say(Self.call(rest, at: place, of: total, id: 2))
    #expect(Self.error(client.read()) == ["InvalidParams"])
    #expect(written.isEmpty)
    #expect(harness.gateway.receiveMemory.used == 0)
  }

  @Test func anEarlierPartsMistakeIsWhatTheLastIsTold() {
    let client = connected()
    client.say(Self.call("[1,", at: 0, of: 9))
    client.say(Self.call("2}", at: 3, of: 9))
    client.say(Self.call("3,4]", at: 5, of: 9, id: 2))
    #expect(client.read().first?.contains("not valid JSON at byte 4") == true)
  }

  @Test func aPartBesideArgumentsIsRefused() {
    let client = connected()
    client.say(Self.call("[1]", at: 0, of: 3, id: 2, others: #""upstream":"chat","event":"e","args":[]"#))
    #expect(Self.error(client.read()) == ["InvalidParams"])
  }

  @Test func halfACharacterIsNoPart() {
    let client = connected()
    let call = Self.call("[X", at: 0, of: 8, id: 2).replacing("X", with: #"\ud83d"#)
    client.say(call)
    #expect(Self.error(client.read()) == ["InvalidParams"])
  }

  @Test func moreThanAMessageOfTheUpstreamMayHaveIsRefused() {
    let client = connected()
    client.say(Self.call("[", at: 0, of: (16 << 20) + 1))
    client.say(Self.call("]", at: 16 << 20, of: (16 << 20) + 1, id: 2))
    #expect(Self.error(client.read()) == ["PayloadTooLarge"])
    #expect(harness.gateway.receiveMemory.used == 0)
  }

  @Test func aMessageThatCanNeverFitIsNotToldToTryAgain() {
    let client = connected()
    client.say(Self.call("[", at: 0, of: (32 << 10) + 1))
    client.say(Self.call("]", at: 32 << 10, of: (32 << 10) + 1, id: 2))
    #expect(Self.error(client.read()) == ["PayloadTooLarge"])
    #expect(harness.gateway.receiveMemory.used == 0)
  }

  @Test func halfAMessageIsNotWaitedForWithoutEnd() {
    let client = connected()
    client.say(Self.call("[1,", at: 0, of: 5))
    #expect(harness.gateway.receiveMemory.used == 3)
    harness.pass(.seconds(121))
    #expect(harness.gateway.receiveMemory.used == 0)
    client.say(Self.call("2]", at: 3, of: 5, id: 2))
    #expect(Self.error(client.read()) == ["Expired"])
  }

  @Test func unfinishedMessagesOfAUserStayWithinTheUsersShare() {
    let text = "[\"" + String(repeating: "x", count: 20_000)
    let clients = (0..<3).map { _ in connected() }
    for client in clients { client.say(Self.call(text, at: 0, of: 20_004)) }
    #expect(harness.gateway.receiveMemory.used == 20_002)
    clients[1].say(Self.call("\"]", at: 20_002, of: 20_004, id: 2))
    #expect(Self.error(clients[1].read()) == ["receive_bytes"])
    let other = harness.client(uid: 2_000)
    other.say(Self.call(text, at: 0, of: 20_004))
    other.say(Self.call("\"]", at: 20_002, of: 20_004, id: 2))
    #expect(other.readValues().map { $0["result"]?["state"]?.stringValue } == ["accepted"])
  }

  @Test func aClientThatLeavesAndACancelGiveTheMemoryBack() {
    let (gone, cancelling) = (connected(), connected())
    for client in [gone, cancelling] { client.say(Self.call("[1,", at: 0, of: 5)) }
    #expect(harness.gateway.receiveMemory.used == 6)
    gone.disconnect()
    cancelling.call("rpc.cancel", #"{"id":7}"#)
    #expect(harness.gateway.receiveMemory.used == 0)
    cancelling.say(Self.call("2]", at: 3, of: 5, id: 2))
    #expect(Self.error(cancelling.read()) == ["InvalidParams"])
  }

  @Test func anotherMessagesFirstPartTakesThePlaceOfOneThatIsNotWhole() {
    let client = connected()
    client.say(Self.call("[1,", at: 0, of: 5, part: 1))
    client.say(Self.call("[3,", at: 0, of: 5, part: 2))
    client.say(Self.call("2]", at: 3, of: 5, part: 1, id: 1))
    client.say(Self.call("4]", at: 3, of: 5, part: 2, id: 2))
    #expect(Self.error(client.read()) == ["InvalidParams", "none"])
    #expect(written == ["e [3,4]"])
  }

  @Test(arguments: [(1 << 20, false), (1 << 20 - 1, true)])
  func whatWouldTakeLongToCompressLeavesUncompressed(size: Int, compressed: Bool) {
    let call = SendParameters(target: CallTarget(name: .upstream("chat")), event: "e", args: [], delivery: .accepted)
    let args = [UInt8](repeating: 0x20, count: size)
    #expect(call.with(MessageAssembly.Message(args: args, isPlain: true)).compress == compressed)
  }

  @Test func aClientInTheMiddleOfAMessageIsSentAwayAtAHandover() {
    let (client, other) = (connected(), harness.client())
    client.say(Self.call("[1,", at: 0, of: 5))
    for one in [client, other] { one.session?.prepareHandover() }
    #expect(client.read().first?.contains(#""reason":"restarting""#) == true)
    #expect(!client.isConnected && other.isConnected)
    #expect(harness.gateway.receiveMemory.used == 0)
  }

  @Test(arguments: [
    (#"["\"\\\n\"\n","a\"\n"]"#, true), (#"[{"$bin":"AA=="}]"#, false), (#"[{"\u0024bin":"AA=="}]"#, false),
    (#"["$bin"]"#, false), (#"["a$bin"]"#, true),
  ])
  func whatIsPlainIsKnownWhereverTheTextIsCut(text: String, isPlain: Bool) throws {
    let bytes = Array(text.utf8)
    for cut in 1..<bytes.count {
      let parts = [0..<cut, cut..<bytes.count].map { Self.part(bytes, $0) }
      let assembly = MessageAssembly(first: parts[0])
      #expect(try assembly.append(parts[0]) == nil)
      #expect(try assembly.append(parts[1]) == MessageAssembly.Message(args: bytes, isPlain: isPlain))
    }
  }

  private static func part(_ text: [UInt8], _ range: Range<Int>) -> MessagePart {
    MessagePart(
      id: RequestID(value: .integer(1), text: []), place: range.lowerBound, total: text.count, data: Array(text[range]))
  }

  @Test(arguments: [true, false]) func binaryValuesOfManyMegabytesAreRefused(isBinary: Bool) {
    let text =
      Array((isBinary ? #"[{"$bin":""# : #"[{"bin":""#).utf8)
      + [UInt8](repeating: UInt8(ascii: "A"), count: MessageAssembly.binaryLimit) + Array(#""}]"#.utf8)
    let assembly = MessageAssembly(first: Self.part(text, 0..<1_000))
    do throws(MessageAssembly.Problem) {
      _ = try assembly.append(Self.part(text, 0..<1_000))
      #expect(try assembly.append(Self.part(text, 1_000..<text.count))?.isPlain == true && !isBinary)
    } catch { #expect(error == .binaryTooLong(text.count) && isBinary) }
  }

  @Test func otherCallsMayStandBetweenParts() {
    let client = connected()
    client.say(Self.call("[1,", at: 0, of: 5))
    client.call("send", #"{"upstream":"chat","event":"between"}"#)
    client.say(Self.call("2]", at: 3, of: 5, id: 2))
    #expect(written == ["between []", "e [1,2]"])
  }

  @Test func whoMayNotSendHoldsNoMemoryAndIsTold() {
    let client = connected()
    let others = #""upstream":"nowhere","event":"e""#
    client.say(Self.call("[1,", at: 0, of: 5, others: others))
    #expect(harness.gateway.receiveMemory.used == 0)
    client.say(Self.call("2]", at: 3, of: 5, id: 2, others: others))
    #expect(Self.error(client.read()) == ["UpstreamUnknown"])
  }

  @Test func aRightThatIsGoneBeforeTheLastPartIsMissed() {
    let client = connected()
    client.say(Self.call("[1,", at: 0, of: 5))
    harness.reload { $0.upstreams["chat"] = nil }
    client.say(Self.call("2]", at: 3, of: 5, id: 2))
    #expect(Self.error(client.read()) == ["UpstreamUnknown"])
  }
}
