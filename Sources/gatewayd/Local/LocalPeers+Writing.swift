import GatewayCore

/// Outputs to the kernel, and the end of a connection.
extension LocalPeers {
  /// Writes every output that has something to write, at most `flushLimit` of them; what the sessions add meanwhile is
  /// written too, within reason. Returns whether it has left some to be written by the next flush.
  @discardableResult
  func flush() -> Bool {
    gateway.commitHistories()
    guard gateway.outputs.hasDirty else { return false }
    (bulk, refills) = (Self.bulkLimit, Self.refillLimit)
    var rounds = 0
    var left = flushLimit
    while rounds < 8, left > 0, gateway.outputs.hasDirty {
      rounds += 1
      left -= gateway.outputs.drain(atMost: left) { flush($0) }
    }
    guard gateway.outputs.hasDirty else { return false }
    guard left > 0 else { return true }
    // Clients that read as fast as we write: let the others have a turn and let epoll call us back.
    gateway.outputs.drain { if let slot = slot(of: $0) { putOff(slot, $0) } }
    return false
  }

  /// Writes, unless epoll has yet to say that there is room.
  private func flush(_ output: ClientOutputs.Pointer) {
    guard let slot = slot(of: output) else { return }
    let interest = slots[slot].interest
    if slots[slot].isWatched, interest.contains(.writable) {
      if output.pointee.closesWhenFlushed { leave(slot, output, interest) }
      return
    }
    if output.pointee.count > Self.muchToWrite {
      memory.noteUse()
      guard bulk > 0 else { return putOff(slot, output) }
      bulk -= Self.writeLimit
    } else if refills <= 0, slots[slot].session?.hasQueuedEvents == true {
      return putOff(slot, output)
    }
    write(slot, output)
  }

  /// Where its client's socket is; nil when that is closed.
  private func slot(of output: ClientOutputs.Pointer) -> Int? {
    let tag = PeerTag(output.pointee.tag)
    return isCurrent(tag) ? Int(tag.slot) : nil
  }

  /// Others have their turn first. A client that is over and does not read must not wait for that without end.
  private func putOff(_ slot: Int, _ output: ClientOutputs.Pointer) {
    // What is written to a client that is gone takes no time, and epoll would not tell.
    guard slots[slot].isWatched else { return write(slot, output) }
    let interest = slots[slot].interest.union(.writable)
    if output.pointee.closesWhenFlushed { leave(slot, output, interest) } else { watch(slot, interest) }
  }

  /// One write for each piece that is there, which are more than one only around a shared text; where there is much, up
  /// to `writeLimit`. Whatever the kernel does not take, and what is more, waits for epoll to say that there is room.
  func write(_ slot: Int, _ output: ClientOutputs.Pointer) {
    var interest = slots[slot].interest.subtracting(.writable)
    var isDrained = false
    var allowance = output.pointee.count > Self.muchToWrite ? Self.writeLimit : Self.muchToWrite
    // Also what was received since the flush began.
    gateway.commitHistories()
    while output.pointee.count > 0, !interest.contains(.writable) {
      let pending = gateway.outputs.pending(of: output, atMost: allowance)
      let written: Int
      switch LocalSocket.write(slots[slot].descriptor, pending) {
      case .moved(let count): written = count
      case .wouldBlock, .ended: written = 0
      // The client reads no more. What the client has sent before is still read until its end.
      case .broken:
        written = pending.count
        allowance += written
      }
      if written < pending.count { interest.insert(.writable) }
      guard written > 0 else { break }
      gateway.outputs.consume(written, of: output)
      isDrained = true
      allowance -= written
      if allowance == 0, output.pointee.count > 0 { interest.insert(.writable) }
    }
    if isDrained {
      let left = output.pointee.count
      slots[slot].session?.outputDrained()
      if output.pointee.count > left { refills -= 1 }
    }
    if output.pointee.closesWhenFlushed { return leave(slot, output, interest) }
    let hearsAgain = slots[slot].phase == .open && slots[slot].session?.wantsInput == true
    if hearsAgain, slots[slot].pendingInput.isEmpty { interest.insert(.readable) }
    watch(slot, interest)
    if hearsAgain, !slots[slot].pendingInput.isEmpty { postpone(slot) }
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
    slots[slot].inputMemory = nil
    slots[slot].pendingInput = PendingInput()
    vacate(after: gateway.configuration.limits.stop, slot)
  }

  /// The session's end is written; the socket stays a moment for the client to read it.
  func linger(_ slot: Int) {
    if let session = slots[slot].session { gateway.detach(session) }
    slots[slot].session = nil
    slots[slot].input = nil
    slots[slot].inputMemory = nil
    slots[slot].pendingInput = PendingInput()
    guard lingering < Self.lingeringLimit else { return vacate(slot) }
    lingering += 1
    slots[slot].phase = .lingering
    LocalSocket.endOutput(slots[slot].descriptor)
    watch(slot, .readable)
    vacate(after: Self.lingerLimit, slot)
  }

  /// Has epoll tell of these of the client, and of no others.
  @inline(__always)
  func watch(_ slot: Int, _ interest: Epoll.Readiness) {
    if interest != slots[slot].interest { watchOther(slot, interest) }
  }

  private func watchOther(_ slot: Int, _ interest: Epoll.Readiness) {
    let tag = tag(of: slot)
    slots[slot].interest = interest
    guard slots[slot].isWatched else { return }
    // The kernel needs no memory for a change, so it cannot fail for a member.
    try? epoll.modify(slots[slot].descriptor, interest, tag: tag.bits)
  }

  /// The client is gone, and what it said before is still acted upon: until then epoll would report its end again and
  /// again, and the question whether others are waiting would find it.
  func stopWatching(_ slot: Int) {
    slots[slot].isWatched = false
    epoll.remove(slots[slot].descriptor)
  }

  /// Nothing is left of what the client said before.
  func watchAgain(_ slot: Int) {
    guard !slots[slot].isWatched else { return }
    slots[slot].isWatched = true
    do throws(SystemError) {
      try epoll.add(slots[slot].descriptor, slots[slot].interest, tag: tag(of: slot).bits)
    } catch { vacate(slot) }
  }
}
