import CWslay
import GatewayCore
import Glibc

/// The client's side of the WebSocket framing (RFC 6455 sections 5 to 7), by libwslay and without input or output:
/// bytes in, messages out; messages in, bytes at the end of a `SendQueue`. Pings and the peer's close frame are answered.
///
/// libwslay works unbuffered: a message within one read is handed over where it lies, a longer one is gathered here, so
/// that its size and not the number of its fragments bounds the memory.
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
    /// A frame against the rules; 1002 was queued.
    case violation
    /// Pings whose answers the peer does not read.
    case pingFlood
  }

  /// Most bytes of answers to pings that wait for a peer that does not read them.
  static let pongLimit = 64 << 10
  /// Room for gathering that is kept from one message to the next.
  private static let keptCapacity = 64 << 10

  private var context: wslay_event_context_ptr?
  private let output: SendQueue
  private let random: any RandomSource
  private let messageLimit: Int
  private let onMessage: (Kind, RawSpan) -> Void

  /// What `receive` was given, as far as libwslay has not fetched it.
  private var input = UnsafeRawBufferPointer(start: nil, count: 0)
  private var ending: Ending?
  private var isMuted = false
  private var pongBytes = 0
  private var message = Message()

  /// A message in the making.
  private struct Message {
    var kind = Kind.binary
    /// Sum of the announced lengths of its frames.
    var length = 0
    /// The last frame is under way or over.
    var isLast = false
    /// The present frame is a control frame, which is not part of the message.
    var isInterrupted = false
    var gathered: [UInt8] = []
    /// The whole message, where libwslay holds it.
    var inPlace: UnsafeRawBufferPointer?
  }

  /// `onMessage` hears each message within `receive`; the span is valid during the call.
  init(messageLimit: Int, random: any RandomSource, output: SendQueue, onMessage: @escaping (Kind, RawSpan) -> Void) {
    self.messageLimit = messageLimit
    self.random = random
    self.output = output
    self.onMessage = onMessage
    var callbacks = Self.makeCallbacks()
    guard wslay_event_context_client_init(&context, &callbacks, Unmanaged.passUnretained(self).toOpaque()) == 0 else {
      fatalError("out of memory")
    }
    wslay_event_config_set_no_buffering(context, 1)
  }

  deinit { wslay_event_context_free(context) }

  /// Takes bytes from the peer. A non-nil result is final. The caller keeps this object alive meanwhile.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Ending? {
    if let ending { return ending }
    input = bytes
    let result = wslay_event_recv(context)
    input = UnsafeRawBufferPointer(start: nil, count: 0)
    write()
    if ending == nil, result != 0 || (!isMuted && wslay_event_get_read_enabled(context) == 0) { ending = ownEnding() }
    return ending
  }

  /// Queues a message. After a close frame nothing more is queued.
  func send(_ kind: Kind, _ body: RawSpan) {
    body.withUnsafeBytes { bytes in
      let opcode = kind == .text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME
      var message = wslay_event_msg(
        opcode: UInt8(opcode.rawValue), msg: bytes.bindMemory(to: UInt8.self).baseAddress, msg_length: bytes.count)
      wslay_event_queue_msg(context, &message)
    }
    write()
  }

  /// Queues a close frame and hands over no further message; the peer's own close frame is still recognised.
  func close(_ code: UInt16) {
    isMuted = true
    wslay_event_queue_close(context, code, nil, 0)
    write()
  }

  /// The queue was written out: what is left to be read by the peer is up to the peer.
  func outputDrained() { pongBytes = 0 }

  private func write() {
    // The queue takes everything, so that this cannot be left half done.
    if wslay_event_want_write(context) != 0 { wslay_event_send(context) }
  }

  /// Why libwslay stopped reading, by the code of the close frame that it queued.
  private func ownEnding() -> Ending {
    switch UInt32(wslay_event_get_status_code_sent(context)) {
    case WSLAY_CODE_INVALID_FRAME_PAYLOAD_DATA.rawValue: .invalidText
    case WSLAY_CODE_MESSAGE_TOO_BIG.rawValue: .tooLarge
    default: .violation
    }
  }

  private func stop(_ ending: Ending) {
    if self.ending == nil { self.ending = ending }
    wslay_event_shutdown_read(context)
  }

  // MARK: - What libwslay asks for

  private func fetch(_ buffer: UnsafeMutablePointer<UInt8>?, _ capacity: Int) -> Int {
    guard let buffer, let from = input.baseAddress, !input.isEmpty else { return 0 }
    let count = min(capacity, input.count)
    memcpy(buffer, from, count)
    input = UnsafeRawBufferPointer(rebasing: input[count...])
    return count
  }

  private func frameStarted(_ frame: wslay_event_on_frame_recv_start_arg) {
    message.isInterrupted = frame.opcode & 8 != 0
    guard !message.isInterrupted else { return }
    if frame.opcode != WSLAY_CONTINUATION_FRAME.rawValue {
      message.kind = frame.opcode == WSLAY_TEXT_FRAME.rawValue ? .text : .binary
    }
    guard frame.payload_length <= UInt64(messageLimit - message.length) else {
      wslay_event_queue_close(context, UInt16(WSLAY_CODE_MESSAGE_TOO_BIG.rawValue), nil, 0)
      return stop(.tooLarge)
    }
    message.length += Int(frame.payload_length)
    message.isLast = frame.fin != 0
  }

  private func frameContinued(_ bytes: UnsafeRawBufferPointer) {
    guard !message.isInterrupted, !isMuted, ending == nil, !bytes.isEmpty else { return }
    if message.isLast, bytes.count == message.length {
      message.inPlace = bytes
    } else {
      message.gathered.append(contentsOf: bytes)
    }
  }

  private func frameEnded() {
    guard !message.isInterrupted, message.isLast else { return }
    defer { forgetMessage() }
    guard !isMuted, ending == nil else { return }
    if let inPlace = message.inPlace {
      onMessage(message.kind, inPlace.bytes)
    } else {
      onMessage(message.kind, message.gathered.span.bytes)
    }
  }

  private func forgetMessage() {
    message.length = 0
    message.isLast = false
    message.inPlace = nil
    message.gathered.removeAll(keepingCapacity: message.gathered.capacity <= Self.keptCapacity)
  }

  private func controlReceived(_ frame: wslay_event_on_msg_recv_arg) {
    switch UInt32(frame.opcode) {
    case WSLAY_PING.rawValue:
      pongBytes += frame.msg_length + 6
      if pongBytes > Self.pongLimit { stop(.pingFlood) }
    case WSLAY_CONNECTION_CLOSE.rawValue:
      let text = UnsafeBufferPointer(start: frame.msg, count: frame.msg_length).dropFirst(2)
      let code = frame.status_code == 0 ? nil : Int(frame.status_code)
      if ending == nil { ending = .closed(code: code, reason: String(decoding: text, as: UTF8.self)) }
    default: return
    }
  }

  private func mask(_ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int) {
    guard let buffer else { return }
    withUnsafeBytes(of: random.bits()) { bits in
      for index in 0..<count { buffer[index] = bits[index & 7] }
    }
  }

  private static func of(_ pointer: UnsafeMutableRawPointer?) -> WebSocketFramer? {
    pointer.map { Unmanaged<WebSocketFramer>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func makeCallbacks() -> wslay_event_callbacks {
    var callbacks = wslay_event_callbacks()
    callbacks.recv_callback = { context, buffer, capacity, _, me in
      guard let count = WebSocketFramer.of(me)?.fetch(buffer, capacity), count > 0 else {
        wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK.rawValue)
        return -1
      }
      return count
    }
    callbacks.send_callback = { _, bytes, count, _, me in
      WebSocketFramer.of(me)?.output.append(UnsafeRawBufferPointer(start: bytes, count: count))
      return count
    }
    callbacks.genmask_callback = { _, buffer, count, me in
      WebSocketFramer.of(me)?.mask(buffer, count)
      return 0
    }
    callbacks.on_frame_recv_start_callback = { _, frame, me in
      if let frame { WebSocketFramer.of(me)?.frameStarted(frame.pointee) }
    }
    callbacks.on_frame_recv_chunk_callback = { _, chunk, me in
      if let chunk {
        WebSocketFramer.of(me)?.frameContinued(
          UnsafeRawBufferPointer(start: chunk.pointee.data, count: chunk.pointee.data_length))
      }
    }
    callbacks.on_frame_recv_end_callback = { _, me in WebSocketFramer.of(me)?.frameEnded() }
    callbacks.on_msg_recv_callback = { _, frame, me in
      if let frame { WebSocketFramer.of(me)?.controlReceived(frame.pointee) }
    }
    return callbacks
  }
}
