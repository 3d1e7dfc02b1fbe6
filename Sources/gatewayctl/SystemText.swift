import Glibc

/// What the system calls its errors.
enum SystemText {
  static func ofError(_ code: Int32) -> String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}
