import GatewayCore
import Glibc

/// How much memory the daemon occupies. Asking the kernel takes as long as a call does otherwise, so that an answer is
/// good for `validity`.
final class ResidentMemory {
  static let validity: Duration = .milliseconds(100)

  private let time: any TimeSource
  private let read: () -> Int
  private var last: (bytes: Int, at: MonotonicInstant)?

  init(time: any TimeSource, read: @escaping () -> Int = ResidentMemory.fromKernel) {
    self.time = time
    self.read = read
  }

  /// Bytes; 0 where the kernel does not say.
  var bytes: Int {
    let now = time.now
    if let last, now < last.at + Self.validity { return last.bytes }
    let bytes = read()
    last = (bytes, now)
    return bytes
  }

  /// From `/proc/self/statm`.
  static func fromKernel() -> Int {
    let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return 0 }
    defer { close(descriptor) }
    var text = [UInt8](repeating: 0, count: 128)
    let count = Glibc.read(descriptor, &text, text.count)
    guard count > 0 else { return 0 }
    let fields = text.prefix(count).split(separator: UInt8(ascii: " "))
    guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return 0 }
    return pages * sysconf(Int32(_SC_PAGESIZE))
  }
}
