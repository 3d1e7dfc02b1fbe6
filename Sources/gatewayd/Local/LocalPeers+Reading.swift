import GatewayCore
import Glibc

/// Bytes in, lines to the sessions.
extension LocalPeers {
  /// Reads once and acts on the lines.
  func read(_ slot: Int) {
    // First things first, even if the client is gone by now.
    guard slots[slot].pendingInput.isEmpty else { return }
    switch LocalSocket.read(slots[slot].descriptor, into: buffer) {
    case .moved(let count):
      hear(slot, UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      if slots[slot].input?.isLong == true { memory.noteUse() }
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
    var input = slots[slot].input ?? RequestBuffer(limit: gateway.configuration.limits.line)
    slots[slot].input = nil
    var rest = bytes[...]
    // Most reads bring one line, and nothing that could wait.
    var turn: TimeSlice?
    do throws(LineTooLong) {
      while session.wantsInput, let piece = rest.cutLine() {
        if turn == nil, !rest.isEmpty { turn = TimeSlice(at: time.now, limit: Self.turnLimit) }
        try input.append(piece: piece.bytes) { session.receive(line: $0, long: $1) }
        if !rest.isEmpty, turn?.isOver(at: time.now, { isAnyoneWaiting(session.output.pointee.tag) }) == true { break }
      }
      if !input.isEmpty { slots[slot].input = input }
      if let overrun = countInput(slot, input.pendingCount, of: session) { session.receiveLineWithoutMemory(overrun) }
    } catch {
      session.receiveOversizedLine()
    }
    if !session.wantsInput { watch(slot, slots[slot].interest.subtracting(.readable)) }
    // A session that is over hears nothing more.
    return session.output.pointee.closesWhenFlushed ? bytes.count : bytes.count - rest.count
  }

  /// Notes how much of a line without its end is there. Returns why there is no room for it, if that is so.
  private func countInput(_ slot: Int, _ count: Int, of session: LocalSession) -> SharedBounds.Overrun? {
    guard count > 0 || slots[slot].inputMemory != nil else { return nil }
    let memory = slots[slot].inputMemory ?? MemoryHold(gateway.receiveMemory, for: .user(session.peer.uid))
    slots[slot].inputMemory = memory
    do throws(SharedBounds.Overrun) { try memory.take(count) } catch {
      slots[slot].input = nil
      slots[slot].inputMemory = nil
      return error
    }
    return nil
  }

  /// What a read brought, of which the rest is kept when the client has to wait.
  private func hear(_ slot: Int, _ bytes: UnsafeRawBufferPointer) {
    let tag = tag(of: slot)
    let taken = take(slot, bytes)
    guard taken < bytes.count, isCurrent(tag) else { return }
    slots[slot].pendingInput = PendingInput(Array(bytes[taken...]))
    // More than that is not wanted, and the question whether others are waiting must not find this client.
    watch(slot, slots[slot].interest.subtracting(.readable))
    postpone(slot)
  }

  /// The client goes on behind the others, if it still wants to be heard then.
  func postpone(_ slot: Int) {
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

  /// The clients whose turn was over have another one: the first of them, and others of them as long as that takes no
  /// longer than one client's turn and no other is waiting. What they are answered is written before the rest of them
  /// go on.
  func goOn() {
    goesOn = false
    var tags = unfinished[...]
    unfinished = []
    let end = time.now + Self.turnLimit
    repeat {
      guard let tag = tags.popFirst(), isCurrent(tag) else { continue }
      slots[Int(tag.slot)].isPostponed = false
      if slots[Int(tag.slot)].session?.wantsInput == true { resume(Int(tag.slot)) }
    } while !tags.isEmpty && time.now < end && !isAnyoneWaiting(nil)
    unfinished.insert(contentsOf: tags, at: 0)
    askToGoOn()
  }

  /// What was read before comes first, then the socket.
  private func resume(_ slot: Int) {
    guard !slots[slot].pendingInput.isEmpty, !slots[slot].isPostponed else { return }
    let (input, tag) = (slots[slot].pendingInput, tag(of: slot))
    let left = input.withRest { $0.count - take(slot, $0) }
    // A line may have been the client's last word.
    guard isCurrent(tag) else { return }
    slots[slot].pendingInput.keepLast(left)
    guard left == 0 else { return postpone(slot) }
    if slots[slot].isAtEnd {
      halfClose(slot)
    } else if slots[slot].phase == .open, slots[slot].session?.wantsInput == true {
      watch(slot, slots[slot].interest.union(.readable))
    }
    watchAgain(slot)
  }

  /// The client will send nothing more. A last line without its end mark counts as a line unless the client is gone.
  private func ended(_ slot: Int) {
    guard !LocalSocket.isHungUp(slots[slot].descriptor) else { return vacate(slot) }
    let isTaken = slots[slot].input == nil || withUnsafeBytes(of: UInt8(ascii: "\n")) { take(slot, $0) } == 1
    guard isTaken else {
      // It does not take its output. Its last line is heard when it does, as any other.
      slots[slot].isAtEnd = true
      slots[slot].pendingInput = PendingInput([UInt8(ascii: "\n")])
      return watch(slot, slots[slot].interest.subtracting(.readable))
    }
    halfClose(slot)
  }

  private func halfClose(_ slot: Int) {
    slots[slot].isAtEnd = false
    slots[slot].input = nil
    slots[slot].inputMemory = nil
    slots[slot].phase = .halfClosed
    watch(slot, slots[slot].interest.subtracting(.readable))
    slots[slot].session?.endOfInput()
  }

  /// Throws away what a client sends that has heard its last words.
  func discard(_ slot: Int) {
    switch LocalSocket.read(slots[slot].descriptor, into: buffer) {
    case .moved, .wouldBlock: return
    case .ended, .broken: vacate(slot)
    }
  }
}
