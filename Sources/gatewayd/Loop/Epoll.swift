import CLinux
import Glibc

/// One epoll set whose own descriptor can be watched by another loop: readable while a member is ready. Level-triggered.
final class Epoll {
  /// What a member is watched for, or ready for.
  struct Readiness: OptionSet {
    let rawValue: UInt32
    static let readable = Readiness(rawValue: GW_READABLE)
    static let writable = Readiness(rawValue: GW_WRITABLE)
    /// Both directions are shut; always reported.
    static let hungUp = Readiness(rawValue: GW_HUNG_UP)
    /// Always reported.
    static let failed = Readiness(rawValue: GW_FAILED)
  }

  /// Most members handed out by one `wait`.
  static let batchLimit = 256

  let descriptor: Int32
  private let events = UnsafeMutableBufferPointer<gw_ready>.allocate(capacity: batchLimit)

  init() throws(SystemError) {
    descriptor = gw_epoll_make()
    guard descriptor >= 0 else { throw SystemError("make an epoll set") }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
    events.deallocate()
  }

  /// Begins to watch a descriptor.
  func add(_ member: Int32, _ interest: Readiness, tag: UInt64) throws(SystemError) {
    guard gw_epoll_add(descriptor, member, interest.rawValue, tag) == 0 else {
      throw SystemError("watch a local client")
    }
  }

  /// Changes what a member is watched for.
  func modify(_ member: Int32, _ interest: Readiness, tag: UInt64) throws(SystemError) {
    guard gw_epoll_modify(descriptor, member, interest.rawValue, tag) == 0 else {
      throw SystemError("watch a local client")
    }
  }

  /// Stops watching; to be called before the descriptor is closed.
  func remove(_ member: Int32) {
    // It fails only for a descriptor that is no member, which is what is wanted.
    _ = gw_epoll_remove(descriptor, member)
  }

  /// Hands out what is ready now, without sleeping.
  func wait(_ body: (_ tag: UInt64, Readiness) -> Void) {
    let count = gw_epoll_poll(descriptor, events.baseAddress, Int32(Self.batchLimit))
    guard count > 0 else { return }
    for index in 0..<Int(count) {
      body(events[index].tag, Readiness(rawValue: events[index].readiness))
    }
  }
}
