import GatewayCore
import Glibc

/// The sockets of all local clients: bytes in, lines to the sessions, outputs to the kernel. Members of one epoll set.
final class LocalPeers {
  private let gateway: Gateway
  private let epoll: Epoll
  private let timers: Timers
  private var slots: ContiguousArray<LocalPeer> = []
  private var vacant: [UInt32] = []
  private var lingering = 0
  private let time: any TimeSource
  /// Clients that have more lines than their turn allowed, in the order in which they go on.
  private var unfinished: [PeerTag] = []
  private var goesOn = false
  /// Told when the first of them is there, so that `goOn` is called when the others have had their turn.
  var onUnfinished: (() -> Void)?
  /// Whether there is something to be done for others than the client of this tag.
  var isAnyoneWaiting: (Int?) -> Bool = { _ in false }
  /// What may still be written by this flush to clients that have much to be written.
  private var bulk = 0
  private let memory: WarmMemory
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readLimit, alignment: 16)

  /// Bytes read from one client per turn: nobody can hold the loop.
  static let readLimit = 65_536
  /// How long one client's lines are acted upon before others have their turn. The line that is begun is finished.
  static let turnLimit: Duration = .microseconds(100)
  /// The same when somebody else is waiting. What is shorter than this is not worth asking.
  static let sharedTurnLimit: Duration = .microseconds(20)
  /// Bytes to be written that are much: more than this leaves in portions. The kernel takes about as much at once, so that
  /// a batch of ordinary events is one write.
  static let muchToWrite = 262_144
  /// Bytes written per turn to a client that has much to be written.
  static let writeLimit = 131_072
  /// Bytes written by one flush to clients that have much to be written; the others of them wait until epoll reports them,
  /// in turns with everybody else.
  static let bulkLimit = 8 * writeLimit
  /// How long a client that is turned out may take to read its last words.
  static let lingerLimit: Duration = .seconds(1)
  /// Sockets that may linger at a time; further ones close at once.
  static let lingeringLimit = 256

  init(gateway: Gateway, epoll: Epoll, timers: Timers, time: any TimeSource) {
    self.gateway = gateway
    self.time = time
    self.epoll = epoll
    self.timers = timers
    memory = WarmMemory(timers: timers)
  }

  deinit {
    for peer in slots where peer.phase != .vacant { Glibc.close(peer.descriptor) }
    buffer.deallocate()
  }

  /// Open sockets, lingering ones included.
  var count: Int { slots.count - vacant.count }
  /// Sockets with a session.
  var sessionCount: Int { count - lingering }

  /// Takes over an accepted socket.
  func admit(_ descriptor: Int32) throws(SystemError) {
    let credentials: PeerCredentials
    let tag = occupy(descriptor)
    do throws(SystemError) {
      credentials = try LocalSocket.credentials(of: descriptor)
      try epoll.add(descriptor, .readable, tag: tag.bits)
    } catch {
      vacate(Int(tag.slot))
      throw error
    }
    switch gateway.attach(credentials, tag: tag.number) {
    case .admitted(let session):
      slots[Int(tag.slot)].session = session
    case .refused(let words):
      _ = words.withUnsafeBytes { LocalSocket.write(descriptor, $0) }
      linger(Int(tag.slot))
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
    case .open: read(slot)
    case .halfClosed, .leaving: if isOver { vacate(slot) }
    case .lingering: discard(slot)
    case .vacant: break
    }
  }

  /// Writes every output that has something to write. What the sessions add meanwhile is written too, within reason.
  func flush() {
    guard gateway.outputs.hasDirty else { return gateway.commitHistories() }
    gateway.commitHistories()
    bulk = Self.bulkLimit
    for _ in 0..<8 where gateway.outputs.hasDirty {
      gateway.outputs.drain { output in
        let tag = PeerTag(output.pointee.tag)
        if isCurrent(tag) { flush(Int(tag.slot), output) }
      }
    }
    guard gateway.outputs.hasDirty else { return }
    // Clients that read as fast as we write: let the others have a turn and let epoll call us back.
    gateway.outputs.drain { output in
      let tag = PeerTag(output.pointee.tag)
      guard isCurrent(tag) else { return }
      watch(Int(tag.slot), slots[Int(tag.slot)].interest.union(.writable))
    }
  }
}

// MARK: Reading

extension LocalPeers {
  private func read(_ slot: Int) {
    // First things first, even if the client is gone by now.
    guard slots[slot].unheard.isEmpty else { return }
    switch LocalSocket.read(slots[slot].descriptor, into: buffer) {
    case .moved(let count):
      if count == buffer.count { memory.noteUse() }
      hear(slot, UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    case .wouldBlock: return
    case .ended: ended(slot)
    case .broken: vacate(slot)
    }
  }

  /// Cuts bytes into lines for the session, for as long as it wants them and its turn lasts: short lines may have long
  /// answers, so a client that only writes is stopped in the middle of what was read, and then by its own full send
  /// buffer. Returns how many bytes were taken.
  private func take(_ slot: Int, _ bytes: UnsafeRawBufferPointer) -> Int {
    guard let session = slots[slot].session else { return bytes.count }
    var input = slots[slot].input ?? LineBuffer(limit: gateway.configuration.limits.line)
    slots[slot].input = nil
    var rest = bytes[...]
    var turn = PeerTurn(at: time.now)
    do throws(LineTooLong) {
      while !rest.isEmpty, session.wantsInput {
        let piece = rest.prefix(Self.lineLength(rest))
        try input.append(UnsafeRawBufferPointer(rebasing: piece).bytes) { session.receive(line: $0) }
        rest = rest[piece.endIndex...]
        if turn.isOver(at: time.now, { isAnyoneWaiting(session.output.pointee.tag) }) { break }
      }
      if !input.isEmpty { slots[slot].input = input }
    } catch {
      session.receiveOversizedLine()
    }
    if !session.wantsInput { watch(slot, slots[slot].interest.subtracting(.readable)) }
    // A session that is over hears nothing more.
    return session.output.pointee.closesWhenFlushed ? bytes.count : bytes.count - rest.count
  }

  /// What a read brought, of which the rest is kept when the client has to wait.
  private func hear(_ slot: Int, _ bytes: UnsafeRawBufferPointer) {
    let tag = tag(of: slot)
    let taken = take(slot, bytes)
    guard taken < bytes.count, isCurrent(tag) else { return }
    slots[slot].unheard = Array(bytes[taken...])
    slots[slot].heard = 0
    // More than that is not wanted, and who asks whether others are waiting must not find this client.
    watch(slot, slots[slot].interest.subtracting(.readable))
    postpone(slot)
  }

  /// The client goes on behind the others, if it still wants to be heard then.
  private func postpone(_ slot: Int) {
    guard !slots[slot].isPostponed else { return }
    slots[slot].isPostponed = true
    unfinished.append(tag(of: slot))
    askToGoOn()
  }

  private func askToGoOn() {
    guard !goesOn, !unfinished.isEmpty else { return }
    goesOn = true
    onUnfinished?()
  }

  /// Those whose turn was over have another one, the first of them at least.
  func goOn() {
    goesOn = false
    var tags = unfinished[...]
    unfinished = []
    repeat {
      guard let tag = tags.popFirst(), isCurrent(tag) else { continue }
      slots[Int(tag.slot)].isPostponed = false
      if slots[Int(tag.slot)].session?.wantsInput == true { resume(Int(tag.slot)) }
    } while !tags.isEmpty && !isAnyoneWaiting(nil)
    unfinished.insert(contentsOf: tags, at: 0)
    askToGoOn()
  }

  /// Up to and with the first line end, or everything.
  private static func lineLength(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
    let whole = UnsafeRawBufferPointer(rebasing: bytes)
    guard let start = whole.baseAddress, let end = memchr(start, 0x0a, whole.count) else { return whole.count }
    return UnsafeRawPointer(end) - start + 1
  }

  /// What was read before comes first, then the socket.
  private func resume(_ slot: Int) {
    guard !slots[slot].unheard.isEmpty, !slots[slot].isPostponed else { return }
    let (unheard, heard, tag) = (slots[slot].unheard, slots[slot].heard, tag(of: slot))
    let taken = unheard.withUnsafeBytes { take(slot, UnsafeRawBufferPointer(rebasing: $0[heard...])) }
    // A line may have been the client's last word.
    guard isCurrent(tag) else { return }
    slots[slot].heard = heard + taken
    guard slots[slot].heard == unheard.count else { return postpone(slot) }
    slots[slot].unheard = []
    if slots[slot].phase == .open, slots[slot].session?.wantsInput == true {
      watch(slot, slots[slot].interest.union(.readable))
    }
  }

  /// The client will send nothing more. A last line without its end mark counts as a line unless the client is gone.
  private func ended(_ slot: Int) {
    guard !LocalSocket.isHungUp(slots[slot].descriptor) else { return vacate(slot) }
    if slots[slot].input != nil { withUnsafeBytes(of: UInt8(ascii: "\n")) { _ = take(slot, $0) } }
    slots[slot].input = nil
    slots[slot].phase = .halfClosed
    watch(slot, slots[slot].interest.subtracting(.readable))
    slots[slot].session?.endOfInput()
  }

  private func discard(_ slot: Int) {
    switch LocalSocket.read(slots[slot].descriptor, into: buffer) {
    case .moved, .wouldBlock: return
    case .ended, .broken: vacate(slot)
    }
  }
}

// MARK: Writing

extension LocalPeers {
  /// Writes, unless epoll has yet to say that there is room.
  private func flush(_ slot: Int, _ output: ClientOutputs.Pointer) {
    let interest = slots[slot].interest
    if interest.contains(.writable) {
      if output.pointee.closesWhenFlushed { leave(slot, output, interest) }
      return
    }
    if output.pointee.count > Self.muchToWrite {
      memory.noteUse()
      guard bulk > 0 else { return watch(slot, interest.union(.writable)) }
      bulk -= Self.writeLimit
    }
    write(slot, output)
  }

  /// One write for each piece that is there, which are more than one only around a shared text; where there is much, up to
  /// `writeLimit`. Whatever the kernel does not take, and what is more, waits for epoll to say that there is room.
  private func write(_ slot: Int, _ output: ClientOutputs.Pointer) {
    var interest = slots[slot].interest.subtracting(.writable)
    var isDrained = false
    var allowance = output.pointee.count > Self.muchToWrite ? Self.writeLimit : Self.muchToWrite
    // Also what was received since the flush began.
    gateway.commitHistories()
    while output.pointee.count > 0, !interest.contains(.writable) {
      let pending = UnsafeRawBufferPointer(rebasing: output.pointee.pending.prefix(allowance))
      let written: Int
      switch LocalSocket.write(slots[slot].descriptor, pending) {
      case .moved(let count): written = count
      case .wouldBlock, .ended: written = 0
      // Nobody reads any more. What the client has sent before is still read until its end.
      case .broken: written = pending.count
      }
      if written < pending.count { interest.insert(.writable) }
      guard written > 0 else { break }
      gateway.outputs.consume(written, of: output)
      isDrained = true
      allowance -= written
      if allowance == 0, output.pointee.count > 0 { interest.insert(.writable) }
    }
    if isDrained { slots[slot].session?.outputDrained() }
    if output.pointee.closesWhenFlushed { return leave(slot, output, interest) }
    let hearsAgain = slots[slot].phase == .open && slots[slot].session?.wantsInput == true
    if hearsAgain, slots[slot].unheard.isEmpty { interest.insert(.readable) }
    watch(slot, interest)
    if hearsAgain, !slots[slot].unheard.isEmpty { postpone(slot) }
  }

  /// The session is over. Goes on until everything is written or the deadline has come.
  private func leave(_ slot: Int, _ output: ClientOutputs.Pointer, _ interest: Epoll.Readiness) {
    guard output.pointee.count > 0 else {
      return slots[slot].phase == .halfClosed ? vacate(slot) : linger(slot)
    }
    watch(slot, interest.subtracting(.readable))
    guard slots[slot].phase != .leaving else { return }
    slots[slot].phase = .leaving
    slots[slot].input = nil
    slots[slot].unheard = []
    vacate(after: gateway.configuration.limits.stop, slot)
  }

  /// The session's end is written; the socket stays a moment for the client to read it.
  private func linger(_ slot: Int) {
    if let session = slots[slot].session { gateway.detach(session) }
    slots[slot].session = nil
    slots[slot].input = nil
    slots[slot].unheard = []
    guard lingering < Self.lingeringLimit else { return vacate(slot) }
    lingering += 1
    slots[slot].phase = .lingering
    LocalSocket.endOutput(slots[slot].descriptor)
    watch(slot, .readable)
    vacate(after: Self.lingerLimit, slot)
  }

  private func watch(_ slot: Int, _ interest: Epoll.Readiness) {
    guard interest != slots[slot].interest else { return }
    let tag = tag(of: slot)
    slots[slot].interest = interest
    // The kernel needs no memory for a change, so it cannot fail for a member.
    try? epoll.modify(slots[slot].descriptor, interest, tag: tag.bits)
  }
}

// MARK: Slots

extension LocalPeers {
  private func isCurrent(_ tag: PeerTag) -> Bool {
    let slot = Int(tag.slot)
    return slot < slots.count && slots[slot].generation == tag.generation && slots[slot].phase != .vacant
  }

  private func tag(of slot: Int) -> PeerTag {
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
  private func vacate(_ slot: Int) {
    let peer = slots[slot]
    if peer.phase == .lingering { lingering -= 1 }
    slots[slot] = LocalPeer()
    slots[slot].generation = peer.generation &+ 1
    vacant.append(UInt32(slot))
    epoll.remove(peer.descriptor)
    Glibc.close(peer.descriptor)
    if let session = peer.session { gateway.detach(session) }
  }

  private func vacate(after limit: Duration, _ slot: Int) {
    let tag = tag(of: slot)
    timers.after(limit) { [weak self] in
      guard let self, isCurrent(tag) else { return }
      vacate(slot)
    }
  }
}
