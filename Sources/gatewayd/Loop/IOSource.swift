import GatewayCore
import Glibc

extension EventLoop {
  /// What a descriptor is ready for, or watched for.
  typealias Readiness = Epoll.Readiness

  /// Watches one descriptor for as long as this object lives. Let go of it before the descriptor is closed.
  final class IOSource {
    private let table: IOSourceTable
    private let descriptor: Int32
    fileprivate let tag: UInt64
    fileprivate let handler: (Readiness) -> Void

    fileprivate init(
      _ table: IOSourceTable, _ descriptor: Int32, _ interest: Readiness, tag: UInt64,
      _ handler: @escaping (Readiness) -> Void
    ) {
      self.table = table
      self.descriptor = descriptor
      self.interest = interest
      self.tag = tag
      self.handler = handler
    }

    deinit {
      table.epoll.remove(descriptor)
      table.giveBack(tag)
    }

    /// What the descriptor is watched for; level-triggered.
    var interest: Readiness {
      // The kernel needs no memory for a change, so it cannot fail for a member.
      didSet { if interest != oldValue { try? table.epoll.modify(descriptor, interest, tag: tag) } }
    }
  }

  /// Every source of a loop, all in one epoll set, so that one look at the kernel finds all that is ready.
  final class IOSourceTable {
    private struct Slot {
      var generation: UInt32 = 0
      /// Not retained: a source leaves the table before it goes.
      var source: Unmanaged<IOSource>?
      /// The one client that it had something for when it was served last.
      var recipient: Int?
      /// It has yielded, and is only told that it may write until it goes on.
      var hasYielded = false
    }

    fileprivate let epoll: Epoll
    private var slots: ContiguousArray<Slot> = []
    private var vacant: [UInt32] = []
    /// The source that was served last in the present look.
    private var served: UInt64?

    init() throws(SystemError) { epoll = try Epoll(of: "a descriptor") }

    /// How many descriptors are watched.
    var count: Int { slots.count - vacant.count }

    /// Watches a descriptor until the returned object goes.
    func add(_ descriptor: Int32, _ interest: Readiness, _ handler: @escaping (Readiness) -> Void)
      throws(SystemError) -> IOSource
    {
      let tag = takeTag()
      do throws(SystemError) {
        try epoll.add(descriptor, interest, tag: tag)
      } catch {
        giveBack(tag)
        throw error
      }
      let source = IOSource(self, descriptor, interest, tag: tag, handler)
      slots[Self.slot(tag)].source = .passUnretained(source)
      return source
    }

    /// Sleeps until a source is ready, at most so many milliseconds (-1: without limit), and calls the handlers of
    /// those that are. `before` is called before each: when it says no, this one and the others are reported the next
    /// time.
    func dispatch(milliseconds: Int32, before: (_ isFirst: Bool) -> Bool) throws(SystemError) {
      var isFirst = true
      try epoll.sleep(milliseconds: milliseconds) { tag, readiness in
        let hasYielded = isCurrent(tag) && slots[Self.slot(tag)].hasYielded
        if hasYielded, !readiness.contains(.writable) { return true }
        guard before(isFirst) else { return false }
        isFirst = false
        // A source that was let go by another's handler has left its slot, maybe to a new one.
        guard isCurrent(tag), let source = slots[Self.slot(tag)].source else { return true }
        if !hasYielded { noteServed(tag) }
        source.takeUnretainedValue().handler(hasYielded ? .writable : readiness)
        return true
      }
    }

    /// What is there to be written from now on came from this source. What it had the last time says nothing about this
    /// time.
    private func noteServed(_ tag: UInt64) {
      served = tag
      slots[Self.slot(tag)].recipient = nil
    }

    /// Whether a source is ready now that may have something for others than `client`.
    func isAnyoneReady(besides client: Int?) -> Bool {
      epoll.isAnyoneReady { mayBeForOthers($0, than: client) }
    }

    /// Whether another source is ready now.
    func isAnyoneReady(otherThan source: IOSource?) -> Bool { epoll.isAnyoneReady { $0 != source?.tag } }

    /// What the source that was served last had was for one client alone, or, with nil, for several.
    func noteRecipient(_ client: Int?) {
      guard let served, isCurrent(served) else { return }
      slots[Self.slot(served)].recipient = client
    }

    /// The source has more to read, and lets others go first. Returns the tag with which it goes on.
    func yieldTurn(_ source: IOSource) -> UInt64 {
      slots[Self.slot(source.tag)].hasYielded = true
      return source.tag
    }

    /// A source goes on that has yielded, if it is still there.
    func goOn(_ tag: UInt64) {
      guard isCurrent(tag) else { return }
      slots[Self.slot(tag)].hasYielded = false
      noteServed(tag)
    }

    /// Whether a source may have something for others than `client`, going by what it had when it was served last.
    func mayBeForOthers(_ tag: UInt64, than client: Int?) -> Bool {
      isCurrent(tag) && (client == nil || slots[Self.slot(tag)].recipient != client)
    }

    private func isCurrent(_ tag: UInt64) -> Bool { slots[Self.slot(tag)].generation == Self.generation(tag) }

    /// Nothing is served any more of which `noteRecipient` could speak.
    func forgetServed() { served = nil }

    private func takeTag() -> UInt64 {
      let slot = vacant.popLast() ?? UInt32(slots.count)
      if slot == slots.count { slots.append(Slot()) }
      return UInt64(slots[Int(slot)].generation) << 32 | UInt64(slot)
    }

    fileprivate func giveBack(_ tag: UInt64) {
      slots[Self.slot(tag)].source = nil
      slots[Self.slot(tag)].recipient = nil
      slots[Self.slot(tag)].hasYielded = false
      slots[Self.slot(tag)].generation &+= 1
      vacant.append(UInt32(truncatingIfNeeded: tag))
    }

    private static func slot(_ tag: UInt64) -> Int { Int(UInt32(truncatingIfNeeded: tag)) }
    private static func generation(_ tag: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: tag >> 32) }
  }
}
