import GatewayCore
import Glibc

/// The stream socket to the daemon: non-blocking, lines of bytes in both directions.
final class SocketConnection {
  /// -1 while closed.
  private(set) var descriptor: Int32 = -1
  private var outgoing: [UInt8] = []
  private var incoming = LineBuffer(limit: lineLimit)
  /// Small until a read fills it: most answers are short, and memory that a short run touches is time.
  private var chunk = [UInt8](repeating: 0, count: 4 * 1024)

  /// A longer line can only come from something that is not the daemon, whose own limit is far below.
  static let lineLimit = 256 << 20
  /// The size of `chunk` where much is read.
  private static let largeChunk = 64 * 1024
  /// Bytes taken in at most before something else is looked at.
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
    incoming = LineBuffer(limit: Self.lineLimit)
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
    while isOpen, taken < Self.batchLimit {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { break }
      guard count > 0 else { return false }
      taken += count
      try handOut(chunk[..<count], line)
      if count == chunk.count, count < Self.largeChunk { chunk = [UInt8](repeating: 0, count: Self.largeChunk) }
    }
    return isOpen
  }

  /// The lines that end in these bytes.
  private func handOut(_ bytes: ArraySlice<UInt8>, _ line: ([UInt8]) throws(Failure) -> Void) throws(Failure) {
    var lines: [[UInt8]] = []
    var isTooLong = false
    do {
      try incoming.append(bytes.span.bytes) { text in lines.append(text.withUnsafeBytes { Array($0) }) }
    } catch {
      isTooLong = true
    }
    for found in lines { try line(found) }
    guard !isTooLong else {
      throw Failure(.protocolMismatch, "the daemon sent a line without end; is this the socket of gatewayd?")
    }
  }
}

/// Explains why a socket cannot be opened.
enum SocketAccess {
  /// Something else has the path, such as a file or a directory.
  static func isNoSocket(_ path: String) -> Bool {
    var facts = stat()
    return stat(path, &facts) == 0 && facts.st_mode & S_IFMT != S_IFSOCK
  }

  static func denied(_ path: String) -> Failure {
    Failure(.permissionDenied, "permission denied for \(path); \(advice(path))")
  }

  private static func advice(_ path: String) -> String {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return "a directory above it is closed to you" }
    return advice(mode: facts.st_mode, group: facts.st_gid)
  }

  /// The same for a socket of that mode and group. No user is sent into the group of root.
  static func advice(mode: mode_t, group: gid_t) -> String {
    guard mode & S_IWGRP != 0 else { return "only its owner may use it" }
    guard group != 0 else {
      return "its group is that of root: use sudo, or name another group in socket.group of the daemon's configuration"
    }
    guard let name = name(ofGroup: group) else { return "it is open to group \(group)" }
    return "it is open to group '\(name)': join with 'adduser USER \(name)' and log in again"
  }

  /// As `/etc/group` has it, each line of which is `name:password:number:members`. The C library's own look-up would
  /// need shared libraries.
  private static func name(ofGroup wanted: gid_t) -> String? {
    guard let file = fopen("/etc/group", "re") else { return nil }
    defer { fclose(file) }
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    while getline(&line, &capacity, file) > 0, let line {
      let fields = String(cString: line).split(separator: ":", omittingEmptySubsequences: false)
      if fields.count > 2, gid_t(fields[2]) == wanted { return String(fields[0]) }
    }
    return nil
  }
}
