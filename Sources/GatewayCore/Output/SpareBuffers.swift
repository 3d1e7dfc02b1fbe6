/// Output buffers that are empty now. A client that has something to be sent takes the one that was used last, which is
/// still in the processor's caches; a client that has nothing holds none.
struct SpareBuffers: ~Copyable {
  private var buffers: ContiguousArray<UnsafeMutableRawBufferPointer> = []
  private(set) var byteCount = 0
  private var wasUsed = false
  /// More bytes than this are freed at once.
  private static let byteLimit = 16 << 20

  deinit { for buffer in buffers { buffer.deallocate() } }

  var isEmpty: Bool { buffers.isEmpty }

  /// Takes an empty buffer in.
  mutating func put(_ buffer: UnsafeMutableRawBufferPointer) {
    guard byteCount + buffer.count <= Self.byteLimit else { return buffer.deallocate() }
    buffers.append(buffer)
    byteCount += buffer.count
  }

  /// Hands out the buffer that came last; nil when there is none, or when it has not room for so many bytes.
  mutating func take(atLeast count: Int = 0) -> UnsafeMutableRawBufferPointer? {
    guard let buffer = buffers.last, buffer.count >= count else { return nil }
    buffers.removeLast()
    byteCount -= buffer.count
    wasUsed = true
    return buffer
  }

  /// Frees them all if none was asked for since the last call. Returns whether any is left.
  mutating func releaseIdle() -> Bool {
    defer { wasUsed = false }
    guard !wasUsed else { return !buffers.isEmpty }
    for buffer in buffers { buffer.deallocate() }
    buffers = []
    byteCount = 0
    return false
  }
}

/// Frees the spare output buffers of clients when none was needed for a while. An object of its own, because it is
/// told of nearly every event that comes alone, and need not know the gateway.
final class SpareRelease {
  private let timers: Timers
  private let releaseIdle: () -> Bool
  private var isLooking = false
  /// Buffers that were not needed for so long are freed.
  private static let patience: Duration = .seconds(5)

  /// `releaseIdle` frees what was not needed since it was called last, and says whether anything is left.
  init(_ timers: Timers, _ releaseIdle: @escaping () -> Bool) {
    self.timers = timers
    self.releaseIdle = releaseIdle
  }

  /// Looks again and again, until no spare buffer is left.
  func beginLooking() {
    guard !isLooking else { return }
    isLooking = true
    timers.after(Self.patience) { [self] in
      isLooking = false
      if releaseIdle() { beginLooking() }
    }
  }
}
