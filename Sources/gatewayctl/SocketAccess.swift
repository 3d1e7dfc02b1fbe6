import Glibc

/// Explains why a socket cannot be opened.
enum SocketAccess {
  /// Something else has the path, such as a file or a directory.
  static func isNoSocket(_ path: String) -> Bool {
    var facts = stat()
    return stat(path, &facts) == 0 && facts.st_mode & S_IFMT != S_IFSOCK
  }

  static func denied(_ path: String) -> Failure {
    Failure(.permissionDenied, "permission denied for \(path); \(advice(path))")
  }

  private static func advice(_ path: String) -> String {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return "a directory above it is closed to you" }
    return advice(mode: facts.st_mode, group: facts.st_gid)
  }

  /// The same for a socket of that mode and group. Nobody is sent into the group of root.
  static func advice(mode: mode_t, group: gid_t) -> String {
    guard mode & S_IWGRP != 0 else { return "only its owner may use it" }
    guard group != 0 else {
      return "its group is that of root: use sudo, or name another group in socket.group of the daemon's configuration"
    }
    guard let name = name(ofGroup: group) else { return "it is open to group \(group)" }
    return "it is open to group '\(name)': join with 'adduser USER \(name)' and log in again"
  }

  /// As `/etc/group` has it, each line of which is `name:password:number:members`. The C library's own look-up would need
  /// shared libraries.
  private static func name(ofGroup wanted: gid_t) -> String? {
    guard let file = fopen("/etc/group", "re") else { return nil }
    defer { fclose(file) }
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    while getline(&line, &capacity, file) > 0, let line {
      let fields = String(cString: line).split(separator: ":", omittingEmptySubsequences: false)
      if fields.count > 2, gid_t(fields[2]) == wanted { return String(fields[0]) }
    }
    return nil
  }
}
