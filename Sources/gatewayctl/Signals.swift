import Glibc

/// The signals that matter: interruption ends the program with 130, those that end it are passed on to the commands that
/// it runs, a child's end wakes the loop up.
enum Signals {
  /// Readable after a child has ended; -1 until `watchChildren` was called.
  nonisolated(unsafe) private(set) static var childPipe: Int32 = -1
  nonisolated(unsafe) private static var childPipeEnd: Int32 = -1

  /// What ends the program.
  private static let ending = [SIGINT, SIGTERM, SIGHUP]

  /// To be called first. A signal stays ignored where the program was started with it ignored, as in background jobs of
  /// scripts.
  static func install() {
    signal(SIGPIPE, SIG_IGN)
    ChildProcesses.prepare()
    // Whoever started this program may have blocked them in its own thread.
    var needed = sigset_t()
    sigemptyset(&needed)
    for number in ending + [SIGCHLD] { sigaddset(&needed, number) }
    sigprocmask(SIG_UNBLOCK, &needed, nil)
    for number in ending where !isIgnored(number) {
      signal(number) { number in
        ChildProcesses.signal(number)
        if number == SIGINT { _exit(ExitCode.interrupted.rawValue) }
        // Our own end is that of whoever did not ask for the signal.
        signal(number, SIG_DFL)
        raise(number)
      }
    }
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var current = sigaction()
    guard sigaction(number, nil, &current) == 0 else { return true }
    let ignored = unsafeBitCast(SIG_IGN, to: Int.self)
    return unsafeBitCast(current.__sigaction_handler.sa_handler, to: Int.self) == ignored
  }

  /// Does something that a signal which ends the program must not come between.
  static func holdingBack<Result>(_ body: () -> Result) -> Result {
    var held = sigset_t()
    sigemptyset(&held)
    for number in ending { sigaddset(&held, number) }
    var before = sigset_t()
    sigprocmask(SIG_BLOCK, &held, &before)
    defer { sigprocmask(SIG_SETMASK, &before, nil) }
    return body()
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
