@testable import GatewayCore
import Testing

@testable import gatewayd

/// The framing by itself: bytes in, messages out.
@Suite struct WebSocketFramerTests {
  /// A framer, what it delivered and what it wrote.
  private final class Desk {
    let queue = SendQueue(pool: SendQueue.Pool())
    var messages: [String] = []
    private(set) var framer: WebSocketFramer?

    init(messageLimit: Int = 1 << 20) {
      framer = WebSocketFramer(messageLimit: messageLimit, random: SystemRandom(), output: queue)
    }

    func receive(_ bytes: some Collection<UInt8>) -> WebSocketEnding? {
      [UInt8](bytes).withUnsafeBytes { bytes in
        framer?.receive(bytes) { kind, body in
          messages.append("\(kind) \(body.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })")
        }
      }
      return framer?.ending
    }

    /// Takes what was written, unmasked, one element for each frame.
    func written() -> [String] {
      var bytes: [UInt8] = []
      while let front = queue.front {
        bytes += front
        queue.consume(front.count)
      }
      var frames: [String] = []
      while bytes.count >= 6 {
        let length = Int(bytes[1] & 0x7f)
        var payload = Array(bytes[6..<(6 + length)])
        for index in payload.indices { payload[index] ^= bytes[2 + index & 3] }
        frames.append("\(bytes[0] & 15) \(bytes[1] & 0x80 != 0 ? "masked" : "bare") \(payload)")
        bytes.removeFirst(6 + length)
      }
      return frames
    }
  }

  private let conversation: [UInt8] =
    WebSocketPeer.Connection.frame(1, Array("grüße".utf8))
    + WebSocketPeer.Connection.frame(1, Array("one €".utf8.dropLast()), isFinal: false)
    + WebSocketPeer.Connection.frame(9, [7, 8])
    + WebSocketPeer.Connection.frame(0, Array("€ two".utf8.dropFirst(2)), isFinal: true)
    + WebSocketPeer.Connection.frame(2, [])
    + WebSocketPeer.Connection.frame(10, [1])
    + WebSocketPeer.Connection.frame(2, Array(repeating: 65, count: 200))
    + WebSocketPeer.Connection.frame(8, [0x03, 0xe9] + "restart".utf8)

  @Test func aMessageThatTookLongIsTheLastBeforeOthersMayHaveTheirTurn() {
    let work = MatchingCost()
    let framer = WebSocketFramer(
      messageLimit: 1 << 20, random: SystemRandom(), output: SendQueue(pool: SendQueue.Pool()), work: work)
    framer.mustPause = {
      work.begin()
      return true
    }
    let four = [UInt8]((0..<4).flatMap { WebSocketPeer.Connection.frame(1, Array("\($0)".utf8)) })
    var count = 0
    func receive(_ bytes: ArraySlice<UInt8>) {
      Array(bytes).withUnsafeBytes { bytes in
        framer.receive(bytes) { _, _ in
          count += 1
          work.note(count == 2 ? 1 << 20 : 1)
        }
      }
    }
    receive(four[...])
    let left = framer.takeUntaken()
    #expect(count == 2 && left == four.count / 2)
    receive(four.suffix(left ?? 0))
    #expect(count == 4 && framer.takeUntaken() == nil)
  }

  /// Long enough to be looked at while it comes.
  @Test(arguments: [
    (Array(String(repeating: "grüße 日本語 🐧 ", count: 6_000).utf8), true),
    (Array(String(repeating: "plain ", count: 20_000).utf8), true),
    (Array(String(repeating: "plain ", count: 20_000).utf8) + [0xc3], false),
    (
      Array(String(repeating: "x", count: 90_000).utf8) + [0xff] + Array(String(repeating: "ü", count: 9_000).utf8),
      false
    ),
    (
      Array(String(repeating: "x", count: 90_000).utf8) + [0xe2, 0x82]
        + Array(String(repeating: "x", count: 9_000).utf8), false
    ),
  ])
  func aLongTextIsJudgedAsItComes(_ text: [UInt8], _ isValid: Bool) {
    let frames = WebSocketPeer.Connection.frame(1, text) + WebSocketPeer.Connection.frame(1, Array("next".utf8))
    for piece in [1_000, 1_001, 1_002, 32_768] {
      let desk = Desk()
      var parts: [Int] = []
      desk.framer?.onPart = { parts.append($1.byteCount) }
      var ending: WebSocketEnding?
      var rest = frames[...]
      while !rest.isEmpty, ending == nil {
        ending = desk.receive(rest.prefix(piece))
        rest = rest.dropFirst(piece)
      }
      #expect(ending == (isValid ? nil : .invalidText))
      #expect(desk.messages == (isValid ? ["text \(String(decoding: text, as: UTF8.self))", "text next"] : []))
      #expect(parts == parts.sorted() && parts.count > 1 && parts.last ?? 0 < text.count)
    }
  }

  @Test func aLongTextInTinyFramesIsNotLookedAtForEachOfThem() {
    let desk = Desk()
    var parts = 0
    desk.framer?.onPart = { _, _ in parts += 1 }
    let count = 100_000
    var frames = WebSocketPeer.Connection.frame(1, [120], isFinal: false)
    for _ in 2..<count { frames += WebSocketPeer.Connection.frame(0, [120], isFinal: false) }
    frames += WebSocketPeer.Connection.frame(0, [120], isFinal: true)
    #expect(desk.receive(frames) == nil)
    #expect(desk.messages.map(\.utf8.count) == [count + 5])
    #expect((1...count / (16 << 10)).contains(parts))
  }

  @Test func aTextInTwoPartsIsAFrameLikeAnyOther() {
    let desk = Desk()
    let (before, head, after): ([UInt8], [UInt8], [UInt8]) = ([65, 66], [67], [70])
    desk.framer?.send(.text, before.span.bytes)
    desk.framer?.send(text: head.span.bytes, body: [68, 69], compress: true)
    desk.framer?.send(.text, after.span.bytes)
    #expect(desk.written() == ["1 masked [65, 66]", "1 masked [67, 68, 69]", "1 masked [70]"])
    desk.framer?.close(1_000)
    _ = desk.written()
    desk.framer?.send(text: head.span.bytes, body: [72], compress: true)
    #expect(desk.written() == [])
  }

  @Test func onlyTheAnswerToTheLastPingIsTold() {
    let desk = Desk()
    var pongs = 0
    desk.framer?.onPong = { pongs += 1 }
    func pong(_ number: UInt8) {
      let frame = WebSocketPeer.Connection.frame(10, [0, 0, 0, 0, 0, 0, 0, number])
      #expect(desk.receive(frame) == nil)
    }
    pong(0)
    desk.framer?.ping()
    desk.framer?.ping()
    #expect(desk.written() == ["9 masked [0, 0, 0, 0, 0, 0, 0, 1]", "9 masked [0, 0, 0, 0, 0, 0, 0, 2]"])
    pong(1)
    #expect(pongs == 0)
    pong(2)
    pong(2)
    #expect(pongs == 1)
    desk.framer?.close(1_000)
    desk.framer?.ping()
    #expect(desk.written().count == 1)
  }

  private func check(_ desk: Desk, _ ending: WebSocketEnding?, _ cut: String) {
    let expected = ["text grüße", "text one € two", "binary ", "binary \(String(repeating: "A", count: 200))"]
    #expect(desk.messages == expected, "\(cut)")
    #expect(ending == .closed(code: 1_001, reason: "restart"), "\(cut)")
    let close = "8 masked \([3, 0xe9] + Array("restart".utf8))"
    #expect(desk.written() == ["10 masked [7, 8]", close], "\(cut)")
  }

  @Test func everyCutOfTheBytesGivesTheSameMessages() {
    for cut in 0...conversation.count {
      let desk = Desk()
      let first = desk.receive(conversation[..<cut])
      let second = desk.receive(conversation[cut...])
      check(desk, first ?? second, "cut at \(cut)")
    }
  }

  @Test func bytesOneByOneGiveTheSameMessages() {
    let desk = Desk()
    var ending: WebSocketEnding?
    for byte in conversation { ending = desk.receive([byte]) }
    check(desk, ending, "one by one")
  }

  @Test func theEndingIsFinal() {
    let desk = Desk()
    #expect(desk.receive([0x83, 0]) == .violation)
    #expect(desk.receive(WebSocketPeer.Connection.frame(1, [65])) == .violation)
    #expect(desk.messages.isEmpty)
  }

  @Test func nothingIsDeliveredAfterClosingButThePeersCloseIsSeen() {
    let desk = Desk()
    desk.framer?.close(1_000)
    #expect(desk.written() == ["8 masked [3, 232]"])
    #expect(desk.receive(WebSocketPeer.Connection.frame(1, [65])) == nil)
    desk.framer?.send(.text, Array("late".utf8).span.bytes)
    #expect(desk.receive(WebSocketPeer.Connection.frame(8, [3, 232])) == .closed(code: 1_000, reason: ""))
    #expect(desk.messages.isEmpty)
    #expect(desk.written().isEmpty)
  }

  @Test func masksDifferFromFrameToFrame() {
    let desk = Desk()
    var masks: Set<[UInt8]> = []
    for _ in 0..<32 {
      desk.framer?.send(.text, [UInt8(ascii: "a")].span.bytes)
      if let front = desk.queue.front {
        masks.insert(Array(front[2..<6]))
        desk.queue.consume(front.count)
      }
    }
    #expect(masks.count > 28)
  }

  @Test func randomBytesNeverTrap() {
    let random = SystemRandom()
    for _ in 0..<3_000 {
      let desk = Desk(messageLimit: 100)
      var bytes = (0..<64).map { _ in UInt8(truncatingIfNeeded: random.bits()) }
      // A plausible beginning gets further than pure noise.
      bytes[0] = [0x01, 0x81, 0x82, 0x00, 0x80, 0x88, 0x89][Int(random.bits() % 7)]
      bytes[1] &= 0x7f
      for chunk in [bytes[..<20], bytes[20...]] { _ = desk.receive(chunk) }
      #expect(desk.messages.count <= 32)
    }
  }
}

@Suite struct SendQueueTests {
  @Test func bytesComeOutAsTheyWentIn() {
    let queue = SendQueue(pool: SendQueue.Pool())
    var expected: [UInt8] = []
    var got: [UInt8] = []
    for round in 0..<400 {
      let chunk = (0..<(round * 37 % 5_000)).map { UInt8(truncatingIfNeeded: $0 &+ round) }
      expected += chunk
      chunk.withUnsafeBytes { queue.append($0) }
      #expect(queue.byteCount == expected.count - got.count)
      if round % 3 == 0, let front = queue.front {
        let count = max(1, front.count * (round % 5) / 4)
        got += front.prefix(count)
        queue.consume(min(count, front.count))
      }
    }
    while let front = queue.front {
      got += front
      queue.consume(front.count)
    }
    #expect(got == expected)
    #expect(queue.isEmpty)
  }

  private static let key: UInt32 = 0x1234_5678

  /// What `bytes` become under the mask.
  private static func masked(_ bytes: [UInt8]) -> [UInt8] {
    var mask = FrameMask(key)
    var result = [UInt8](repeating: 0, count: bytes.count)
    bytes.withUnsafeBytes { source in result.withUnsafeMutableBytes { mask.apply(source, to: $0) } }
    return result
  }

  /// Takes everything out, so many bytes at a time at most.
  private func takeAll(_ queue: SendQueue, atMost limit: Int) -> [UInt8] {
    var got: [UInt8] = []
    while let front = queue.front {
      #expect(front.count <= SendQueue.blockSize)
      // What was not taken is offered again, at the same place.
      #expect(queue.front?.baseAddress == front.baseAddress)
      got += front.prefix(limit)
      queue.consume(min(limit, front.count))
      #expect(queue.isEmpty == (queue.front == nil))
    }
    return got
  }

  @Test(arguments: [1, 2, 32_767, 32_768, 32_769, 100_001, 900_000])
  func aWholeTextIsMaskedAsWhatIsCopiedWouldBe(length: Int) {
    let text = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    for limit in [1_000, 32_768, 50_000] where length < 200_000 || limit > 1_000 {
      let queue = SendQueue(pool: SendQueue.Pool())
      let (head, body) = (text.prefix(length / 3), Array(text.dropFirst(length / 3)))
      head.withUnsafeBytes { queue.append($0, then: body[...], mask: Self.key) }
      #expect(queue.byteCount == length)
      #expect(takeAll(queue, atMost: limit) == Self.masked(text))
      #expect(queue.isEmpty)
    }
  }

  @Test func wholeTextsKeepTheirPlaceAmongOtherBytes() {
    let queue = SendQueue(pool: SendQueue.Pool())
    let text = (0..<70_000).map { UInt8(truncatingIfNeeded: $0) }
    var expected: [UInt8] = []
    for round in 0..<4 {
      let bytes = [UInt8](repeating: UInt8(round), count: 10 + round * 20_000)
      bytes.withUnsafeBytes { queue.append($0) }
      [UInt8]().withUnsafeBytes { queue.append($0, then: text[...], mask: Self.key) }
      expected += bytes + Self.masked(text)
    }
    #expect(queue.byteCount == expected.count)
    // The last text is under way when more comes behind it.
    var got: [UInt8] = []
    while got.count < expected.count - 5_000, let front = queue.front {
      got += front
      queue.consume(front.count)
    }
    let last: [UInt8] = [1, 2, 3]
    last.withUnsafeBytes { queue.append($0) }
    got += takeAll(queue, atMost: 999)
    #expect(got == expected + last)
  }

  @Test func aWholeTextIsForgottenInTheMiddle() {
    let queue = SendQueue(pool: SendQueue.Pool())
    [UInt8]().withUnsafeBytes { queue.append($0, then: [UInt8](repeating: 1, count: 100_000)[...], mask: Self.key) }
    if let front = queue.front { queue.consume(front.count - 1) }
    queue.removeAll()
    #expect(queue.isEmpty)
    #expect(queue.front == nil)
  }

  @Test func waitingBytesNeverMove() {
    let queue = SendQueue(pool: SendQueue.Pool())
    [UInt8](repeating: 1, count: 100).withUnsafeBytes { queue.append($0) }
    let before = queue.front
    [UInt8](repeating: 2, count: 500_000).withUnsafeBytes { queue.append($0) }
    #expect(queue.front?.baseAddress == before?.baseAddress)
    #expect(queue.front?.count == SendQueue.blockSize)
  }

  @Test func howFarItCameIsKnownAlsoWhenTheRestIsForgotten() {
    let queue = SendQueue(pool: SendQueue.Pool())
    [UInt8](repeating: 1, count: 100).withUnsafeBytes { queue.append($0) }
    queue.consume(10)
    #expect(queue.given == 100 && queue.taken == 10 && !queue.isOver)
    queue.removeAll()
    #expect(queue.taken == 10 && queue.isOver)
  }

  @Test func forgottenBytesAreGone() {
    let queue = SendQueue(pool: SendQueue.Pool())
    [UInt8](repeating: 1, count: 100_000).withUnsafeBytes { queue.append($0) }
    queue.consume(10)
    queue.removeAll()
    #expect(queue.isEmpty)
    #expect(queue.front == nil)
    [UInt8](repeating: 3, count: 2).withUnsafeBytes { queue.append($0) }
    #expect(queue.front.map(Array.init) == [3, 3])
  }
}

@Suite struct WebSocketKeyTests {
  /// The example of RFC 6455 section 1.3.
  @Test func acceptIsThatOfTheSpecification() {
    #expect(WebSocketKey(text: "dGhlIHNhbXBsZSBub25jZQ==").expectedAccept == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }

  @Test func keysAreSixteenBytesAndDiffer() {
    let random = SystemRandom()
    let keys = (0..<100).map { _ in WebSocketKey(random: random).text }
    #expect(Set(keys).count == 100)
    #expect(keys.allSatisfy { $0.utf8.count == 24 && $0.hasSuffix("==") })
  }
}
