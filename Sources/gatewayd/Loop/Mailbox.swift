import CLinux
import Glibc
import Synchronization

/// The one way from another thread to the loop: values are posted from anywhere and read on the loop, in the order of
/// posting. The loop is woken once for any number of letters.
final class Mailbox<Letter: Sendable>: Sendable {
  private let letters = Mutex<[Letter]>([])
  /// An eventfd, readable while there are letters. Non-blocking and close-on-exec.
  let descriptor: Int32

  init() throws(SystemError) {
    descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
    if descriptor < 0 { throw SystemError("make a mailbox") }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Callable from any thread.
  func post(_ letter: Letter) {
    let first = letters.withLock { letters in
      letters.append(letter)
      return letters.count == 1
    }
    if first { ring() }
  }

  /// Takes everything that was posted; called on the loop when the descriptor is readable.
  func collect() -> [Letter] {
    var count: UInt64 = 0
    _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    return letters.withLock { letters in
      let collected = letters
      letters = []
      return collected
    }
  }

  private func ring() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
  }
}
