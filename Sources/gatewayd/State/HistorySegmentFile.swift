import GatewayCore
import Glibc

/// A segment of a history that is being written. It becomes visible under its own name by `publish`; without that it
/// goes with this object.
final class HistorySegmentFile: HistoryFile {
  private let descriptor: Int32
  private let temporary: String
  private let path: String
  private var isPublished = false
  /// Told when it is there under its own name.
  private let onPublish: () -> Void
  /// What was handed over completely, in bytes.
  private var size = 0

  /// For closing, which gives back what the file takes when its name is gone; nil: that is done at once.
  private let besideLoop: WorkBesideLoop?

  init(
    at temporary: String, later path: String, _ besideLoop: WorkBesideLoop? = nil, onPublish: @escaping () -> Void
  ) throws(StorageProblem) {
    self.besideLoop = besideLoop
    self.temporary = temporary
    self.path = path
    self.onPublish = onPublish
    unlink(temporary)
    descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if descriptor < 0 { throw StorageProblem("make \(temporary)") }
  }

  deinit {
    guard descriptor >= 0 else { return }
    if !isPublished { unlink(temporary) }
    if let besideLoop { besideLoop.close(descriptor) } else { close(descriptor) }
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws(StorageProblem) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let problem = StorageProblem("write \(isPublished ? path : temporary)")
        // What was written of it is nothing by itself.
        _ = ftruncate(descriptor, size)
        throw problem
      }
      rest = rest[(rest.startIndex + count)...]
    }
    size += bytes.count
  }

  func publish() throws(StorageProblem) {
    // A file of that name may be another program's: it is never replaced.
    guard link(temporary, path) == 0 else { throw StorageProblem("put \(temporary) in its place") }
    unlink(temporary)
    isPublished = true
    onPublish()
  }

  func sync() { fsync(descriptor) }
}
