import CLinux
import Glibc

/// The one way from another thread to the loop: values are posted from anywhere and read on the loop, in the order of
/// posting. The loop is woken once for any number of letters.
///
/// `letters` is only touched under `lock`, which is why this may be called `Sendable`. The lock is a plain pthread
/// mutex because the thread sanitizer understands it.
final class Mailbox<Letter: Sendable>: @unchecked Sendable {
  /// An eventfd, readable while there are letters. Non-blocking and close-on-exec.
  let descriptor: Int32
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var letters: [Letter] = []

  init() throws(SystemError) {
    descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
    pthread_mutex_init(lock, nil)
    if descriptor < 0 { throw SystemError("make a mailbox") }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
    pthread_mutex_destroy(lock)
    lock.deallocate()
  }

  /// Callable from any thread.
  func post(_ letter: Letter) {
    pthread_mutex_lock(lock)
    letters.append(letter)
    let isFirst = letters.count == 1
    pthread_mutex_unlock(lock)
    if isFirst { ring() }
  }

  /// Takes everything that was posted; called on the loop when the descriptor is readable.
  func collect() -> [Letter] {
    var count: UInt64 = 0
    _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    let collected = letters
    letters = []
    return collected
  }

  private func ring() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
  }
}
