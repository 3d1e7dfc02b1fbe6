import CLinux
import Glibc

/// System calls on Unix stream sockets, with Swift types. All descriptors are close-on-exec and non-blocking from
/// birth.
enum UnixSocket {
  /// Longest path that fits into a socket address with its end mark, in bytes.
  static let pathLimit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// A fresh stream socket.
  static func make() throws(SystemError) -> Int32 {
    let socket = gw_unix_socket()
    guard socket >= 0 else { throw SystemError("make a socket") }
    return socket
  }

  /// Gives the socket its name. The path must be within `pathLimit`.
  static func bind(_ socket: Int32, to path: String) throws(SystemError) {
    guard withAddress(path, { Glibc.bind(socket, $0, $1) }) == 0 else {
      throw SystemError("bind a socket to \(path)")
    }
  }

  /// Lets clients connect, with as long a backlog as the kernel grants.
  static func listen(_ socket: Int32) throws(SystemError) {
    guard Glibc.listen(socket, 4_096) == 0 else { throw SystemError("listen on a socket") }
  }

  /// What a client would meet at a path.
  enum Listener: Equatable {
    /// A program accepts connections, or would if the backlog were not full.
    case alive
    /// The file is left over: no program listens behind it.
    case dead
    /// There is no file.
    case absent
    /// It cannot be told, such as without the right to connect.
    case unknown(SystemError)
  }

  /// Connects and hangs up at once.
  static func probe(_ path: String) -> Listener {
    let socket: Int32
    do { socket = try make() } catch { return .unknown(error) }
    defer { close(socket) }
    if withAddress(path, { connect(socket, $0, $1) }) == 0 { return .alive }
    switch errno {
    case EAGAIN, EPROTOTYPE: return .alive
    case ECONNREFUSED: return .dead
    case ENOENT: return .absent
    default: return .unknown(SystemError("connect to \(path)"))
    }
  }

  private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(pathLimit)) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
