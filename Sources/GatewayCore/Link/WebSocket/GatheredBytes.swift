/// Bytes that come in pieces, in memory of just the size that they were announced with. Decision 0065.
struct GatheredBytes: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var count = 0

  deinit { memory.deallocate() }

  /// What has come so far; valid until the next change.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  /// Takes another piece. `expected` is how many bytes there will be in all, as far as that is known: where it grows, so
  /// does the memory. What nothing was written to yet takes no memory of the machine.
  mutating func append(_ piece: UnsafeRawBufferPointer, expecting expected: Int) {
    let needed = max(expected, count + piece.count)
    if memory.count < needed { grow(needed) }
    UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + piece.count]).copyMemory(from: piece)
    count += piece.count
  }

  /// Lets go of everything.
  mutating func free() {
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    count = 0
  }

  /// Many small frames must not be copied again for each of them.
  private mutating func grow(_ needed: Int) {
    let size = memory.isEmpty ? needed : max(needed, memory.count * 2)
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    larger.copyMemory(from: bytes)
    memory.deallocate()
    memory = larger
  }
}
