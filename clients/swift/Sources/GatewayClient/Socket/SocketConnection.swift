import Glibc

/// A stream socket to the daemon: non-blocking, lines of bytes in both directions.
struct SocketConnection {
  /// What came of a look at the socket.
  enum Reading {
    case lines([[UInt8]])
    /// These were the last ones.
    case closed([[UInt8]])
    /// A line without end came behind these.
    case overflow([[UInt8]])
  }

  /// -1 while closed.
  private(set) var descriptor: Int32 = -1
  private var outgoing: [UInt8] = []
  private var incoming = LineSplitter()
  private var chunk = [UInt8](repeating: 0, count: 64 << 10)

  /// A longer line can only come from something that is not the daemon, whose own limit is far below.
  static let lineLimit = 256 << 20
  /// Bytes taken in at most before something else is looked at.
  private static let batchLimit = 1 << 20

  var hasUnsentBytes: Bool { !outgoing.isEmpty }

  /// One attempt, which never blocks. Returns 0 or the error number.
  mutating func open(_ path: String) -> Int32 {
    close()
    guard path.utf8.count <= SocketPath.longest else { return ENAMETOOLONG }
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let socket = socket(AF_UNIX, type, 0)
    guard socket >= 0 else { return errno }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else {
      let reason = errno
      _ = Glibc.close(socket)
      return reason
    }
    descriptor = socket
    return 0
  }

  mutating func close() {
    if descriptor >= 0 { _ = Glibc.close(descriptor) }
    descriptor = -1
    outgoing = []
    incoming = LineSplitter()
  }

  /// Sends bytes behind those that wait already, as far as the socket takes them now.
  mutating func write(_ bytes: [UInt8]) {
    guard descriptor >= 0 else { return }
    outgoing += bytes
    flush()
  }

  /// Sends what the socket takes now. A loss is found by `read`, behind what the daemon still had to say.
  mutating func flush() {
    var sent = 0
    while sent < outgoing.count {
      let count = outgoing.withUnsafeBytes { bytes in
        send(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno != EAGAIN { sent = outgoing.count }
      guard count > 0 else { break }
      sent += count
    }
    outgoing.removeFirst(min(sent, outgoing.count))
  }

  /// Reads what is there.
  mutating func read() -> Reading {
    var lines: [[UInt8]] = []
    var taken = 0
    while descriptor >= 0, taken < Self.batchLimit {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { break }
      guard count > 0 else { return .closed(lines) }
      taken += count
      chunk.withUnsafeBytes { incoming.take($0.prefix(count), into: &lines) }
      guard incoming.unfinished <= Self.lineLimit else { return .overflow(lines) }
    }
    return .lines(lines)
  }
}
