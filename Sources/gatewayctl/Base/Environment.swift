import Glibc

/// The parts of the process's environment that matter, as a value.
struct Environment: Sendable {
  /// The value of a variable; nil where it is not set, or empty.
  var variable: @Sendable (String) -> String?
  var outputIsTerminal: Bool
  var errorsAreTerminal: Bool
  /// Columns of the terminal that standard output is; nil where it is none, or has no size.
  var outputColumns: Int?
  /// Whose daemon is looked for.
  var user: UInt32 = 0
  var fileExists: @Sendable (String) -> Bool = { access($0, F_OK) == 0 }

  /// Those of this process.
  static func ofProcess() -> Environment {
    Environment(
      variable: { name in getenv(name).flatMap { $0.pointee == 0 ? nil : String(cString: $0) } },
      outputIsTerminal: isatty(STDOUT_FILENO) == 1, errorsAreTerminal: isatty(STDERR_FILENO) == 1,
      outputColumns: TerminalSize.of(STDOUT_FILENO)?.columns, user: geteuid())
  }

  /// `$XDG_RUNTIME_DIR`, or its usual place for a user without it, as in cron and with `su`; nil for root.
  var runtimeDirectory: String? { self["XDG_RUNTIME_DIR"] ?? (user == 0 ? nil : "/run/user/\(user)") }

  subscript(_ name: String) -> String? { variable(name) }
}

/// How large a terminal is now.
enum TerminalSize {
  /// `ioctl_tty(2)`; nil where the descriptor is no terminal, or has no size.
  static func of(_ descriptor: Int32) -> (rows: Int, columns: Int)? {
    var size: (rows: UInt16, columns: UInt16, width: UInt16, height: UInt16) = (0, 0, 0, 0)
    // TIOCGWINSZ of asm-generic/ioctls.h, which the C library's module leaves out.
    guard ioctl(descriptor, 0x5413, &size) == 0, size.columns > 0 else { return nil }
    return (Int(size.rows), Int(size.columns))
  }
}

/// The words of the command line as they were given. Swift's own list of them shows bytes that are no UTF-8 as U+FFFD,
/// which would then be sent.
enum ProgramWords {
  /// Those of this process, without its name. Throws for one that is no text.
  static func ofProcess() throws(Failure) -> [String] {
    var words: [String] = []
    for index in 1..<max(1, Int(CommandLine.argc)) {
      guard let bytes = CommandLine.unsafeArgv[index] else { break }
      guard let word = String(validatingCString: bytes) else {
        throw Failure(
          .badInput,
          "word \(index) of the command line is not valid UTF-8; write it in UTF-8, or send bytes with --binary FILE")
      }
      words.append(word)
    }
    return words
  }
}
