import CWslay
import GatewayCore
import Glibc

/// The client's side of the WebSocket framing (RFC 6455 sections 5 to 7) without input or output: bytes in, messages
/// out; messages in, bytes at the end of a `SendQueue`. Pings and the peer's close frame are answered.
///
/// libwslay takes the frames apart; which frames may follow each other is decided here, because its own message layer
/// checks UTF-8 byte by byte and buffers every fragment by itself. Frames are put together without it, because it masks
/// byte by byte. A message that lies within one
/// read is handed over where it lies.
final class WebSocketFramer {
  enum Kind { case text, binary }

  /// Why no further message will be read.
  enum Ending: Equatable {
    /// The peer's close frame: its code, nil when it has none, and its reason.
    case closed(code: Int?, reason: String)
    /// A message beyond the limit; 1009 was queued.
    case tooLarge
    /// Text that is not UTF-8; 1007 was queued.
    case invalidText
    /// A compressed message that cannot be inflated; 1007 was queued.
    case invalidCompression
    /// A frame against the rules; 1002 was queued.
    case violation
    /// Pings whose answers the peer does not read.
    case pingFlood
  }

  /// Most bytes of answers to pings that wait for a peer that does not read them.
  static let pongLimit = 64 << 10
  /// RSV1, as libwslay counts the reserved bits.
  private static let compressedBit: UInt8 = 4
  /// Room for gathering that is kept from one message to the next.
  private static let keptCapacity = 64 << 10

  private var context: wslay_frame_context_ptr?
  private let output: SendQueue
  private let random: any RandomSource
  private let messageLimit: Int
  /// Nil when no compression was agreed on.
  private let compression: MessageCompression?
  private let onMessage: (Kind, RawSpan) -> Void
  /// The peer answered the last ping. Pongs that nobody asked for mean nothing (RFC 6455 section 5.5.3).
  var onPong: (() -> Void)?
  /// What the last ping carried; an older one's answer has another number.
  private var pingNumber: UInt64 = 0
  private var awaitsPong = false

  /// What `receive` was given, as far as libwslay has not fetched it.
  private var input = UnsafeRawBufferPointer(start: nil, count: 0)
  private var ending: Ending?
  /// Set once a close frame is queued: nothing is sent behind it.
  private var isClosing = false
  private var pongBytes = 0
  private var frame: Frame?
  private var message: Message?
  /// Bytes of a message, or of a control frame, that came in several pieces.
  private var gathered: [UInt8] = []
  private var gatheredControl: [UInt8] = []

  /// The frame whose payload is under way.
  private struct Frame {
    let opcode: UInt8
    let isFinal: Bool
    /// Bytes of payload still to come.
    var left: Int
    var isControl: Bool { opcode & 8 != 0 }
  }

  /// The message that its first frame began.
  private struct Message {
    let kind: Kind
    let isCompressed: Bool
    /// Sum of the announced lengths of its frames.
    var length = 0
  }

  /// `onMessage` hears each message within `receive`; the span is valid during the call.
  init(
    messageLimit: Int, random: any RandomSource, output: SendQueue, compression: MessageCompression? = nil,
    onMessage: @escaping (Kind, RawSpan) -> Void
  ) {
    self.messageLimit = messageLimit
    self.compression = compression
    self.random = random
    self.output = output
    self.onMessage = onMessage
    var callbacks = Self.makeCallbacks()
    guard wslay_frame_context_init(&context, &callbacks, Unmanaged.passUnretained(self).toOpaque()) == 0 else {
      fatalError("out of memory")
    }
  }

  deinit { wslay_frame_context_free(context) }

  /// Takes bytes from the peer. A non-nil result is final. The caller keeps this object alive meanwhile.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Ending? {
    input = bytes
    defer { input = UnsafeRawBufferPointer(start: nil, count: 0) }
    var piece = wslay_frame_iocb()
    while ending == nil {
      let result = wslay_frame_recv(context, &piece)
      if result == Int(WSLAY_ERR_WANT_READ.rawValue) { break }
      if result < 0 { fail(.violation) } else { take(piece) }
    }
    return ending
  }

  /// Queues a message; after a close frame it is dropped. `compress: false` sends it as it is in any case.
  func send(_ kind: Kind, _ body: RawSpan, compress: Bool = true) {
    guard !isClosing else { return }
    let opcode = kind == .text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME
    body.withUnsafeBytes { bytes in
      guard compress, let compression else { return write(opcode, bytes) }
      defer { compression.releaseDeflated() }
      guard let packed = compression.compress(bytes) else { return write(opcode, bytes) }
      write(opcode, packed, reserved: Self.compressedBit)
    }
  }

  /// The same for one long text in two parts, of which the second is not copied unless it is compressed.
  func send(text head: RawSpan, body: [UInt8], compress: Bool) {
    guard !isClosing else { return }
    guard compression == nil || !compress else {
      let text = head.withUnsafeBytes { $0 + body }
      return send(.text, text.span.bytes)
    }
    let mask = writeHead(WSLAY_TEXT_FRAME, length: head.byteCount + body.count)
    head.withUnsafeBytes { output.append($0, then: body, mask: mask) }
  }

  /// Queues a ping, whose answer `onPong` hears.
  func ping() {
    guard !isClosing else { return }
    pingNumber &+= 1
    awaitsPong = true
    withUnsafeBytes(of: pingNumber.bigEndian) { write(WSLAY_PING, $0) }
  }

  /// Queues a close frame and hands over no further message; the peer's own close frame is still recognised.
  func close(_ code: UInt16) {
    withUnsafeBytes(of: code.bigEndian) { close(echoing: $0) }
  }

  /// The queue was written out: what is left to be read by the peer is up to the peer.
  func outputDrained() { pongBytes = 0 }

  // MARK: - Incoming

  private func take(_ piece: wslay_frame_iocb) {
    if frame == nil {
      guard begin(piece) else { return }
    }
    guard var frame else { return }
    let bytes = UnsafeRawBufferPointer(start: piece.data, count: piece.data_length)
    frame.left -= bytes.count
    self.frame = frame.left > 0 ? frame : nil
    if frame.isControl { takeControl(frame, bytes) } else { takeData(frame, bytes) }
  }

  /// Checks a frame's head: false when it ended the conversation.
  private func begin(_ piece: wslay_frame_iocb) -> Bool {
    let frame = Frame(
      opcode: piece.opcode, isFinal: piece.fin != 0, left: Int(truncatingIfNeeded: piece.payload_length))
    let continues = UInt32(frame.opcode) == WSLAY_CONTINUATION_FRAME.rawValue
    let isAllowed = frame.isControl ? frame.opcode <= 10 : frame.opcode <= 2 && continues == (message != nil)
    // RFC 7692 section 6: the bit marks the first frame of a compressed message and nothing else.
    let isCompressed = piece.rsv == Self.compressedBit && compression != nil && !frame.isControl && !continues
    guard piece.mask == 0, piece.rsv == 0 || isCompressed, isAllowed, frame.left >= 0 else {
      fail(.violation)
      return false
    }
    if !frame.isControl {
      var message =
        message
        ?? Message(
          kind: UInt32(frame.opcode) == WSLAY_TEXT_FRAME.rawValue ? .text : .binary, isCompressed: isCompressed)
      guard frame.left <= lengthLimit(message) - message.length else {
        fail(.tooLarge)
        return false
      }
      message.length += frame.left
      self.message = message
    }
    self.frame = frame
    return true
  }

  /// What cannot be compressed becomes a little larger by trying.
  private func lengthLimit(_ message: Message) -> Int {
    message.isCompressed ? messageLimit + messageLimit >> 10 + 64 : messageLimit
  }

  private func takeData(_ frame: Frame, _ bytes: UnsafeRawBufferPointer) {
    guard let message else { return }
    let isComplete = frame.isFinal && frame.left == 0
    if isComplete { self.message = nil }
    guard !isClosing else { return }
    if isComplete, bytes.count == message.length { return deliver(message, bytes) }
    // The announced length is within the limit; memory that is not written to yet costs nothing.
    if gathered.isEmpty { gathered.reserveCapacity(message.length) }
    gathered.append(contentsOf: bytes)
    guard isComplete else { return }
    gathered.withUnsafeBytes { deliver(message, $0) }
    gathered.removeAll(keepingCapacity: gathered.capacity <= Self.keptCapacity)
  }

  private func deliver(_ message: Message, _ bytes: UnsafeRawBufferPointer) {
    guard message.isCompressed, let compression else { return deliver(message.kind, bytes) }
    switch compression.expand(bytes, limit: messageLimit) {
    case .message(let expanded): deliver(message.kind, expanded)
    case .tooLarge: fail(.tooLarge)
    case .garbage: fail(.invalidCompression)
    }
    compression.releaseInflated()
  }

  private func deliver(_ kind: Kind, _ bytes: UnsafeRawBufferPointer) {
    if kind == .text, !Self.isUTF8(bytes) { return fail(.invalidText) }
    onMessage(kind, bytes.bytes)
  }

  private func takeControl(_ frame: Frame, _ bytes: UnsafeRawBufferPointer) {
    gatheredControl.append(contentsOf: bytes)
    guard frame.left == 0 else { return }
    gatheredControl.withUnsafeBytes { payload in
      switch UInt32(frame.opcode) {
      case WSLAY_PING.rawValue: answerPing(payload)
      case WSLAY_PONG.rawValue: takePong(payload)
      case WSLAY_CONNECTION_CLOSE.rawValue: takeClose(payload)
      default: return
      }
    }
    gatheredControl.removeAll(keepingCapacity: true)
  }

  private func answerPing(_ payload: UnsafeRawBufferPointer) {
    guard !isClosing else { return }
    pongBytes += payload.count + 6
    if pongBytes > Self.pongLimit { ending = .pingFlood } else { write(WSLAY_PONG, payload) }
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
    guard Self.isUTF8(reason) else { return fail(.invalidText) }
    close(echoing: payload)
    ending = .closed(code: code, reason: String(decoding: reason, as: UTF8.self))
  }

  private func fail(_ ending: Ending) {
    self.ending = ending
    switch ending {
    case .tooLarge: close(1_009)
    case .invalidText, .invalidCompression: close(1_007)
    case .violation: close(1_002)
    case .closed, .pingFlood: return
    }
  }

  private static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.withMemoryRebound(to: UInt8.self) { (try? UTF8Span(validating: $0.span)) != nil }
  }

  // MARK: - Outgoing

  private func close(echoing payload: UnsafeRawBufferPointer) {
    guard !isClosing else { return }
    write(WSLAY_CONNECTION_CLOSE, payload)
    isClosing = true
  }

  /// The queue takes everything, so that a frame is never left half written.
  private func write(_ opcode: wslay_opcode, _ payload: UnsafeRawBufferPointer, reserved: UInt8 = 0) {
    output.append(payload, mask: writeHead(opcode, length: payload.count, reserved: reserved))
  }

  /// Queues a frame's head. The mask of what has to follow.
  private func writeHead(_ opcode: wslay_opcode, length: Int, reserved: UInt8 = 0) -> UInt32 {
    let mask = UInt32(truncatingIfNeeded: random.bits())
    let head = FrameHead(
      opcode: UInt8(truncatingIfNeeded: opcode.rawValue), reserved: reserved, length: length, mask: mask)
    head.withBytes { output.append($0) }
    return mask
  }

  // MARK: - What libwslay asks for

  private func fetch(_ buffer: UnsafeMutablePointer<UInt8>?, _ capacity: Int) -> Int {
    guard let buffer, let from = input.baseAddress, !input.isEmpty else { return 0 }
    let count = min(capacity, input.count)
    memcpy(buffer, from, count)
    input = UnsafeRawBufferPointer(rebasing: input[count...])
    return count
  }

  private static func of(_ pointer: UnsafeMutableRawPointer?) -> WebSocketFramer? {
    pointer.map { Unmanaged<WebSocketFramer>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func makeCallbacks() -> wslay_frame_callbacks {
    var callbacks = wslay_frame_callbacks()
    callbacks.recv_callback = { buffer, capacity, _, me in
      guard let count = WebSocketFramer.of(me)?.fetch(buffer, capacity), count > 0 else { return -1 }
      return count
    }
    return callbacks
  }
}
