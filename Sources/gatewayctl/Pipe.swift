import Glibc

/// An anonymous pipe whose ends no child inherits by accident.
enum Pipe {
  static func open() throws(Failure) -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw Failure(.internalError, "no pipe can be opened: \(SystemText.ofError(errno)); close some files")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
