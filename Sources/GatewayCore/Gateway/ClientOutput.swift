/// What one local client still has to be sent. Lives in manually allocated memory so that the fan-out to many clients
/// touches plain bytes: no object, no retain or release per delivery. Owned by `ClientOutputs`.
public struct ClientOutput {
  private var base: UnsafeMutableRawPointer?
  private var start = 0
  private var end = 0
  private var capacity = 0
  fileprivate var isDirty = false
  /// Whatever the I/O side needs to find its socket again without a lookup.
  public var tag = 0
  /// Close the socket as soon as everything pending is written. Nothing is appended afterwards.
  public internal(set) var closesWhenFlushed = false

  fileprivate init() {}

  fileprivate func free() { base?.deallocate() }

  /// Bytes not yet taken by the kernel.
  @inline(__always)
  public var count: Int { end &- start }

  /// The bytes to write now. Valid until the next mutation.
  public var pending: UnsafeRawBufferPointer {
    guard let base, count > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: base + start, count: count)
  }

  /// Takes the first `written` bytes off. Gives the buffer back when nothing is left in it.
  fileprivate mutating func consume(_ written: Int) -> UnsafeMutableRawBufferPointer? {
    start += written
    guard start == end, let base else { return nil }
    defer {
      self.base = nil
      start = 0
      end = 0
      capacity = 0
    }
    return UnsafeMutableRawBufferPointer(start: base, count: capacity)
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
    guard let first = head.baseAddress, let second = tail.baseAddress else { return }
    let count = head.count &+ tail.count
    if end &+ count > capacity { makeRoom(count) }
    let place = base.unsafelyUnwrapped + end
    place.copyMemory(from: first, byteCount: head.count)
    (place + head.count).copyMemory(from: second, byteCount: tail.count)
    end &+= count
  }

  /// Beyond this many unwritten bytes events wait in their subscription's queue instead, and no more input is read
  /// from the client.
  public static let directLimit = 256 << 10

  @inline(never)
  private mutating func makeRoom(_ wanted: Int) {
    if let base, start > 0, count + wanted <= capacity {
      base.copyMemory(from: base + start, byteCount: count)
    } else {
      let grown = max((count + wanted) * 2, 512)
      let fresh = UnsafeMutableRawPointer.allocate(byteCount: grown, alignment: 16)
      if let base {
        fresh.copyMemory(from: base + start, byteCount: count)
        base.deallocate()
      }
      base = fresh
      capacity = grown
    }
    end = count
    start = 0
  }
}

/// Every local client's output, and the list of those that have something to be written. The I/O side takes the list
/// after each batch and writes each client once.
public final class ClientOutputs {
  public typealias Pointer = UnsafeMutablePointer<ClientOutput>
  private var dirty: ContiguousArray<Pointer> = []
  private var flushing: ContiguousArray<Pointer> = []
  private var spares = SpareBuffers()
  /// Told when the list becomes non-empty outside a batch, so that the loop flushes before it sleeps.
  public var onDirty: (() -> Void)?
  /// Told when the first spare buffer is there, so that `releaseIdle` is called after a while.
  var onSpare: (() -> Void)?

  public init() {}

  /// A fresh output. Must be given back by `remove`.
  public func add(tag: Int) -> Pointer {
    let pointer = Pointer.allocate(capacity: 1)
    pointer.initialize(to: ClientOutput())
    pointer.pointee.tag = tag
    return pointer
  }

  /// Frees an output. The pointer is dead afterwards.
  public func remove(_ pointer: Pointer) {
    if pointer.pointee.isDirty {
      dirty.removeAll { $0 == pointer }
      // A client may vanish while the list is being flushed.
      if let index = flushing.firstIndex(of: pointer) { flushing.remove(at: index) }
    }
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

  /// The same for an event: a subscription's own head, and the tail that all of them share. Neither may be empty.
  @inline(__always)
  func append(_ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer, to pointer: Pointer) {
    if pointer.pointee.isBare, let spare = spares.take() { pointer.pointee.adopt(spare) }
    pointer.pointee.append(head, tail)
    if !pointer.pointee.isDirty { markDirty(pointer) }
  }

  /// The kernel took the first `written` bytes.
  public func consume(_ written: Int, of pointer: Pointer) {
    guard let buffer = pointer.pointee.consume(written) else { return }
    let isFirst = spares.isEmpty
    spares.put(buffer)
    if isFirst { onSpare?() }
  }

  /// Frees the spare buffers if nobody needed one since the last call. Returns whether any is left.
  func releaseIdle() -> Bool { spares.releaseIdle() }

  /// Asks for a flush even when nothing was appended, such as for a close.
  func markDirty(_ pointer: Pointer) {
    guard !pointer.pointee.isDirty else { return }
    pointer.pointee.isDirty = true
    dirty.append(pointer)
    if dirty.count == 1 { onDirty?() }
  }

  public var hasDirty: Bool { !dirty.isEmpty }

  /// Hands every dirty output to `flush` exactly once. Outputs that become dirty meanwhile wait for the next call.
  public func drain(_ flush: (Pointer) -> Void) {
    swap(&dirty, &flushing)
    while let pointer = flushing.popLast() {
      pointer.pointee.isDirty = false
      flush(pointer)
    }
  }
}
