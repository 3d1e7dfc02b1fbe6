import Glibc

/// The parts of the process's environment that matter, as a value.
struct Environment: Sendable {
  var variables: [String: String]
  var outputIsTerminal: Bool
  var errorsAreTerminal: Bool
  var fileExists: @Sendable (String) -> Bool = { access($0, F_OK) == 0 }

  /// Those of this process. Empty variables count as unset.
  static func ofProcess() -> Environment {
    var variables: [String: String] = [:]
    for name in ["GATEWAYD_SOCKET", "XDG_RUNTIME_DIR", "NO_COLOR", "FORCE_COLOR", "TERM"] {
      if let value = getenv(name), value.pointee != 0 { variables[name] = String(cString: value) }
    }
    return Environment(
      variables: variables, outputIsTerminal: isatty(STDOUT_FILENO) == 1, errorsAreTerminal: isatty(STDERR_FILENO) == 1)
  }

  subscript(_ name: String) -> String? { variables[name] }
}
