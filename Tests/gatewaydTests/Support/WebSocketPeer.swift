import CTLS
import Glibc

@testable import gatewayd

/// A server on 127.0.0.1 whose every connection runs one script, on a thread of its own, with blocking calls that give
/// up after some seconds. A script that throws simply ends its connection.
final class WebSocketPeer: Sendable {
  struct Gone: Error {}

  let port: UInt16
  /// What scripts have noted, in order.
  private let notes: Notes
  private let listener: Int32

  init(tls: WebSocketPeerTLS? = nil, _ script: @escaping @Sendable (WebSocketPeer, Connection) throws -> Void) throws {
    notes = try Notes()
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 64) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    guard result else { throw SystemError("listen") }
    port = UInt16(bigEndian: address.sin_port)
    self.listener = listener
    try Descriptors.thread { [weak self] in
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else {
          guard errno == EINVAL else { continue }
          // It was shut down. Closed any earlier, its number might be another peer's by now.
          Glibc.close(listener)
          return
        }
        guard let self else {
          Glibc.close(descriptor)
          continue
        }
        try? Descriptors.thread {
          defer { Glibc.close(descriptor) }
          guard let connection = Connection(descriptor, tls: tls) else { return self.note("TLS failed") }
          try? script(self, connection)
        }
      }
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  func note(_ text: String) { notes.box.post(text) }
  /// To be asked for by one thread only.
  var noted: [String] { notes.all() }

  private final class Notes: @unchecked Sendable {
    let box: Mailbox<String>
    private var collected: [String] = []

    init() throws { box = try Mailbox() }

    func all() -> [String] {
      collected += box.collect()
      return collected
    }
  }

  /// One connection, as a script sees it.
  final class Connection {
    struct Frame: Equatable {
      var opcode: UInt8
      var isFinal = true
      var payload: [UInt8]
      var text: String { String(decoding: payload, as: UTF8.self) }
      var closeCode: Int { payload.count < 2 ? 0 : Int(payload[0]) << 8 | Int(payload[1]) }
    }

    private let descriptor: Int32
    private let ssl: OpaquePointer?
    /// What the client asked, once `upgrade` has run.
    private(set) var requestHead = ""

    fileprivate init?(_ descriptor: Int32, tls: WebSocketPeerTLS?) {
      self.descriptor = descriptor
      var limit = timeval(tv_sec: 60, tv_usec: 0)
      for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
      }
      guard let tls else {
        ssl = nil
        return
      }
      guard let ssl = tls.accept(descriptor) else { return nil }
      self.ssl = ssl
    }

    deinit { SSL_free(ssl) }

    func write(_ bytes: [UInt8]) throws {
      try bytes.withUnsafeBytes { bytes in
        var rest = bytes[...]
        while !rest.isEmpty {
          let piece = UnsafeRawBufferPointer(rebasing: rest)
          let count =
            ssl == nil
            ? Glibc.send(descriptor, piece.baseAddress, piece.count, Int32(MSG_NOSIGNAL))
            : Int(SSL_write(ssl, piece.baseAddress, Int32(piece.count)))
          guard count > 0 else { throw Gone() }
          rest = rest.dropFirst(count)
        }
      }
    }

    func write(_ text: String) throws { try write([UInt8](text.utf8)) }

    func read(_ count: Int) throws -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: count)
      try bytes.withUnsafeMutableBytes { bytes in
        var rest = bytes[...]
        while !rest.isEmpty {
          let piece = UnsafeMutableRawBufferPointer(rebasing: rest)
          let got =
            ssl == nil
            ? Glibc.read(descriptor, piece.baseAddress, piece.count)
            : Int(SSL_read(ssl, piece.baseAddress, Int32(piece.count)))
          guard got > 0 else { throw Gone() }
          rest = rest.dropFirst(got)
        }
      }
      return bytes
    }

    func readHead() throws -> String {
      var bytes: [UInt8] = []
      while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) { bytes += try read(1) }
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Agrees to the WebSocket handshake; `behind` follows the head in the same packet.
    func upgrade(behind: [UInt8] = []) throws {
      requestHead = try readHead()
      let key = requestHead.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }?.dropFirst(19)
      let accept = WebSocketKey(text: String(key ?? "")).expectedAccept
      let head =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: \(accept)\r\n\r\n"
      try write([UInt8](head.utf8) + behind)
    }

    func readFrame() throws -> Frame {
      let head = try read(2)
      var length = Int(head[1] & 0x7f)
      if length == 126 { length = try read(2).reduce(0) { $0 << 8 | Int($1) } }
      if length == 127 { length = try read(8).reduce(0) { $0 << 8 | Int($1) } }
      let mask = head[1] & 0x80 != 0 ? try read(4) : [0, 0, 0, 0]
      var payload = try read(length)
      payload.withUnsafeMutableBytes { payload in
        let masks = mask.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        for offset in stride(from: 0, to: payload.count & ~3, by: 4) {
          payload.storeBytes(
            of: payload.loadUnaligned(fromByteOffset: offset, as: UInt32.self) ^ masks, toByteOffset: offset,
            as: UInt32.self)
        }
        for offset in (payload.count & ~3)..<payload.count { payload[offset] ^= mask[offset & 3] }
      }
      return Frame(opcode: head[0] & 15, isFinal: head[0] & 0x80 != 0, payload: payload)
    }

    /// The next frame that is no ping.
    func readMessage() throws -> Frame {
      while true {
        let frame = try readFrame()
        if frame.opcode != 9 { return frame }
      }
    }

    func send(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) throws {
      try write(Self.frame(opcode, payload, isFinal: isFinal))
    }

    func send(text: String) throws { try send(1, [UInt8](text.utf8)) }

    func sendClose(_ code: Int, _ reason: String = "") throws {
      try send(8, [UInt8(code >> 8), UInt8(code & 255)] + reason.utf8)
    }

    /// Says that nothing more will be written.
    func finish() {
      if ssl == nil { shutdown(descriptor, Int32(SHUT_WR)) } else { SSL_shutdown(ssl) }
    }

    /// Waits until the client has hung up.
    func awaitEnd() { while (try? read(1)) != nil {} }

    /// Whether the client has hung up and nothing it sent is unread.
    var hasHungUp: Bool {
      var byte: UInt8 = 0
      return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
    }

    /// What the client's kernel has not taken yet.
    var undeliveredBytes: Int {
      var count: Int32 = 0
      return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : .max / 2
    }

    /// Makes the coming close a reset.
    func closeWithReset() {
      var now = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    /// An unmasked frame, as servers send it.
    static func frame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) -> [UInt8] {
      let first = opcode | (isFinal ? 0x80 : 0)
      switch payload.count {
      case ..<126: return [first, UInt8(payload.count)] + payload
      case ..<65_536: return [first, 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)] + payload
      default:
        let length = (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        return [first, 127] + length + payload
      }
    }
  }
}
