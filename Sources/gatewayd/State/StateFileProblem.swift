import GatewayCore
import Glibc

/// What an administrator has to know about a call to the kernel for one of the daemon's files that failed.
extension StorageProblem {
  /// The last call failed.
  init(_ operation: String) { self.init(SystemError(operation)) }

  init(_ error: SystemError) {
    switch error.code {
    case ENOSPC, EDQUOT, EFBIG: self.init(.full, error.description)
    case EROFS: self.init(.readOnly, error.description)
    // They are another user's: the disk would take it.
    case EACCES, EPERM:
      self.init(.folder, "\(error.description); give the folder and its files to user \(geteuid())")
    default: self.init(.failed, error.description)
    }
  }

  /// Why the daemon's user cannot use a database, or make it; nil where it could. SQLite's own words for that are those
  /// for a broken disk.
  static func access(toDatabase path: String) -> StorageProblem? {
    let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    guard Glibc.access(folder, W_OK | X_OK) == 0 else { return StorageProblem("write into \(folder)") }
    for file in ["", "-wal", "-shm", "-journal"].map({ path + $0 }) {
      var facts = stat()
      guard stat(file, &facts) == 0 else { continue }
      if facts.st_mode & S_IFMT == S_IFDIR {
        return StorageProblem(.folder, "cannot use \(file): it is a folder, and no file")
      }
      guard Glibc.access(file, R_OK | W_OK) == 0 else { return StorageProblem("use \(file)") }
    }
    return nil
  }
}
