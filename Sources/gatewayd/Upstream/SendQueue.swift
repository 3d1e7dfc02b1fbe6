import GatewayCore

/// Bytes that wait for a socket, first in, first out, in blocks that never move: after a write that could not be
/// completed OpenSSL insists on being offered the same memory again. An empty queue holds no block.
final class SendQueue {
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

  private let pool: Pool
  /// Those before `first` have been given back already.
  private var blocks: [UnsafeMutableRawPointer] = []
  private var first = 0
  /// Offset of the first byte in the first block, and behind the last byte in the last one.
  private var start = 0
  private var end = 0

  /// How many bytes wait.
  private(set) var byteCount = 0
  var isEmpty: Bool { byteCount == 0 }

  init(pool: Pool) { self.pool = pool }

  deinit { blocks[first...].forEach(pool.giveBack) }

  /// Copies bytes to the end.
  func append(_ bytes: UnsafeRawBufferPointer) {
    append(bytes) { piece, place in place.copyMemory(from: piece) }
  }

  /// Puts bytes at the end, masked.
  func append(_ bytes: UnsafeRawBufferPointer, mask: UInt32) {
    var mask = FrameMask(mask)
    append(bytes) { piece, place in mask.apply(piece, to: place) }
  }

  @inline(__always)
  private func append(
    _ bytes: UnsafeRawBufferPointer, _ put: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Void
  ) {
    var rest = bytes
    while !rest.isEmpty {
      if first == blocks.count || end == Self.blockSize {
        blocks.append(pool.take())
        end = 0
      }
      let count = min(rest.count, Self.blockSize - end)
      let place = UnsafeMutableRawBufferPointer(start: blocks[blocks.count - 1] + end, count: count)
      put(UnsafeRawBufferPointer(rebasing: rest[..<count]), place)
      end += count
      byteCount += count
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// The next bytes to write: at least one unless the queue is empty. They stay where they are until `consume`.
  var front: UnsafeRawBufferPointer? {
    guard first < blocks.count else { return nil }
    let stop = first == blocks.count - 1 ? end : Self.blockSize
    return UnsafeRawBufferPointer(start: blocks[first] + start, count: stop - start)
  }

  /// Lets go of the first bytes of `front`, which were written.
  func consume(_ count: Int) {
    start += count
    byteCount -= count
    guard start == (first == blocks.count - 1 ? end : Self.blockSize) else { return }
    pool.giveBack(blocks[first])
    first += 1
    start = 0
    if first == blocks.count || first == 1_024 {
      blocks.removeFirst(first)
      first = 0
    }
    if blocks.isEmpty { end = 0 }
  }

  /// Forgets everything.
  func removeAll() {
    blocks[first...].forEach(pool.giveBack)
    blocks = []
    (first, start, end, byteCount) = (0, 0, 0, 0)
  }
}
