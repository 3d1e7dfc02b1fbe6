import Glibc

/// How much memory the daemon occupies.
enum ResidentMemory {
  /// Bytes, from `/proc/self/statm`; 0 where that cannot be read.
  static var bytes: Int {
    let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return 0 }
    defer { close(descriptor) }
    var text = [UInt8](repeating: 0, count: 128)
    let count = read(descriptor, &text, text.count)
    guard count > 0 else { return 0 }
    let fields = text.prefix(count).split(separator: UInt8(ascii: " "))
    guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return 0 }
    return pages * sysconf(Int32(_SC_PAGESIZE))
  }
}
