import Glibc

@testable import gatewayd

/// What tests need of raw descriptors and threads.
enum Descriptors {
  /// Two connected, non-blocking sockets.
  static func pair() throws -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemError("make a socket pair") }
    return (ends[0], ends[1])
  }

  /// A socket of datagrams for a Unix-domain address, such as the one that hears what a service tells.
  static func datagramSocket() -> Int32 {
    socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  static func write(_ descriptor: Int32, _ text: String) {
    _ = Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }

  static func drain(_ descriptor: Int32) {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while read(descriptor, &buffer, buffer.count) > 0 {}
  }

  static func close(_ pair: (Int32, Int32)) {
    Glibc.close(pair.0)
    Glibc.close(pair.1)
  }

  /// What the test program has open: thousands where all tests run at once.
  private static var open: [Int32] {
    ((try? FolderNames.list("/proc/self/fd")) ?? []).compactMap { Int32($0) }.filter { fcntl($0, F_GETFD) >= 0 }
  }

  /// How many descriptors the test program has open.
  static func openCount() -> Int { open.count }

  /// Milliseconds that the kernel keeps what the server of that port on 127.0.0.1 does not acknowledge, as the socket of
  /// this program that is connected to it says; nil without one.
  static func unacknowledgedLimit(to port: UInt16) -> Int64? {
    for descriptor in open {
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
      }
      guard result == 0, address.sin_family == sa_family_t(AF_INET), address.sin_port == port.bigEndian else {
        continue
      }
      var limit: UInt32 = 0
      var size = socklen_t(MemoryLayout<UInt32>.size)
      return getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, &size) == 0 ? Int64(limit) : nil
    }
    return nil
  }

  /// Runs `body` on a thread of its own that the test does not wait for.
  static func thread(_ body: @escaping @Sendable () -> Void) throws {
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Body(body))
    let result = pthread_create(
      &thread, nil,
      { pointer in
        pointer.map { Unmanaged<Body>.fromOpaque($0).takeRetainedValue().run() }
        return nil
      }, box.toOpaque())
    guard result == 0 else {
      box.release()
      throw SystemError("start a thread", code: result)
    }
    pthread_detach(thread)
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
