import Glibc

/// Explains why a socket may not be opened.
enum SocketAccess {
  static func denied(_ path: String) -> Failure {
    Failure(.permissionDenied, "permission denied for \(path); \(advice(path))")
  }

  private static func advice(_ path: String) -> String {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return "a directory above it is closed to you" }
    guard facts.st_mode & S_IWGRP != 0 else { return "only its owner may use it" }
    guard let group = getgrgid(facts.st_gid), let name = group.pointee.gr_name else {
      return "it is open to group \(facts.st_gid)"
    }
    let text = String(cString: name)
    return "it is open to group '\(text)': join with 'adduser USER \(text)' and log in again"
  }
}
