import Glibc

/// The signals that matter: interruption ends the program with 130, a child's end wakes the loop up.
enum Signals {
  /// Readable after a child has ended; -1 until `watchChildren` was called.
  nonisolated(unsafe) private(set) static var childPipe: Int32 = -1
  nonisolated(unsafe) private static var childPipeEnd: Int32 = -1

  /// To be called first. Interruption stays ignored where the program was started with it ignored, as in background
  /// jobs of scripts.
  static func install() {
    signal(SIGPIPE, SIG_IGN)
    // Whoever started this program may have blocked them in its own thread.
    var needed = sigset_t()
    sigemptyset(&needed)
    sigaddset(&needed, SIGINT)
    sigaddset(&needed, SIGCHLD)
    sigprocmask(SIG_UNBLOCK, &needed, nil)
    var current = sigaction()
    guard sigaction(SIGINT, nil, &current) == 0 else { return }
    let ignored = unsafeBitCast(SIG_IGN, to: Int.self)
    guard unsafeBitCast(current.__sigaction_handler.sa_handler, to: Int.self) != ignored else { return }
    signal(SIGINT) { _ in _exit(ExitCode.interrupted.rawValue) }
  }

  /// Lets `childPipe` become readable whenever a child ends.
  static func watchChildren() throws(Failure) {
    guard childPipe < 0 else { return }
    let ends = try Pipe.open()
    childPipe = ends.reading
    childPipeEnd = ends.writing
    for end in [ends.reading, ends.writing] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    signal(SIGCHLD) { _ in
      let reason = errno
      var byte: UInt8 = 0
      _ = write(Signals.childPipeEnd, &byte, 1)
      errno = reason
    }
  }

  /// Forgets the wake-ups so far.
  static func drainChildPipe() {
    var bytes = [UInt8](repeating: 0, count: 64)
    while read(childPipe, &bytes, bytes.count) > 0 {}
  }
}
