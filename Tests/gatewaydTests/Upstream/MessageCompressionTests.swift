@testable import GatewayCore
import Testing

@testable import gatewayd

/// Compressed messages through the framer (RFC 7692), with what a server would write made by hand or by zlib.
@Suite struct MessageCompressionTests {
  /// One link with compression: what it delivered and what it wrote.
  private final class Desk {
    let queue = SendQueue(pool: SendQueue.Pool())
    var messages: [String] = []
    private(set) var framer: WebSocketFramer?
    /// Runs while a message is being delivered, before it is read.
    var onMessage: () -> Void = {}

    init(
      _ agreed: MessageDeflate? = MessageDeflate(), messageLimit: Int = 1 << 20, threshold: Int = 0,
      contexts: CompressionContexts = CompressionContexts(), memory: MemoryHold? = nil
    ) {
      let compression = agreed.map {
        MessageCompression($0, threshold: threshold, contexts: contexts, memory: memory)
      }
      framer = WebSocketFramer(
        messageLimit: messageLimit, random: SystemRandom(), output: queue, compression: compression)
    }

    func receive(_ bytes: [UInt8]) -> WebSocketEnding? {
      bytes.withUnsafeBytes { bytes in
        framer?.receive(bytes) { kind, body in
          onMessage()
          messages.append("\(kind) \(body.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })")
        }
      }
      return framer?.ending
    }

    func send(_ text: String, compress: Bool = true) {
      framer?.send(.text, Array(text.utf8).span.bytes, compress: compress)
    }

    /// The frames that were written, as a server would have written them: without masks.
    func written() -> [UInt8] {
      var bytes: [UInt8] = []
      while let front = queue.front {
        bytes += front
        queue.consume(front.count)
      }
      var frames: [UInt8] = []
      while bytes.count >= 6 {
        let short = Int(bytes[1] & 0x7f)
        let head = short == 127 ? 10 : short == 126 ? 4 : 2
        let length = head == 2 ? short : bytes[2..<head].reduce(0) { $0 << 8 | Int($1) }
        frames += [bytes[0], bytes[1] & 0x7f] + bytes[2..<head]
        for index in 0..<length { frames.append(bytes[head + 4 + index] ^ bytes[head + index & 3]) }
        bytes.removeFirst(head + 4 + length)
      }
      return frames
    }
  }

  /// `Hello`, from RFC 7692 section 7.2.3.1; with a final block, section 7.2.3.4; in a stored block, section 7.2.3.3.
  private static let hello: [UInt8] = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]
  private static let finalHello: [UInt8] = [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00]
  private static let storedHello: [UInt8] = [0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00]
  /// Refers to the message before it, section 7.2.3.2.
  private static let again: [UInt8] = [0xf2, 0x00, 0x11, 0x00, 0x00]

  private static func frame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, marked: Bool = true) -> [UInt8] {
    var frame = WebSocketPeer.Connection.frame(opcode, payload, isFinal: isFinal)
    if marked { frame[0] |= 0x40 }
    return frame
  }

  /// A message that is being inflated, of a megabyte of zeros, which waits after each portion.
  @Test func whatIsHalfInflatedCountsAsReceivedMemory() {
    let packer = Zlib.Deflater(windowBits: 15)
    let zeros = [UInt8](repeating: 48, count: 1 << 20)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: zeros.count + Zlib.Deflater.roomBeyond, alignment: 1)
    defer { room.deallocate() }
    guard let count = zeros.withUnsafeBytes({ packer.deflate($0, into: room) }) else { return #expect(Bool(false)) }
    let bomb = Self.frame(1, Array(room[..<count]))
    let budget = MemoryBudget(total: 4 << 20)
    let desk = Desk(messageLimit: 1 << 22, memory: MemoryHold(budget, for: .configuration))
    desk.framer?.mustPause = { true }
    #expect(desk.receive(bomb) == nil)
    #expect(budget.used >= MessageCompression.portion)
    while desk.messages.isEmpty, desk.receive([]) == nil {}
    #expect(budget.used == 0 && desk.messages.count == 1)
    let small = Desk(
      messageLimit: 1 << 22, memory: MemoryHold(MemoryBudget(total: 1 << 19), for: .configuration))
    #expect(small.receive(bomb) == .noMemory)
  }

  @Test(arguments: [hello, finalHello, storedHello])
  func theExamplesOfTheStandardAreRead(payload: [UInt8]) {
    let desk = Desk()
    #expect(desk.receive(Self.frame(1, payload) + Self.frame(2, payload)) == nil)
    #expect(desk.messages == ["text Hello", "binary Hello"])
  }

  @Test func everyCutOfFragmentsWithAPingBetweenGivesTheSameMessages() {
    let stream =
      Self.frame(1, Array(Self.hello[..<3]), isFinal: false) + WebSocketPeer.Connection.frame(9, [7])
      + Self.frame(0, [], isFinal: false, marked: false) + Self.frame(0, Array(Self.hello[3...]), marked: false)
      + WebSocketPeer.Connection.frame(1, Array("plain".utf8)) + Self.frame(1, Self.hello)
    for cut in 0...stream.count {
      let desk = Desk()
      #expect(desk.receive(Array(stream[..<cut])) == nil)
      #expect(desk.receive(Array(stream[cut...])) == nil)
      #expect(desk.messages == ["text Hello", "text plain", "text Hello"], "cut at \(cut)")
      #expect(desk.written() == [0x8a, 1, 7])
    }
  }

  @Test func aServerMayReferToItsEarlierMessagesOnlyIfItSaidSo() {
    let keeping = Desk(MessageDeflate(serverKeepsContext: true))
    #expect(keeping.receive(Self.frame(1, Self.hello) + Self.frame(1, Self.again)) == nil)
    #expect(keeping.messages == ["text Hello", "text Hello"])
    let forgetting = Desk()
    #expect(forgetting.receive(Self.frame(1, Self.hello) + Self.frame(1, Self.again)) == .invalidCompression)
    #expect(forgetting.messages == ["text Hello"])
  }

  @Test func aFinalBlockKeepsTheContext() {
    let desk = Desk(MessageDeflate(serverKeepsContext: true))
    #expect(desk.receive(Self.frame(1, Self.finalHello) + Self.frame(1, Self.again)) == nil)
    #expect(desk.messages == ["text Hello", "text Hello"])
  }

  @Test func linksThatShareAContextDoNotDisturbEachOther() {
    let contexts = CompressionContexts()
    let desks = [Desk(contexts: contexts), Desk(contexts: contexts)]
    for desk in desks { #expect(desk.receive(Self.frame(1, Array(Self.hello[..<3]), isFinal: false)) == nil) }
    for desk in desks { #expect(desk.receive(Self.frame(0, Array(Self.hello[3...]), marked: false)) == nil) }
    #expect(desks.map(\.messages) == [["text Hello"], ["text Hello"]])
    #expect(desks[0].receive(Self.frame(1, [0xff, 0xff])) == .invalidCompression)
    #expect(desks[1].receive(Self.frame(1, Self.hello)) == nil)
    #expect(desks[1].messages == ["text Hello", "text Hello"])
  }

  @Test(arguments: [[0x00], []])
  func anEmptyMessageIsEmpty(payload: [UInt8]) {
    let desk = Desk()
    #expect(desk.receive(Self.frame(1, payload)) == nil)
    #expect(desk.messages == ["text "])
  }

  @Test(
    arguments: [
      // The mark without agreement is tested below. On a ping, a close, a continuation, and the other reserved bits.
      [0xc9, 0], [0xc8, 0], [0xca, 0], [0xa1, 0], [0x91, 0], [0xe1, 0], [0x41, 0, 0xc0, 0], [0x01, 0, 0xc0, 0],
    ] as [[UInt8]])
  func theMarkBelongsOnFirstFramesOfMessagesOnly(bytes: [UInt8]) {
    let desk = Desk()
    #expect(desk.receive(bytes) == .violation)
    #expect(desk.messages.isEmpty)
  }

  @Test func theMarkWithoutAgreementIsAViolation() {
    let desk = Desk(nil)
    #expect(desk.receive(Self.frame(1, Self.hello)) == .violation)
  }

  @Test(
    arguments: [
      [0xff], [0x06, 0x07], [0xf2, 0x48, 0xcd], Array(hello.dropLast()) + [0x05], Array(finalHello.dropLast(2)),
      [0x00, 0x05, 0x00, 0xfa, 0xff, 0x48], [0x01],
    ] as [[UInt8]])
  func whatIsNoDeflateDataEndsTheConversation(payload: [UInt8]) {
    let desk = Desk()
    #expect(desk.receive(Self.frame(1, payload)) == .invalidCompression, "\(payload)")
    #expect(desk.messages.isEmpty)
    #expect(desk.written() == [0x88, 2, 0x03, 0xef])
  }

  @Test func textIsCheckedAfterItWasInflated() {
    let desk = Desk()
    // A stored block with one byte that no UTF-8 has.
    #expect(desk.receive(Self.frame(2, [0x00, 1, 0, 0xfe, 0xff, 0xff, 0x00])) == nil)
    #expect(desk.receive(Self.frame(1, [0x00, 1, 0, 0xfe, 0xff, 0xff, 0x00])) == .invalidText)
    #expect(desk.messages.count == 1)
  }

  @Test func theLimitIsForTheInflatedMessage() {
    let zeros = String(repeating: "0", count: 100_000)
    let sender = Desk()
    sender.send(zeros)
    let frame = sender.written()
    #expect(frame.count < 1_000)
    let fitting = Desk(messageLimit: 100_000)
    #expect(fitting.receive(frame) == nil)
    #expect(fitting.messages == ["text " + zeros])
    let tight = Desk(messageLimit: 99_999)
    #expect(tight.receive(frame) == .tooLarge)
    #expect(tight.messages.isEmpty)
  }

  @Test func aBombIsNotInflatedBeyondTheLimit() {
    let sender = Desk()
    sender.send(String(repeating: "x", count: 64 << 20))
    let bomb = sender.written()
    #expect(bomb.count < 512 << 10)
    let contexts = CompressionContexts()
    let desk = Desk(messageLimit: 1 << 20, contexts: contexts)
    #expect(desk.receive(bomb) == .tooLarge)
    #expect(contexts.inflated.bytes.count <= GrowingBuffer.keptCount)
  }

  @Test func aSendInTheMiddleOfALargeMessageLeavesItWhereItIs() {
    let text = String(repeating: "large ", count: 40_000)
    let sender = Desk()
    sender.send(text)
    let contexts = CompressionContexts()
    let desk = Desk(contexts: contexts)
    var room = 0
    desk.onMessage = { [unowned desk] in
      desk.send(String(repeating: "answer ", count: 300))
      room = contexts.inflated.bytes.count
    }
    #expect(desk.receive(sender.written()) == nil)
    #expect(room >= text.utf8.count)
    #expect(desk.messages == ["text " + text])
    #expect(contexts.inflated.bytes.count <= GrowingBuffer.keptCount)
  }

  @Test func aLargeMessageIsInflatedInPortionsBetweenWhichOthersHaveTheirTurn() {
    let text = String(repeating: "x", count: 4 << 20)
    let sender = Desk()
    sender.send(text)
    let all = sender.written() + Self.frame(1, Self.hello)
    let contexts = CompressionContexts()
    let (desk, other) = (Desk(messageLimit: 8 << 20, contexts: contexts), Desk(contexts: contexts))
    desk.framer?.mustPause = { true }
    #expect(desk.receive(all) == nil)
    var turns = 1
    while let left = desk.framer?.takeUntaken() {
      #expect(desk.messages.isEmpty || left > 0)
      #expect(other.receive(Self.frame(1, Self.hello)) == nil)
      #expect(desk.receive(Array(all.suffix(left))) == nil)
      turns += 1
    }
    #expect(turns >= (4 << 20) / MessageCompression.portion)
    #expect(desk.messages == ["text " + text, "text Hello"])
    #expect(other.messages == Array(repeating: "text Hello", count: turns - 1))
  }

  @Test func aBombIsFoundOutInALaterPortion() {
    let sender = Desk()
    sender.send(String(repeating: "x", count: 4 << 20))
    let desk = Desk(messageLimit: 3 << 20)
    desk.framer?.mustPause = { true }
    var ending = desk.receive(sender.written())
    while ending == nil, desk.framer?.takeUntaken() != nil { ending = desk.receive([]) }
    #expect(ending == .tooLarge && desk.messages.isEmpty)
  }

  @Test func memoryIsGivenBackAfterALargeMessageThatCannotBeCompressed() {
    let contexts = CompressionContexts()
    let desk = Desk(contexts: contexts)
    let random = SystemRandom()
    desk.send(String((0..<300_000).map { _ in Character(Unicode.Scalar(UInt8(random.bits() & 0x7f))) }))
    #expect(contexts.deflated.bytes.count <= GrowingBuffer.keptCount)
  }

  @Test(arguments: [0, 1, 125, 126, 65_535, 65_536, 300_000])
  func whatIsSentReadsBack(count: Int) {
    let text = String((0..<count).map { Character(Unicode.Scalar(UInt8(97 + $0 * $0 % 23))) })
    for agreed in [MessageDeflate(), MessageDeflate(serverKeepsContext: true, clientWindowBits: 9)] {
      let desk = Desk(agreed)
      for _ in 0..<2 { desk.send(text) }
      let frames = desk.written()
      #expect(desk.receive(frames) == nil)
      #expect(desk.messages == ["text \(text)", "text \(text)"])
    }
  }

  @Test func whatIsSmallOrMarkedOrGainsNothingLeavesAsItIs() {
    let desk = Desk(threshold: 10)
    desk.send("123456789")
    desk.send("1111111111", compress: false)
    desk.send("qwertzuiop")
    let first = desk.written().filter { $0 & 0xf0 == 0xc0 }
    #expect(first.isEmpty)
    desk.send(String(repeating: "1", count: 10) + String(repeating: "2", count: 20))
    #expect(desk.written().first == 0xc1)
    let tiny = Desk(MessageDeflate(clientWindowBits: 8))
    tiny.send(String(repeating: "1", count: 5_000))
    #expect(tiny.written().first == 0x81)
  }

  @Test func randomDataNeverTraps() {
    let random = SystemRandom()
    let contexts = CompressionContexts()
    for round in 0..<20_000 {
      let desk = Desk(
        MessageDeflate(serverKeepsContext: round & 1 == 0), messageLimit: 4_096, contexts: contexts)
      var payload = round & 2 == 0 ? Self.hello + Self.hello : []
      payload += (0..<Int(random.bits() % 24)).map { _ in UInt8(truncatingIfNeeded: random.bits()) }
      if !payload.isEmpty {
        payload[Int(random.bits() % UInt64(payload.count))] ^= UInt8(truncatingIfNeeded: random.bits())
      }
      _ = desk.receive(Self.frame(2, payload))
      #expect(desk.messages.count <= 1)
    }
  }
}
