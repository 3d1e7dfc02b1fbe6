import CLinux
import GatewayCore
import Glibc

/// System calls on the sockets of local clients, with Swift types.
enum LocalSocket {
  /// The program that connected, as the kernel recorded it.
  static func credentials(of socket: Int32) throws(SystemError) -> PeerCredentials {
    var peer = PeerCredentials(pid: 0, uid: 0, gid: 0, groups: [])
    guard gw_peer_credentials(socket, &peer.pid, &peer.uid, &peer.gid) == 0 else {
      throw SystemError("learn who a local client is")
    }
    peer.groups = try groups(of: socket)
    return peer
  }

  private static func groups(of socket: Int32) throws(SystemError) -> [UInt32] {
    var room = 32
    while true {
      let (count, groups) = withUnsafeTemporaryAllocation(of: gid_t.self, capacity: room) { buffer in
        let count = Int(gw_peer_groups(socket, buffer.baseAddress, Int32(buffer.count)))
        return (count, count > 0 && count <= room ? Array(buffer.prefix(count)) : [])
      }
      guard count >= 0 else { throw SystemError("learn a local client's groups") }
      if count <= room { return groups }
      room = count
    }
  }

  /// By what the kernel tells the socket from all others, in whichever process it is.
  static func number(of socket: Int32) throws(SystemError) -> UInt64 {
    var number: UInt64 = 0
    guard gw_socket_cookie(socket, &number) == 0 else { throw SystemError("tell a local client's socket from others") }
    return number
  }

  /// What became of a read or a write.
  enum Transfer: Equatable {
    case moved(Int)
    /// The kernel has nothing, or no room.
    case wouldBlock
    /// The other side shut this direction; only for a read.
    case ended
    /// The connection is broken.
    case broken
  }

  /// Reads what is there, once.
  static func read(_ socket: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    let count = gw_receive(socket, buffer.baseAddress, buffer.count)
    return count == 0 ? .ended : transfer(count)
  }

  /// Writes what the kernel takes, once.
  static func write(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
    transfer(gw_send(socket, bytes.baseAddress, bytes.count))
  }

  /// Whether the client has closed its end for good, rather than only its sending direction.
  static func isHungUp(_ socket: Int32) -> Bool {
    var state = pollfd(fd: socket, events: 0, revents: 0)
    return poll(&state, 1, 0) == 1 && state.revents & Int16(POLLHUP | POLLERR) != 0
  }

  /// Tells the client that nothing more will come.
  static func endOutput(_ socket: Int32) { _ = shutdown(socket, Int32(SHUT_WR)) }

  private static func transfer(_ count: Int) -> Transfer {
    if count >= 0 { return .moved(count) }
    switch errno {
    case EAGAIN, EINTR, ENOBUFS, ENOMEM: return .wouldBlock
    default: return .broken
    }
  }
}
