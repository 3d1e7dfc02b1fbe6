import CLinux
import Glibc

/// What the process sets up for itself before it does anything else.
enum DaemonSurroundings {
  /// Call first, before any thread exists.
  static func prepare() {
    openStandardDescriptors()
    umask(0o077)
    EventLoop.takeSignals([SIGTERM, SIGINT, SIGHUP, SIGCHLD])
    // A descriptor for each local client.
    limit(RLIMIT_NOFILE) { $0.rlim_cur = $0.rlim_max }
    WarmMemory.prepare()
  }

  /// Secrets live in memory. The limit alone would not do: the kernel ignores it for dumps that it pipes into a program.
  static func forbidCoreDumps() {
    limit(RLIMIT_CORE) { $0.rlim_cur = 0 }
    _ = gw_forbid_dumps()
  }

  /// A descriptor below 3 must never be a client's socket: what is meant for the standard error stream would go there.
  private static func openStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number is this one.
      _ = open("/dev/null", O_RDWR)
    }
  }

  /// A limit that cannot be changed stays as it is: every one of them is a precaution.
  private static func limit(_ resource: __rlimit_resource, _ change: (inout rlimit) -> Void) {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return }
    change(&limit)
    _ = setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
  }

  /// A variable of the environment.
  static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
