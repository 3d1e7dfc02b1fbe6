import Glibc

/// The file descriptors of the process, as far as the kernel tells without a walk through them: with ten thousand
/// clients that would take longer than a turn of the loop may.
enum OpenDescriptors {
  /// How many are open; nil where the kernel does not say, which it does since Linux 6.2.
  static var count: Int? {
    var status = stat()
    guard stat("/proc/self/fd", &status) == 0, status.st_size > 0 else { return nil }
    return Int(status.st_size)
  }

  /// How many there may be, `LimitNOFILE=`.
  static var limit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
    return Int(clamping: limit.rlim_cur)
  }
}
