import GatewayCore

/// The client's side of the WebSocket framing (RFC 6455 sections 5 to 7) without input or output: bytes in, messages
/// out; messages in, bytes at the end of a `SendQueue`. Pings and the peer's close frame are answered.
///
/// `FrameReader` takes frames apart, `FrameHead` and `FrameMask` put them together; here is decided what they mean. A
/// message that lies within one read is handed over where it lies.
final class WebSocketFramer {
  /// So many bytes take as long as another frame.
  private static let bytesPerStep = 4_096

  private let output: SendQueue
  private let random: any RandomSource
  private let reader: FrameReader
  private let messageLimit: Int
  private let work: MatchingCost
  /// Nil when no compression was agreed on.
  private let compression: MessageCompression?
  /// The peer answered the last ping. Pongs without a ping mean nothing (RFC 6455 section 5.5.3).
  var onPong: (() -> Void)?
  /// Asked after every `TransportSocket.pauseStep` frames of a read, after less where they are large or take long, and
  /// after each portion of a message that is inflated: whether what is behind them has to wait.
  var mustPause: (() -> Bool)?
  /// A long message is coming; this much of it has. Valid during the call.
  var onPart: ((MessageKind, RawSpan) -> Void)?
  /// Bytes of the text that is coming which are known to be UTF-8.
  private var judged = 0
  /// Some of it is not, which is said when it is complete: it is not looked at again before.
  private var isMisjudged = false
  /// What the last ping carried; an older one's answer has another number.
  private var pingNumber: UInt64 = 0
  private var awaitsPong = false

  /// Why no further message will be read; final.
  private(set) var ending: WebSocketEnding?
  /// Set once a close frame is queued: nothing is sent behind it.
  private var isClosing = false
  /// Bytes that the last `receive` left.
  private var untaken = 0
  /// What a message is that is being inflated.
  private var inflatedKind = MessageKind.text
  /// Frames of the present read; one for every `bytesPerStep` that they hold.
  private var frames = 0

  init(
    messageLimit: Int, random: any RandomSource, output: SendQueue, compression: MessageCompression? = nil,
    memory: MemoryHold? = nil, work: MatchingCost = MatchingCost()
  ) {
    self.work = work
    self.messageLimit = messageLimit
    self.compression = compression
    self.random = random
    self.output = output
    reader = FrameReader(messageLimit: messageLimit, allowsCompression: compression != nil, memory: memory)
  }

  /// As in `FrameReader`.
  var unfinishedMessage: Int? { reader.unfinishedMessage }

  /// How many bytes `receive` has left because the messages in them have to wait; they come first the next time. It may
  /// be none, where only a message is left of which everything has come; nil where nothing is left.
  func takeUntaken() -> Int? {
    defer { untaken = 0 }
    return untaken > 0 || compression?.isExpanding == true ? untaken : nil
  }

  /// Takes bytes from the peer, unless there is an `ending`. `onMessage` hears each message; the span is valid during
  /// the call.
  @inline(__always)
  func receive(_ bytes: UnsafeRawBufferPointer, _ onMessage: (MessageKind, RawSpan) -> Void) {
    guard ending == nil else { return }
    frames = 0
    if let compression, compression.isExpanding, !settle(compression.goOn(), onMessage) || ending != nil {
      untaken = bytes.count
      return
    }
    do throws(FrameReader.Problem) {
      untaken = try reader.receive(bytes) { item, payload in
        switch item {
        case .message(let kind, isCompressed: false): deliver(kind, payload, onMessage)
        case .message(let kind, isCompressed: true): if !inflate(kind, payload, onMessage) { return false }
        case .part(let kind): look(kind, payload)
        case .ping: answerPing(payload)
        case .pong: takePong(payload)
        case .close: takeClose(payload)
        }
        return ending == nil && !isPauseDue(payload.count)
      }
    } catch {
      switch error {
      case .violation: fail(.violation)
      case .tooLarge: fail(.tooLarge)
      case .noMemory: fail(.noMemory)
      }
    }
  }

  @inline(__always)
  private func isPauseDue(_ bytes: Int) -> Bool {
    frames &+= 1 &+ bytes / Self.bytesPerStep
    guard frames >= TransportSocket.pauseStep || work.isMuch else { return false }
    frames = 0
    return mustPause?() == true
  }

  /// Queues a message; after a close frame it is dropped. `compress: false` sends it as it is in any case.
  func send(_ kind: MessageKind, _ body: RawSpan, compress: Bool = true) {
    guard !isClosing else { return }
    let opcode = kind == .text ? FrameOpcode.text : .binary
    body.withUnsafeBytes { bytes in
      guard compress, let compression else { return write(opcode, bytes) }
      defer { compression.releaseDeflated() }
      guard let packed = compression.compress(bytes) else { return write(opcode, bytes) }
      write(opcode, packed, isCompressed: true)
    }
  }

  /// The same for one long text in two parts, of which the second is not copied unless it is compressed.
  func send(text head: RawSpan, body: ArraySlice<UInt8>, compress: Bool) {
    guard !isClosing else { return }
    guard compression == nil || !compress else {
      let text = head.withUnsafeBytes { [UInt8]($0) + body }
      return send(.text, text.span.bytes)
    }
    let (frame, mask) = nextHead(.text, length: head.byteCount + body.count)
    frame.withBytes { output.append($0) }
    head.withUnsafeBytes { output.append($0, then: body, mask: mask) }
  }

  /// Queues a text message that no program asked for.
  func send(control text: RawSpan) {
    writeControl { send(.text, text, compress: false) }
  }

  /// Queues a ping, whose answer `onPong` hears.
  func ping() {
    guard !isClosing else { return }
    pingNumber &+= 1
    awaitsPong = true
    withUnsafeBytes(of: pingNumber.bigEndian) { number in writeControl { write(.ping, number) } }
  }

  /// Queues a close frame and hands over no further message; the peer's own close frame is still recognised.
  func close(_ code: UInt16) {
    withUnsafeBytes(of: code.bigEndian) { close(echoing: $0) }
  }

  // MARK: - Incoming

  @inline(__always)
  private func deliver(
    _ kind: MessageKind, _ bytes: UnsafeRawBufferPointer, _ onMessage: (MessageKind, RawSpan) -> Void
  ) {
    let body = bytes.bytes
    guard judged == 0, !isMisjudged else { return deliverJudged(body, onMessage) }
    if kind == .text, !body.isUTF8 { return fail(.invalidText) }
    onMessage(kind, body)
  }

  private func deliverJudged(_ text: RawSpan, _ onMessage: (MessageKind, RawSpan) -> Void) {
    let known = judged
    (judged, isMisjudged) = (0, false)
    guard text.extracting(known..<text.byteCount).isUTF8 else { return fail(.invalidText) }
    onMessage(.text, text)
  }

  private func look(_ kind: MessageKind, _ part: UnsafeRawBufferPointer) {
    switch kind {
    case .text: judge(part)
    case .binary: onPart?(.binary, part.bytes)
    }
  }

  /// Looks at what came since the last time, as far as its characters are complete. What is wrong is found again at the
  /// end.
  private func judge(_ text: UnsafeRawBufferPointer) {
    let end = text.bytes.endOfCharacters
    guard !isMisjudged, end > judged else { return }
    guard text.bytes.extracting(judged..<end).isUTF8 else {
      isMisjudged = true
      return
    }
    judged = end
    onPart?(.text, text.bytes)
  }

  /// Whether the next item may follow: a large message takes more than one turn.
  private func inflate(
    _ kind: MessageKind, _ bytes: UnsafeRawBufferPointer, _ onMessage: (MessageKind, RawSpan) -> Void
  ) -> Bool {
    guard let compression else {
      fail(.violation)
      return false
    }
    inflatedKind = kind
    return settle(compression.expand(bytes, limit: messageLimit), onMessage)
  }

  /// Inflates on until the message is complete, which is delivered, or others are due.
  private func settle(_ expansion: MessageCompression.Expansion, _ onMessage: (MessageKind, RawSpan) -> Void) -> Bool {
    guard let compression else { return true }
    var expansion = expansion
    while case .part(let part) = expansion {
      // It is looked at as early as one that is not compressed.
      look(inflatedKind, part)
      if mustPause?() == true { return false }
      expansion = compression.goOn()
    }
    switch expansion {
    case .message(let expanded):
      deliver(inflatedKind, expanded, onMessage)
      frames &+= expanded.count / Self.bytesPerStep
    case .tooLarge: fail(.tooLarge)
    case .garbage: fail(.invalidCompression)
    case .noMemory: fail(.noMemory)
    case .part: break
    }
    compression.releaseInflated()
    return true
  }

  private func answerPing(_ payload: UnsafeRawBufferPointer) {
    if !isClosing { writeControl { write(.pong, payload) } }
  }

  /// Writes what no program asked for. When too much of it waits, nothing more is read: what asks for it comes from
  /// there.
  private func writeControl(_ write: () -> Void) {
    guard !output.control.isFull else { return }
    let waiting = output.byteCount
    write()
    output.noteControl(output.byteCount - waiting)
    if output.control.isFull, ending == nil { ending = .unreadAnswers(limit: output.control.limit) }
  }

  private func takePong(_ payload: UnsafeRawBufferPointer) {
    let isOurs = withUnsafeBytes(of: pingNumber.bigEndian) { payload.elementsEqual($0) }
    guard awaitsPong, isOurs, !isClosing else { return }
    awaitsPong = false
    onPong?()
  }

  /// RFC 6455 sections 5.5.1 and 7.4.
  private func takeClose(_ payload: UnsafeRawBufferPointer) {
    guard payload.count >= 2 else {
      guard payload.isEmpty else { return fail(.violation) }
      close(echoing: payload)
      ending = .closed(code: nil, reason: "")
      return
    }
    let code = Int(payload[0]) << 8 | Int(payload[1])
    let reason = UnsafeRawBufferPointer(rebasing: payload[2...])
    switch code {
    case 1_000...1_003, 1_007...1_014, 3_000...4_999: break
    default: return fail(.violation)
    }
    guard reason.bytes.isUTF8 else { return fail(.invalidText) }
    close(echoing: payload)
    ending = .closed(code: code, reason: String(decoding: reason, as: UTF8.self))
  }

  private func fail(_ ending: WebSocketEnding) {
    self.ending = ending
    switch ending {
    case .tooLarge, .noMemory: close(1_009)
    case .invalidText, .invalidCompression: close(1_007)
    case .violation: close(1_002)
    case .closed, .unreadAnswers: return
    }
  }

  // MARK: - Outgoing

  private func close(echoing payload: UnsafeRawBufferPointer) {
    guard !isClosing else { return }
    write(.close, payload)
    isClosing = true
    reader.ignoresMessages = true
  }

  /// The queue takes everything, so that a frame is never left half written. RSV1 marks a compressed message.
  private func write(_ opcode: FrameOpcode, _ payload: UnsafeRawBufferPointer, isCompressed: Bool = false) {
    let (head, mask) = nextHead(opcode, length: payload.count, isCompressed: isCompressed)
    output.append(head, payload, mask: mask)
  }

  /// A frame's head, with the mask of what follows it.
  @inline(__always)
  private func nextHead(
    _ opcode: FrameOpcode, length: Int, isCompressed: Bool = false
  ) -> (head: FrameHead, mask: UInt32) {
    let mask = UInt32(truncatingIfNeeded: random.bits())
    return (FrameHead(opcode: opcode.rawValue, reserved: isCompressed ? 4 : 0, length: length, mask: mask), mask)
  }
}
