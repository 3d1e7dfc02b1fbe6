import GatewayCore
import Glibc

/// The kernel's random generator, read 256 bytes at a time: WebSocket frames draw from it for every message.
final class SystemRandom: RandomSource {
  private var pool = [UInt64](repeating: 0, count: 32)
  /// How many numbers of the pool are still unused; they are taken from its end and wiped.
  private var left = 0

  func bits() -> UInt64 {
    if left == 0 { refill() }
    left -= 1
    defer { pool[left] = 0 }
    return pool[left]
  }

  /// `getentropy` gives at most 256 bytes at once and fails only for larger requests.
  private func refill() {
    pool.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress, getentropy(base, bytes.count) == 0 else {
        fatalError("the kernel gives no random numbers")
      }
    }
    left = pool.count
  }
}
