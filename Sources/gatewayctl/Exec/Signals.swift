import Glibc

/// The signals that matter: interruption ends the program with 130, those that end it are passed on to the commands
/// that it runs, a child's end wakes the loop up.
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
    // The program that started this one may have blocked them in its own thread.
    var needed = sigset_t()
    sigemptyset(&needed)
    for number in ending + [SIGCHLD] { sigaddset(&needed, number) }
    sigprocmask(SIG_UNBLOCK, &needed, nil)
    for number in ending where !isIgnored(number) {
      signal(number) { number in
        ChildProcesses.signal(number)
        if number == SIGINT { _exit(ExitCode.interrupted.rawValue) }
        // Our own end is that of a program that did not ask for the signal.
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

/// The commands that run, where a signal handler may look for them: at a fixed place, without a lock or an allocation.
/// What ends this program early ends them as well, so that no command goes on without a program that hears of its end.
enum ChildProcesses {
  /// How many there may be.
  static let limit = 256

  /// For each the argument of `kill(2)`: a process, or a group as a negative number; 0 is a free place.
  nonisolated(unsafe) private static let targets: UnsafeMutablePointer<pid_t> = {
    let places = UnsafeMutablePointer<pid_t>.allocate(capacity: limit)
    places.initialize(repeating: 0, count: limit)
    return places
  }()

  /// To be called before the first signal: what is made at its first use is not made in a handler.
  static func prepare() { _ = targets }

  /// Whether commands get a group of their own, so that all that they start can be ended with them. Not in the
  /// foreground of a terminal, where a command may ask the person who sits there: a person is interrupted there
  /// with us.
  static var haveOwnGroup: Bool {
    let group = getpgrp()
    return !(0...2).contains { tcgetpgrp($0) == group }
  }

  /// Passes signals on to one more process.
  static func add(_ pid: pid_t, ownGroup: Bool) {
    guard let place = (0..<limit).first(where: { targets[$0] == 0 }) else { return }
    targets[place] = ownGroup ? -pid : pid
  }

  /// To be called with the signals held back, before the number can be another process's.
  static func remove(_ pid: pid_t) {
    for place in 0..<limit where targets[place] == pid || targets[place] == -pid { targets[place] = 0 }
  }

  /// Passes a signal on to all of them. May be called in a signal handler.
  static func signal(_ number: Int32) {
    for place in 0..<limit where targets[place] != 0 { kill(targets[place], number) }
  }
}
