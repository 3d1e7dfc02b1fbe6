import GatewayCore
import Glibc

/// The sockets of all local clients: bytes in, lines to the sessions, outputs to the kernel. Members of one epoll set.
final class LocalPeers {
  let gateway: Gateway
  let epoll: Epoll
  let timers: Timers
  var slots: ContiguousArray<LocalPeer> = []
  private var vacant: [UInt32] = []
  var lingering = 0
  let time: any TimeSource
  /// Clients that have more lines than their turn allowed, in the order in which they go on.
  var unfinished: [PeerTag] = []
  var goesOn = false
  /// Told when the first of them is there, so that `goOn` is called when the others have had their turn.
  var onUnfinished: (() -> Void)?
  /// Whether there is something to be done for others than the client of this tag.
  var isAnyoneWaiting: (Int?) -> Bool = { _ in false }
  /// What may still be written by this flush to clients that have much to be written.
  var bulk = 0
  /// How many clients' queues may still move up in this flush.
  var refills = 0
  let flushLimit: Int
  let memory: WarmMemory
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readLimit, alignment: 16)

  /// Bytes read from one client per turn: none can hold the loop.
  static let readLimit = 16_384
  /// How long one client's lines are acted upon before others have their turn. The line that is begun is finished.
  static let turnLimit: Duration = .microseconds(100)
  /// How long those that are ready are served while others are still being written to, which takes longer.
  static let turnLimitAmongWrites: Duration = .milliseconds(1)
  /// Clients written to by one flush, 2 to 4 ms; then others have their turn.
  static let flushLimit = 1_024
  /// Bytes to be written that are much: more than this leaves in portions. The kernel takes about as much at once, so
  /// that a batch of ordinary events is one write.
  static let muchToWrite = 262_144
  /// Bytes written per turn to a client that has much to be written.
  static let writeLimit = 131_072
  /// Bytes written by one flush to clients that have much to be written; the others of them wait until epoll reports
  /// them, in turns with everybody else.
  static let bulkLimit = 8 * writeLimit
  /// Clients whose queues move up in one flush; the others of them wait for epoll as well.
  static let refillLimit = 8
  /// How long a client that is turned out may take to read its last words.
  static let lingerLimit: Duration = .seconds(1)
  /// How long after a tick it is looked whether memory can be given back.
  static let afterTick: Duration = .milliseconds(5)
  /// Sockets that may linger at a time; further ones close at once.
  static let lingeringLimit = 256

  init(
    gateway: Gateway, epoll: Epoll, timers: Timers, time: any TimeSource, flushLimit: Int = LocalPeers.flushLimit
  ) {
    self.gateway = gateway
    self.flushLimit = flushLimit
    self.time = time
    self.epoll = epoll
    self.timers = timers
    memory = WarmMemory(timers: timers)
    // To give memory back takes some milliseconds, as the look after all connections does: they are turns of their own.
    gateway.onTick = { [weak memory] in timers.after(Self.afterTick) { memory?.lookAfter() } }
  }

  deinit {
    for peer in slots where peer.phase != .vacant { Glibc.close(peer.descriptor) }
    buffer.deallocate()
  }

  /// Open sockets, lingering ones included.
  var count: Int { slots.count - vacant.count }
  /// Sockets with a session.
  var sessionCount: Int { count - lingering }

  /// Takes over an accepted socket; its client may be turned away.
  func admit(_ descriptor: Int32) throws(SystemError) {
    let (tag, credentials) = try enter(descriptor)
    switch gateway.attach(credentials, tag: tag.number) {
    case .admitted(let session): slots[Int(tag.slot)].session = session
    case .refused(let words):
      _ = words.withUnsafeBytes { LocalSocket.write(descriptor, $0) }
      linger(Int(tag.slot))
    }
  }

  /// Gives a socket a slot, as yet without a session. Throws after it has closed the socket.
  func enter(_ descriptor: Int32) throws(SystemError) -> (tag: PeerTag, credentials: PeerCredentials) {
    let tag = occupy(descriptor)
    do throws(SystemError) {
      let credentials = try LocalSocket.credentials(of: descriptor)
      try epoll.add(descriptor, .readable, tag: tag.bits)
      return (tag, credentials)
    } catch {
      vacate(Int(tag.slot))
      throw error
    }
  }

  /// Closes a client's socket at once.
  func close(_ session: LocalSession) {
    let tag = PeerTag(session.output.pointee.tag)
    if isCurrent(tag) { vacate(Int(tag.slot)) }
  }

  /// Acts on what epoll said about a client.
  func ready(_ tag: PeerTag, _ readiness: Epoll.Readiness) {
    let slot = Int(tag.slot)
    guard isCurrent(tag) else { return }
    if readiness.contains(.writable), let output = slots[slot].session?.output {
      write(slot, output)
      guard isCurrent(tag) else { return }
    }
    let isOver = !readiness.isDisjoint(with: [.hungUp, .failed])
    guard isOver || readiness.contains(.readable) else { return }
    switch slots[slot].phase {
    case .open where isOver && !slots[slot].pendingInput.isEmpty:
      stopWatching(slot)
      // The kernel may report the end before it reports room, and what waits for room would wait without end.
      if let output = slots[slot].session?.output { write(slot, output) }
    case .open: read(slot)
    case .halfClosed, .leaving: if isOver { vacate(slot) }
    case .lingering: discard(slot)
    case .vacant: break
    }
  }
}

// MARK: Slots

extension LocalPeers {
  /// Whether the client of a tag is still there.
  func isCurrent(_ tag: PeerTag) -> Bool {
    let slot = Int(tag.slot)
    return slot < slots.count && slots[slot].generation == tag.generation && slots[slot].phase != .vacant
  }

  /// The tag of the client that has the slot now.
  func tag(of slot: Int) -> PeerTag {
    PeerTag(slot: UInt32(slot), generation: slots[slot].generation)
  }

  private func occupy(_ descriptor: Int32) -> PeerTag {
    let slot: Int
    if let free = vacant.popLast() {
      slot = Int(free)
    } else {
      slot = slots.count
      slots.append(LocalPeer())
    }
    slots[slot].phase = .open
    slots[slot].descriptor = descriptor
    slots[slot].interest = .readable
    return tag(of: slot)
  }

  /// Closes a client's socket and frees its slot.
  func vacate(_ slot: Int) {
    let peer = slots[slot]
    if peer.phase == .lingering { lingering -= 1 }
    slots[slot] = LocalPeer()
    slots[slot].generation = peer.generation &+ 1
    vacant.append(UInt32(slot))
    epoll.remove(peer.descriptor)
    Glibc.close(peer.descriptor)
    if let session = peer.session { gateway.detach(session) }
  }

  /// Closes a client's socket later, if the client is still there then.
  func vacate(after limit: Duration, _ slot: Int) {
    let tag = tag(of: slot)
    timers.after(limit) { [weak self] in
      guard let self, isCurrent(tag) else { return }
      vacate(slot)
    }
  }
}
