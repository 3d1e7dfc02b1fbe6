/// What one local client still has to be sent. Lives in manually allocated memory so that the fan-out to many clients
/// touches plain bytes: no object, no retain or release per delivery. Owned by `ClientOutputs`. Decision 0004.
public struct ClientOutput {
  /// A buffer of its own, or, with a capacity of 0, a piece of `SharedLines`.
  private var base: UnsafeMutableRawPointer?
  @usableFromInline private(set) var start = 0
  @usableFromInline private(set) var end = 0
  private var capacity = 0
  /// A long text that is shared with other outputs instead of copied. It stands behind the bytes before `cut`.
  private var shared: [UInt8] = []
  @usableFromInline private(set) var sharedLeft = 0
  private var cut = 0
  fileprivate var isDirty = false
  /// Set by a write that took a part; of no meaning once everything is written.
  private var endedWithinLine = false
  /// Whatever the I/O side needs to find its socket again without a lookup.
  public var tag = 0
  /// The user whose client it is.
  fileprivate(set) var account = Account.configuration
  /// Close the socket as soon as everything pending is written. Nothing is appended afterwards.
  public internal(set) var closesWhenFlushed = false

  fileprivate init() {}

  fileprivate func free() { if capacity > 0 { base?.deallocate() } }

  /// What is pending stands in lines that many outputs share until they are cleared.
  @inline(__always)
  fileprivate var isBorrowing: Bool { capacity == 0 && base != nil }

  /// Points to a shared line instead of copying it, if nothing but the shared lines right before it is pending. Returns
  /// whether it does.
  @inline(__always)
  fileprivate mutating func borrow(_ line: UnsafeMutableRawBufferPointer) -> Bool {
    guard capacity == 0 else { return false }
    if let base {
      guard base + end == line.baseAddress else { return false }
    } else {
      base = line.baseAddress
    }
    end &+= line.count
    return true
  }

  /// Copies what is borrowed into a buffer of its own, of which `spare` may become one.
  fileprivate mutating func keepBorrowed(in spare: UnsafeMutableRawBufferPointer?) {
    guard let spare, let place = spare.baseAddress, let base else { return makeRoom(0) }
    place.copyMemory(from: base + start, byteCount: end - start)
    end -= start
    start = 0
    adopt(spare)
  }

  /// Bytes not yet taken by the kernel. Inlinable, because a call from another module is handed a copy of everything
  /// here, and this is asked several times for each write.
  @inlinable
  public var count: Int { end &- start &+ sharedLeft }

  /// A shared text is not written to its end yet: the next one has to wait or to be copied.
  var holdsShared: Bool { sharedLeft > 0 }

  /// The bytes to write now, all of them unless a shared text is among them. Valid until the next mutation.
  @inline(__always)
  var pending: UnsafeRawBufferPointer {
    guard let base, count > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    guard sharedLeft > 0 else { return UnsafeRawBufferPointer(start: base + start, count: end - start) }
    return pendingAroundShared(base)
  }

  private func pendingAroundShared(_ base: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
    if start < cut { return UnsafeRawBufferPointer(start: base + start, count: cut - start) }
    // The array is kept here and never changed, so that its bytes stay where they are.
    return shared.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0.suffix(sharedLeft)) }
  }

  /// All that is pending, copied.
  var bytes: [UInt8] {
    guard let base, count > 0 else { return [] }
    func copy(_ range: Range<Int>) -> [UInt8] {
      [UInt8](UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count))
    }
    guard sharedLeft > 0 else { return copy(start..<end) }
    return copy(start..<max(start, cut)) + shared.suffix(sharedLeft) + copy(max(start, cut)..<end)
  }

  /// What was written last has no line end yet.
  public internal(set) var isWithinLine: Bool {
    get { endedWithinLine && count > 0 }
    set { endedWithinLine = newValue }
  }

  /// Takes the first `written` bytes of `pending` off. Gives its own buffer back when nothing is left in it.
  @inline(__always)
  fileprivate mutating func consume(_ written: Int) -> UnsafeMutableRawBufferPointer? {
    if written > 0 { endedWithinLine = written < count && pending[written - 1] != UInt8(ascii: "\n") }
    start += sharedLeft > 0 ? consumeUpToShared(written) : written
    guard start == end, sharedLeft == 0, let base else { return nil }
    defer {
      self.base = nil
      start = 0
      end = 0
      capacity = 0
    }
    return isBorrowing ? nil : UnsafeMutableRawBufferPointer(start: base, count: capacity)
  }

  /// What is left for the buffer when the shared text and what stands before it had their part.
  private mutating func consumeUpToShared(_ written: Int) -> Int {
    let before = min(written, cut - start)
    let ofShared = min(written - before, sharedLeft)
    sharedLeft -= ofShared
    if sharedLeft == 0 { shared = [] }
    return written - ofShared
  }

  /// Appends a text without copying it; only while none is shared.
  fileprivate mutating func share(_ head: UnsafeRawBufferPointer, _ tail: [UInt8]) {
    // What stands behind it needs a buffer of its own, and so does what is borrowed before it.
    if capacity == 0 { makeRoom(head.count) }
    append(head)
    cut = end
    shared = tail
    sharedLeft = tail.count
  }

  @inline(__always)
  fileprivate var isBare: Bool { base == nil }

  fileprivate mutating func adopt(_ buffer: UnsafeMutableRawBufferPointer) {
    base = buffer.baseAddress
    capacity = buffer.count
  }

  @inline(__always)
  fileprivate mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    if end &+ bytes.count > capacity { makeRoom(bytes.count) }
    (base.unsafelyUnwrapped + end).copyMemory(from: source, byteCount: bytes.count)
    end &+= bytes.count
  }

  /// Two pieces with one look at the room.
  @inline(__always)
  fileprivate mutating func append(_ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer) {
    guard let first = head.baseAddress, let second = tail.baseAddress else {
      append(head)
      return append(tail)
    }
    let count = head.count &+ tail.count
    if end &+ count > capacity { makeRoom(count) }
    let place = base.unsafelyUnwrapped + end
    place.copyMemory(from: first, byteCount: head.count)
    (place + head.count).copyMemory(from: second, byteCount: tail.count)
    end &+= count
  }

  /// Beyond this many unwritten bytes events wait in their subscription's queue instead, and no more input is read
  /// from the client.
  static let directLimit = 256 << 10
  /// From this length on, in bytes, an event's text is shared between outputs.
  static let sharedFrom = 64 << 10

  @inline(never)
  private mutating func makeRoom(_ wanted: Int) {
    let own = end - start
    if let base, start > 0, own + wanted <= capacity {
      base.copyMemory(from: base + start, byteCount: own)
    } else {
      let grown = max((own + wanted) * 2, 512)
      let fresh = UnsafeMutableRawPointer.allocate(byteCount: grown, alignment: 16)
      if let base { fresh.copyMemory(from: base + start, byteCount: own) }
      free()
      base = fresh
      capacity = grown
    }
    cut -= start
    end = own
    start = 0
  }
}

/// Every local client's output, and the list of those that have something to be written. The I/O side goes through
/// the list after each batch and writes each client once.
public final class ClientOutputs {
  public typealias Pointer = UnsafeMutablePointer<ClientOutput>
  @usableFromInline private(set) var dirty: ContiguousArray<Pointer> = []
  @usableFromInline private(set) var flushing: ContiguousArray<Pointer> = []
  private var spares = SpareBuffers()
  /// Lines that several outputs have in common, until all have been written.
  private var lines = SharedLines()
  /// The output that is being flushed; nil once it is removed.
  private var current: Pointer?
  /// The beginnings of the event notifications.
  let heads = EventHeads()
  /// Told when the list becomes non-empty outside a batch, so that the loop flushes before it sleeps.
  var onDirty: (() -> Void)?
  /// Told when there is memory that is not used, so that `releaseIdle` is called after a while.
  var onSpare: (() -> Void)?

  init() {}

  /// Puts a line together that outputs can share by `append(_:to:)`; valid until nothing is dirty. Nil when there is no
  /// room for it.
  func assemble(_ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer) -> SharedLines.Line? {
    lines.add(head, tail)
  }

  /// A fresh output. Must be given back by `remove`.
  func add(tag: Int, for account: Account = .configuration) -> Pointer {
    let pointer = Pointer.allocate(capacity: 1)
    pointer.initialize(to: ClientOutput())
    pointer.pointee.tag = tag
    pointer.pointee.account = account
    return pointer
  }

  /// Frees an output. The pointer is dead afterwards.
  func remove(_ pointer: Pointer) {
    if pointer.pointee.isDirty {
      dirty.removeAll { $0 == pointer }
      // A client may vanish while the list is being flushed.
      if let index = flushing.firstIndex(of: pointer) { flushing.remove(at: index) }
    }
    if current == pointer { current = nil }
    pointer.pointee.free()
    pointer.deinitialize(count: 1)
    pointer.deallocate()
  }

  /// Appends and remembers that there is something to write.
  @inline(__always)
  func append(_ bytes: UnsafeRawBufferPointer, to pointer: Pointer) {
    if pointer.pointee.isBare, let spare = spares.take() { pointer.pointee.adopt(spare) }
    pointer.pointee.append(bytes)
    if !pointer.pointee.isDirty { markDirty(pointer) }
  }

  /// The same for a line that others get as well: it is copied only if it does not follow what is pending.
  @inline(__always)
  func append(_ line: SharedLines.Line, to pointer: Pointer) {
    guard pointer.pointee.borrow(line.bytes) else { return appendCopy(of: line, to: pointer) }
    if !pointer.pointee.isDirty { markDirty(pointer) }
  }

  @inline(never)
  private func appendCopy(of line: SharedLines.Line, to pointer: Pointer) {
    append(UnsafeRawBufferPointer(line.bytes), to: pointer)
  }

  /// The same for an event: a subscription's own head, and the tail that all of them share.
  @inline(__always)
  func append(_ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer, to pointer: Pointer) {
    if pointer.pointee.isBare, let spare = spares.take() { pointer.pointee.adopt(spare) }
    pointer.pointee.append(head, tail)
    if !pointer.pointee.isDirty { markDirty(pointer) }
  }

  /// The same for a text that may be long: then it is shared, unless one is already.
  func append(_ head: UnsafeRawBufferPointer, text: [UInt8], to pointer: Pointer) {
    guard text.count >= ClientOutput.sharedFrom, !pointer.pointee.holdsShared else {
      return text.withUnsafeBytes { append(head, $0, to: pointer) }
    }
    // Otherwise each of them would add a buffer to the spare ones.
    if pointer.pointee.isBare, let spare = spares.take() { pointer.pointee.adopt(spare) }
    pointer.pointee.share(head, text)
    if !pointer.pointee.isDirty { markDirty(pointer) }
  }

  /// A line of one output, which is shared with whoever has written it where it is long: to copy a long one into fresh
  /// memory takes milliseconds. Only where nothing else is written directly behind it anyway.
  func append(_ line: [UInt8], to pointer: Pointer) {
    guard line.count >= ClientOutput.directLimit, !pointer.pointee.holdsShared else {
      return line.withUnsafeBytes { append($0, to: pointer) }
    }
    append(UnsafeRawBufferPointer(start: nil, count: 0), text: line, to: pointer)
  }

  /// What to write now, at most so many bytes of it. Valid until the output changes. Asked here, because an output that
  /// another module asks is copied for it.
  public func pending(of pointer: Pointer, atMost limit: Int) -> UnsafeRawBufferPointer {
    let pending = pointer.pointee.pending
    return UnsafeRawBufferPointer(start: pending.baseAddress, count: min(pending.count, limit))
  }

  /// The kernel took the first `written` bytes.
  public func consume(_ written: Int, of pointer: Pointer) {
    guard let buffer = pointer.pointee.consume(written) else { return }
    let isFirst = spares.isEmpty
    spares.put(buffer)
    if isFirst { onSpare?() }
  }

  /// Frees the spare buffers and the memory of shared lines if they were not needed since the last call. Returns
  /// whether any is left.
  func releaseIdle() -> Bool {
    let hasLines = lines.releaseIdle()
    return spares.releaseIdle() || hasLines
  }

  /// Asks for a flush even when nothing was appended, such as for a close.
  func markDirty(_ pointer: Pointer) {
    guard !pointer.pointee.isDirty else { return }
    pointer.pointee.isDirty = true
    dirty.append(pointer)
    if dirty.count == 1 { onDirty?() }
  }

  /// Bytes of the spare buffers.
  var spareBytes: Int { spares.byteCount }

  /// Inlinable, as are those that follow: they are asked several times in each turn of the loop.
  @inlinable
  public var hasDirty: Bool { !dirty.isEmpty || !flushing.isEmpty }
  @inlinable
  public var dirtyCount: Int { dirty.count + flushing.count }

  /// The only one that has something to write; nil when there are several or none.
  @inlinable
  public var onlyDirty: Pointer? { dirtyCount == 1 ? dirty.first ?? flushing.first : nil }

  /// Hands every dirty output to `flush` exactly once, at most so many. Of the next call the others of them are half at
  /// least, behind outputs that became dirty meanwhile: who is answered does not wait for a long list, nor the list for
  /// ever. What an output could not get rid of it has copied afterwards. Returns how many were handed out.
  @discardableResult
  public func drain(atMost limit: Int = .max, _ flush: (Pointer) -> Void) -> Int {
    if flushing.isEmpty {
      swap(&dirty, &flushing)
    } else if !dirty.isEmpty {
      let late = min(dirty.count, limit / 2)
      flushing += dirty.prefix(late)
      dirty.removeFirst(late)
    }
    var count = 0
    while count < limit, let pointer = flushing.popLast() {
      count += 1
      pointer.pointee.isDirty = false
      current = pointer
      flush(pointer)
      if let current, current.pointee.isBorrowing {
        current.pointee.keepBorrowed(in: spares.take(atLeast: current.pointee.count))
      }
    }
    current = nil
    if !hasDirty, lines.clear() { onSpare?() }
    return count
  }
}
