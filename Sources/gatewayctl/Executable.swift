import Glibc

/// Finds out before the first event whether a command can be run.
enum Executable {
  /// Throws unless `word` is an executable file or the name of one in `$PATH`.
  static func check(_ word: String) throws(Failure) {
    if word.contains("/") {
      guard access(word, X_OK) == 0 else { throw unusable(word, errno) }
      return
    }
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    let directories = path.split(separator: ":", omittingEmptySubsequences: false)
    let isThere = directories.contains { access($0.isEmpty ? word : "\($0)/\(word)", X_OK) == 0 }
    guard isThere, !word.isEmpty else { throw unusable(word, ENOENT) }
  }

  /// The error of a command that cannot be started.
  static func unusable(_ word: String, _ code: Int32) -> Failure {
    let advice = code == E2BIG ? "its words and the environment are too much for a program" : "check its name"
    return Failure(.usage, "'\(word)' cannot be run: \(SystemText.ofError(code)); \(advice)")
  }
}
