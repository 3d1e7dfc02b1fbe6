import Glibc

/// One descriptor held in reserve: when the process has none left, it is given up for a moment so that a newcomer can be
/// accepted, told why and closed, instead of waiting in the backlog and waking the loop for ever.
struct SpareDescriptor: ~Copyable {
  private var descriptor: Int32

  init() { descriptor = Self.reserve() }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Runs `body` while the descriptor is free for something else. False when there was none to give up.
  mutating func lend(_ body: () -> Void) -> Bool {
    guard descriptor >= 0 else {
      descriptor = Self.reserve()
      return false
    }
    close(descriptor)
    body()
    descriptor = Self.reserve()
    return true
  }

  private static func reserve() -> Int32 { open("/dev/null", O_RDONLY | O_CLOEXEC) }
}
