import Glibc

/// The commands that run, where a signal handler may look for them: at a fixed place, without a lock or an allocation.
/// What ends this program early ends them as well, so that no command goes on without anybody who hears of its end.
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

  /// Whether commands get a group of their own, so that all that they start can be ended with them. Not in the foreground
  /// of a terminal, where a command may ask the person who sits there: whoever is interrupted there is so with us.
  static var haveOwnGroup: Bool {
    let group = getpgrp()
    return !(0...2).contains { tcgetpgrp($0) == group }
  }

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
