import CLinux
import Glibc

/// One epoll set. Its own descriptor can be watched by another one: readable while a member is ready. Level-triggered.
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

  /// What a member is called in errors.
  private let member: String

  /// `member` is what a member is called in errors.
  init(of member: String) throws(SystemError) {
    self.member = member
    descriptor = gw_epoll_make()
    guard descriptor >= 0 else { throw SystemError("make an epoll set") }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
    events.deallocate()
  }

  /// Begins to watch a descriptor.
  func add(_ descriptor: Int32, _ interest: Readiness, tag: UInt64) throws(SystemError) {
    guard gw_epoll_add(self.descriptor, descriptor, interest.rawValue, tag) == 0 else {
      throw SystemError("watch \(member)")
    }
  }

  /// Changes what a member is watched for.
  func modify(_ descriptor: Int32, _ interest: Readiness, tag: UInt64) throws(SystemError) {
    guard gw_epoll_modify(self.descriptor, descriptor, interest.rawValue, tag) == 0 else {
      throw SystemError("watch \(member)")
    }
  }

  /// Stops watching; to be called before the descriptor is closed.
  func remove(_ descriptor: Int32) {
    // It fails only for a descriptor that is no member, which is what is wanted.
    _ = gw_epoll_remove(self.descriptor, descriptor)
  }

  /// Hands out what is ready now, without sleeping.
  func wait(_ body: (_ tag: UInt64, Readiness) -> Void) {
    let count = gw_epoll_wait(descriptor, events.baseAddress, Int32(Self.batchLimit), 0)
    guard count > 0 else { return }
    for index in 0..<Int(count) {
      body(events[index].tag, Readiness(rawValue: events[index].readiness))
    }
  }

  /// The same after a sleep until something is ready, of at most so many milliseconds; -1 is without limit. A signal that
  /// is not blocked ends the sleep. `body` says whether it wants the next one; what it does not take comes again.
  func sleep(milliseconds: Int32, _ body: (_ tag: UInt64, Readiness) -> Bool) throws(SystemError) {
    let count = gw_epoll_wait(descriptor, events.baseAddress, Int32(Self.batchLimit), milliseconds)
    guard count >= 0 else {
      if errno == EINTR { return }
      throw SystemError("wait for something to happen")
    }
    for index in 0..<Int(count) {
      guard body(events[index].tag, Readiness(rawValue: events[index].readiness)) else { return }
    }
  }
}
