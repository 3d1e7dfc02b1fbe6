import Glibc

/// The stream socket to the daemon: non-blocking, lines of bytes in both directions.
final class SocketConnection {
  /// -1 while closed.
  private(set) var descriptor: Int32 = -1
  private var outgoing: [UInt8] = []
  private var incoming: [UInt8] = []
  /// Bytes of `incoming` that were searched for a line feed already.
  private var searched = 0
  private var chunk = [UInt8](repeating: 0, count: 64 * 1024)

  /// A longer line can only come from something that is not the daemon, whose own limit is far below.
  static let lineLimit = 256 << 20
  /// Bytes taken in before the lines among them are handed out.
  private static let batchLimit = 1 << 20

  deinit { close() }

  var isOpen: Bool { descriptor >= 0 }
  var hasUnsentBytes: Bool { !outgoing.isEmpty }
  /// What to wait for with `poll(2)`.
  var interest: Int16 { Int16(POLLIN) | (hasUnsentBytes ? Int16(POLLOUT) : 0) }

  /// One attempt, which never blocks. Returns 0 or the error number.
  func open(_ path: String) -> Int32 {
    close()
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let socket = socket(AF_UNIX, type, 0)
    guard socket >= 0 else { return errno }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(SocketPath.longest)) }
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

  func close() {
    if descriptor >= 0 { _ = Glibc.close(descriptor) }
    descriptor = -1
    outgoing = []
    incoming = []
    searched = 0
  }

  /// Adds bytes to what `write` will send.
  func queue(_ bytes: [UInt8]) { outgoing += bytes }

  /// Sends what the socket takes now. A loss is found by `read`, behind what the daemon still had to say.
  func write() {
    var sent = 0
    while isOpen, sent < outgoing.count {
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

  /// Reads what is there and hands out each whole line, without its end. Returns false at the end of the connection.
  func read(_ line: ([UInt8]) throws(Failure) -> Void) throws(Failure) -> Bool {
    var taken = 0
    var goesOn = isOpen
    while goesOn, taken < Self.batchLimit {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { break }
      guard count > 0 else {
        goesOn = false
        break
      }
      incoming += chunk[..<count]
      taken += count
    }
    try handOut(line)
    return goesOn
  }

  private func handOut(_ line: ([UInt8]) throws(Failure) -> Void) throws(Failure) {
    var start = 0
    while let end = lineFeed(from: max(start, searched)) {
      let last = end > start && incoming[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
      try line(Array(incoming[start..<last]))
      start = end + 1
    }
    incoming.removeFirst(start)
    searched = incoming.count
    guard incoming.count <= Self.lineLimit else {
      throw Failure(.protocolMismatch, "the daemon sent a line without end; is this the socket of gatewayd?")
    }
  }

  private func lineFeed(from start: Int) -> Int? {
    guard start < incoming.count else { return nil }
    return incoming.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress, let found = memchr(base + start, 0x0a, bytes.count - start) else {
        return nil
      }
      return UnsafeRawPointer(found) - base
    }
  }
}
