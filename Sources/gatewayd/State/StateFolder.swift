import GatewayCore
import Glibc

/// A folder of what survives a restart. It is locked for as long as this object lives, so that two daemons never
/// share it; the kernel drops the lock when the daemon ends in whatever way.
final class StateFolder {
  /// Which folder is meant.
  struct Choice: Equatable {
    var path: String
    /// The administrator named it for this daemon: another daemon that has it is a mistake worth stopping for.
    var isNamed: Bool

    /// The first of: `$STATE_DIRECTORY` (its first path), `configured` (`state.path`), `gatewayd` in `$XDG_STATE_HOME`,
    /// and the default, which for a user's own daemon is `~/.local/state/gatewayd`. A variable that is empty counts as
    /// unset.
    static func resolve(configured: String?, user: Bool, environment: (String) -> String?) -> Choice {
      func variable(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
      if let folders = variable("STATE_DIRECTORY") {
        return Choice(path: String(folders.prefix { $0 != ":" }), isNamed: true)
      }
      if let configured { return Choice(path: configured, isNamed: true) }
      if let home = variable("XDG_STATE_HOME") { return Choice(path: home + "/gatewayd", isNamed: user) }
      if user, let home = variable("HOME") { return Choice(path: home + "/.local/state/gatewayd", isNamed: false) }
      return Choice(path: "/var/lib/gatewayd", isNamed: false)
    }
  }

  /// Which of the daemon's folders it is.
  enum Purpose: String {
    /// What outlives the machine's restarts.
    case state = "state folder"
    /// What outlives those of the daemon.
    case runtime = "runtime folder"

    /// Where such a folder is named, in the order of precedence.
    fileprivate var advice: String {
      switch self {
      case .state: "name another folder in $STATE_DIRECTORY or state.path"
      case .runtime: "name another folder in $RUNTIME_DIRECTORY"
      }
    }
  }

  /// In the folder.
  static let lockName = "lock"

  let path: String
  private let lock: Int32

  /// Makes the folder for its owner alone if it is not there, and locks it.
  init(_ path: String, _ purpose: Purpose = .state) throws(StorageProblem) {
    self.path = path
    try Self.make(path, purpose)
    let file = path + "/" + Self.lockName
    let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.problem(SystemError("open \(file)"), purpose) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let isTaken = errno == EWOULDBLOCK
      let problem = Self.problem(SystemError("lock \(file)"), purpose)
      close(descriptor)
      throw isTaken
        ? StorageProblem(
          .locked, "another gatewayd uses the \(purpose.rawValue) \(path): stop it, or \(purpose.advice)")
        : problem
    }
    lock = descriptor
  }

  deinit { close(lock) }

  private static func make(_ path: String, _ purpose: Purpose) throws(StorageProblem) {
    var place = ""
    for part in path.split(separator: "/") {
      place += "/" + part
      guard mkdir(place, 0o700) != 0 else { continue }
      let error = SystemError("make the \(purpose.rawValue) \(place)")
      guard error.code != EEXIST, access(place, F_OK) != 0 else { continue }
      throw problem(error, purpose)
    }
    var facts = stat()
    guard stat(path, &facts) == 0 else { throw problem(SystemError("use the \(purpose.rawValue) \(path)"), purpose) }
    guard facts.st_mode & S_IFMT == S_IFDIR else {
      throw StorageProblem(.folder, "cannot use \(path) as the \(purpose.rawValue): it is no folder")
    }
  }

  private static func problem(_ error: SystemError, _ purpose: Purpose) -> StorageProblem {
    switch error.code {
    case EROFS: StorageProblem(.readOnly, error.description)
    // The folder is another user's: the disk would take it.
    case EACCES, EPERM: StorageProblem(.folder, "\(error.description); \(purpose.advice)")
    default: StorageProblem(.folder, error.description)
    }
  }
}
