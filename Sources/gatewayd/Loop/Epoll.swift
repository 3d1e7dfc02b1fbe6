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

  /// Hands out what is ready now, without sleeping: at most `limit` members, and other ones the next time if more are
  /// ready. Returns how many.
  @discardableResult
  func wait(atMost limit: Int = batchLimit, _ body: (_ tag: UInt64, Readiness) -> Void) -> Int {
    let limit = min(limit, Self.batchLimit)
    let count = Int(gw_epoll_wait(descriptor, events.baseAddress, Int32(limit), 0))
    guard count > 0 else { return 0 }
    for index in 0..<count {
      body(events[index].tag, Readiness(rawValue: events[index].readiness))
    }
    return count
  }

  /// Whether a member is ready now that `counts`. May be asked while members are handed out. The kernel puts those that
  /// it reports behind the others, so that with more than `glanceLimit` of them it changes which is handed out next.
  func isAnyoneReady(_ counts: (_ tag: UInt64) -> Bool) -> Bool {
    withUnsafeTemporaryAllocation(of: gw_ready.self, capacity: Self.glanceLimit) { found in
      let count = Int(gw_epoll_wait(descriptor, found.baseAddress, Int32(Self.glanceLimit), 0))
      return count > 0 && (0..<count).contains { counts(found[$0].tag) }
    }
  }

  /// Members that `isAnyoneReady` looks at.
  private static let glanceLimit = 8

  /// Hands out what is ready after a sleep until something is, of at most so many milliseconds; -1 is without limit. A
  /// signal that is not blocked ends the sleep. `body` says whether it wants the next one; what it does not take comes
  /// again.
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
