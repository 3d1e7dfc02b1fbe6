import Glibc

/// Memory for one message at a time: taken when it is first needed, grown for a large message, and given back after it.
final class GrowingBuffer {
  /// What is kept between messages, in bytes.
  static let keptCount = 64 << 10

  private(set) var bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  deinit { free(bytes.baseAddress) }

  /// At least `count` bytes; what was in it is lost.
  func reserve(_ count: Int) {
    guard bytes.count < count else { return }
    free(bytes.baseAddress)
    bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    resize(max(count, Self.keptCount))
  }

  /// Twice as many bytes, with what was in it; not beyond `limit` unless it is below what is kept anyway. What is large is
  /// not copied for it: the kernel gives the same pages another address.
  func grow(atMost limit: Int) { resize(max(Self.keptCount, min(bytes.count * 2, limit))) }

  /// Gives back what is not kept.
  func shrink() {
    guard bytes.count > Self.keptCount else { return }
    free(bytes.baseAddress)
    bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }

  private func resize(_ count: Int) {
    guard let larger = realloc(bytes.baseAddress, count) else { fatalError("out of memory") }
    bytes = UnsafeMutableRawBufferPointer(start: larger, count: count)
  }
}
