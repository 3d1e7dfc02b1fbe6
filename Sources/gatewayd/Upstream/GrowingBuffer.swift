/// Memory for one message at a time: taken when it is first needed, grown for a large message, and given back after it.
final class GrowingBuffer {
  /// What is kept between messages, in bytes.
  static let keptCount = 64 << 10

  private(set) var bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  deinit { bytes.deallocate() }

  /// At least `count` bytes; what was in it is lost.
  func reserve(_ count: Int) {
    guard bytes.count < count else { return }
    bytes.deallocate()
    bytes = .allocate(byteCount: max(count, Self.keptCount), alignment: 16)
  }

  /// Twice as many bytes, with what was in it; not beyond `limit` unless it is below what is kept anyway.
  func grow(atMost limit: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(Self.keptCount, min(bytes.count * 2, limit)), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(bytes))
    bytes.deallocate()
    bytes = larger
  }

  /// Gives back what is not kept.
  func shrink() {
    guard bytes.count > Self.keptCount else { return }
    bytes.deallocate()
    bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }
}
