import Glibc

/// Standard output: data only, written in whole lines.
final class Output {
  private var pending: [UInt8] = []
  private let descriptor: Int32
  /// Text that is kept back at most before it is written.
  private static let flushLimit = 64 * 1024

  init(descriptor: Int32 = STDOUT_FILENO) { self.descriptor = descriptor }

  /// Adds a line; the line feed is added here.
  func line(_ bytes: [UInt8]) throws(Failure) {
    pending += bytes
    pending.append(UInt8(ascii: "\n"))
    if pending.count >= Self.flushLimit { try flush() }
  }

  /// Adds text as it is.
  func text(_ text: String) { pending += text.utf8 }

  /// Writes what was added. Throws `Failure.outputClosed` when nobody reads any more.
  func flush() throws(Failure) {
    var written = 0
    while written < pending.count {
      let count = pending.withUnsafeBytes { write(descriptor, $0.baseAddress.map { $0 + written }, $0.count - written) }
      if count >= 0 {
        written += count
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN: waitUntilWritable()
      case EPIPE: throw .outputClosed
      default:
        let reason = SystemText.ofError(errno)
        throw Failure(.dataLost, "standard output cannot be written: \(reason); what was to be printed is lost")
      }
    }
    pending.removeAll(keepingCapacity: true)
  }

  private func waitUntilWritable() {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    _ = poll(&entry, 1, -1)
  }
}
