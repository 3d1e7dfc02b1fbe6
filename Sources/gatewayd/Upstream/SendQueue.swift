import GatewayCore

/// Bytes that wait for a socket, first in, first out, in blocks that never move: after a write that could not be
/// completed OpenSSL insists on being offered the same memory again. An empty queue holds no block.
///
/// A long text may be put in as a whole: it is masked block by block, each when the one before it is written.
final class SendQueue: WriteProgress {
  /// A few unused blocks, shared by all queues of a loop, so that the usual small message costs no allocation.
  final class Pool {
    static let sparesLimit = 8
    private var spares: [UnsafeMutableRawPointer] = []

    deinit { spares.forEach { $0.deallocate() } }

    fileprivate func take() -> UnsafeMutableRawPointer {
      spares.popLast() ?? .allocate(byteCount: SendQueue.blockSize, alignment: 16)
    }

    fileprivate func giveBack(_ block: UnsafeMutableRawPointer) {
      if spares.count < Self.sparesLimit { spares.append(block) } else { block.deallocate() }
    }
  }

  /// Bytes in a block; also the most that is offered to the socket at once.
  static let blockSize = 32 << 10

  /// A block, or a text whose bytes are put into a block piece by piece when their turn comes.
  private struct Piece {
    /// Nil only for a text of which nothing is in a block.
    var block: UnsafeMutableRawPointer?
    /// Behind the last byte in the block.
    var end = 0
    /// What is not in a block yet.
    var text: ArraySlice<UInt8> = []
    var mask = FrameMask(0)
    /// Bytes of the whole text, whose memory goes with the piece.
    var textCount = 0
  }

  /// What the queue takes counts of the memory for such; nil where nothing is counted.
  private let memory: MemoryHold?
  private let pool: Pool
  /// Those before `first` have been given back already.
  private var pieces: [Piece] = []
  private var first = 0
  /// Offset of the first byte in the first block.
  private var start = 0

  /// How many bytes wait.
  private(set) var byteCount = 0
  var isEmpty: Bool { byteCount == 0 }
  /// Bytes that were written.
  private(set) var taken = 0
  /// Bytes that were put in.
  var given: Int { taken + byteCount }
  /// Everything was forgotten.
  private(set) var isOver = false
  /// What of it no program asked for.
  private(set) var control: ControlBacklog

  /// - Parameters:
  ///   - controlLimit: most bytes of what no program asked for.
  ///   - memory: what the queue counts as; nil counts nothing.
  init(pool: Pool, controlLimit: Int = 256 << 10, memory: MemoryHold? = nil) {
    self.pool = pool
    self.memory = memory
    control = ControlBacklog(limit: controlLimit)
  }

  /// The last `count` bytes are something that no program asked for.
  func noteControl(_ count: Int) { control.add(count, taken: taken, waiting: byteCount) }

  deinit { giveBackAll() }

  /// Copies bytes to the end.
  func append(_ bytes: UnsafeRawBufferPointer) {
    append(bytes) { piece, place in place.copyMemory(from: piece) }
  }

  /// Puts bytes at the end, masked.
  func append(_ bytes: UnsafeRawBufferPointer, mask: UInt32) {
    var mask = FrameMask(mask)
    append(bytes, &mask)
  }

  /// Puts a frame at the end: its head as it is, and its payload masked.
  func append(_ head: FrameHead, _ payload: UnsafeRawBufferPointer, mask: UInt32) {
    let (room, count) = (room(), head.count + payload.count)
    guard count <= room.count else {
      head.withBytes { append($0) }
      return append(payload, mask: mask)
    }
    head.withBytes { room.copyMemory(from: $0) }
    var mask = FrameMask(mask)
    mask.apply(payload, to: UnsafeMutableRawBufferPointer(rebasing: room[head.count..<count]))
    filled(count)
  }

  private func append(_ bytes: UnsafeRawBufferPointer, _ mask: inout FrameMask) {
    append(bytes) { piece, place in mask.apply(piece, to: place) }
  }

  /// Puts bytes at the end and a long text behind them, masked as one. The text is kept as it is, and masked and copied
  /// only piece by piece as the socket takes it, so that other clients do not wait for all of it at once.
  func append(_ head: UnsafeRawBufferPointer, then text: ArraySlice<UInt8>, mask: UInt32) {
    var mask = FrameMask(mask)
    append(head, &mask)
    guard !text.isEmpty else { return }
    pieces.append(Piece(block: nil, text: text, mask: mask, textCount: text.count))
    byteCount += text.count
    takes(text.count)
  }

  @inline(__always)
  private func append(
    _ bytes: UnsafeRawBufferPointer, _ put: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Void
  ) {
    var rest = bytes
    while !rest.isEmpty {
      let room = room()
      let count = min(rest.count, room.count)
      put(UnsafeRawBufferPointer(rebasing: rest[..<count]), UnsafeMutableRawBufferPointer(rebasing: room[..<count]))
      filled(count)
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Where the next bytes go; never empty. `filled` says how many of them were put there.
  @inline(__always)
  private func room() -> UnsafeMutableRawBufferPointer {
    let last = pieces.count - 1
    // Nothing comes behind a text in its block.
    if last >= first, let block = pieces[last].block, pieces[last].end < Self.blockSize, pieces[last].text.isEmpty {
      let end = pieces[last].end
      return UnsafeMutableRawBufferPointer(start: block + end, count: Self.blockSize - end)
    }
    let block = takeBlock()
    pieces.append(Piece(block: block))
    return UnsafeMutableRawBufferPointer(start: block, count: Self.blockSize)
  }

  @inline(__always)
  private func filled(_ count: Int) {
    pieces[pieces.count - 1].end += count
    byteCount += count
  }

  private func takeBlock() -> UnsafeMutableRawPointer {
    takes(Self.blockSize)
    return pool.take()
  }

  private func takes(_ difference: Int) {
    if let memory { memory.set(memory.count + difference) }
  }

  /// The next bytes to write: at least one unless the queue is empty. They stay where they are until `consume`.
  var front: UnsafeRawBufferPointer? {
    guard first < pieces.count else { return nil }
    if pieces[first].end == start, !pieces[first].text.isEmpty { fill() }
    guard let block = pieces[first].block else { return nil }
    return UnsafeRawBufferPointer(start: block + start, count: pieces[first].end - start)
  }

  /// Puts the next bytes of the first text into its block, from the block's beginning.
  private func fill() {
    let block = pieces[first].block ?? takeBlock()
    let count = min(pieces[first].text.count, Self.blockSize)
    var mask = pieces[first].mask
    pieces[first].text.withUnsafeBytes { text in
      mask.apply(
        UnsafeRawBufferPointer(rebasing: text[..<count]), to: UnsafeMutableRawBufferPointer(start: block, count: count))
    }
    pieces[first].block = block
    pieces[first].mask = mask
    pieces[first].text.removeFirst(count)
    pieces[first].end = count
    start = 0
  }

  /// Lets go of the first bytes of `front`, which were written.
  func consume(_ count: Int) {
    start += count
    byteCount -= count
    taken &+= count
    guard start == pieces[first].end, pieces[first].text.isEmpty else { return }
    let block = pieces[first].block
    if let block { pool.giveBack(block) }
    takes(-pieces[first].textCount - (block == nil ? 0 : Self.blockSize))
    start = 0
    // Mostly it is the only one.
    guard pieces.count > 1 else {
      pieces.removeLast()
      return
    }
    // The text's memory goes with it.
    pieces[first] = Piece(block: nil)
    first += 1
    if first == pieces.count || first == 1_024 {
      pieces.removeFirst(first)
      first = 0
    }
  }

  /// Forgets everything.
  func removeAll() {
    isOver = true
    giveBackAll()
    memory?.set(0)
    pieces = []
    (first, start, byteCount) = (0, 0, 0)
  }

  private func giveBackAll() {
    for piece in pieces[first...] {
      if let block = piece.block { pool.giveBack(block) }
    }
  }
}
