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
        Screen.restore()
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

  // MARK: A view on the terminal

  /// Readable after a signal that concerns the terminal; -1 until `watchTerminal` was called.
  nonisolated(unsafe) private(set) static var terminalPipe: Int32 = -1
  nonisolated(unsafe) private static var terminalPipeEnd: Int32 = -1

  /// Lets `terminalPipe` become readable when the terminal has another size, when the program is to stop, and when it
  /// goes on.
  static func watchTerminal() throws(Failure) {
    let ends = try Pipe.open()
    terminalPipe = ends.reading
    terminalPipeEnd = ends.writing
    for end in [ends.reading, ends.writing] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    for number in [SIGWINCH, SIGTSTP, SIGCONT] { watch(number) }
  }

  private static func watch(_ number: Int32) {
    signal(number) { number in
      let reason = errno
      var byte = UInt8(number)
      _ = write(Signals.terminalPipeEnd, &byte, 1)
      errno = reason
    }
  }

  /// The signals that came since the last time.
  static func takeTerminalSignals() -> Set<Int32> {
    var bytes = [UInt8](repeating: 0, count: 64)
    var numbers: Set<Int32> = []
    while true {
      let count = read(terminalPipe, &bytes, bytes.count)
      guard count > 0 else { return numbers }
      numbers.formUnion(bytes.prefix(count).map { Int32($0) })
    }
  }

  /// Stops the program, as the signal that was caught would have done, and returns when it goes on.
  static func stop(leaving leave: () -> Void) {
    leave()
    signal(SIGTSTP, SIG_DFL)
    raise(SIGTSTP)
    watch(SIGTSTP)
  }

  /// Starts a program in the foreground of the terminal. An interrupt from the keyboard is its own until it has ended.
  /// Nil: it could not be started.
  static func startInForeground(_ path: String, _ words: [String]) -> ForegroundProgram? {
    // A handler is not inherited over the start of a program, an ignored signal is.
    signal(SIGINT) { _ in }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    var vector = words.map { strdup($0) } + [nil]
    defer { for word in vector { free(word) } }
    var pid: pid_t = 0
    guard posix_spawn(&pid, path, &actions, nil, &vector, environ) == 0 else {
      install()
      return nil
    }
    ChildProcesses.add(pid, ownGroup: false)
    return ForegroundProgram(pid: pid)
  }

  /// Forgets the wake-ups so far.
  static func drainChildPipe() {
    var bytes = [UInt8](repeating: 0, count: 64)
    while read(childPipe, &bytes, bytes.count) > 0 {}
  }
}

/// A program that has the terminal for a while.
final class ForegroundProgram {
  private let pid: pid_t
  private var isCollected = false

  init(pid: pid_t) { self.pid = pid }

  /// Looks whether it has ended by itself, or by an interrupt from the keyboard.
  var hasEnded: Bool { collect(WNOHANG) }

  /// Ends it if it still runs, and waits for that. Interrupts are this program's own again.
  func end() {
    if !collect(WNOHANG) {
      kill(pid, SIGTERM)
      kill(pid, SIGCONT)
      while !collect(0) {}
    }
    Signals.install()
  }

  private func collect(_ options: Int32) -> Bool {
    if isCollected { return true }
    isCollected = Signals.holdingBack {
      guard waitpid(pid, nil, options) == pid else { return false }
      ChildProcesses.remove(pid)
      return true
    }
    return isCollected
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
