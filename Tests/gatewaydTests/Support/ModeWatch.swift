import Glibc
import Synchronization

/// Looks at a file's mode again and again, on a thread of its own.
final class ModeWatch: Sendable {
  private struct State {
    var modes: Set<UInt32> = []
    var isStopped = false
    var isFinished = false
  }
  private let state = Mutex(State())

  /// Every mode that was seen.
  var modes: Set<UInt32> { state.withLock { $0.modes } }

  func watch(_ path: String) {
    while !state.withLock({ $0.isStopped }) {
      var status = stat()
      guard lstat(path, &status) == 0 else { continue }
      let mode = status.st_mode & 0o7777
      state.withLock { _ = $0.modes.insert(mode) }
    }
    state.withLock { $0.isFinished = true }
  }

  /// Returns when the thread has ended.
  func stop() {
    state.withLock { $0.isStopped = true }
    while !state.withLock({ $0.isFinished }) { sched_yield() }
  }
}
