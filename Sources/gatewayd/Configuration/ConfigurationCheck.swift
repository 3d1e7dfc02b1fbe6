import GatewayCore

/// What `gatewayd --check-config` says: everything that a start would find in the configuration. Whether its places can be
/// had, as that of the socket, only the start finds: the service manager may pass another one, or make its folder first.
struct ConfigurationCheck: Equatable {
  /// Problems and warnings, one per line, each line with its end. For the standard error stream.
  var complaints: String
  /// One line about the whole, with its end. For the standard output stream; empty when the configuration is invalid.
  var summary: String
  /// Whether the daemon would take it.
  var isValid: Bool

  init(_ loader: FileConfigurationLoader) {
    let result = loader.load()
    let warnings = loader.warnings.map { warning in
      var line = warning
      line.message = "warning: \(warning.message)"
      return line
    }
    switch result {
    case .success(let configuration):
      complaints = Self.lines(warnings)
      let counts = [
        ("files", loader.read.count), ("upstreams", configuration.upstreams.count),
        ("access rules", configuration.access.count),
      ]
      summary = "configuration valid (\(counts.map { "\($0.0): \($0.1)" }.joined(separator: ", ")))\n"
      isValid = true
    case .failure(let problems):
      complaints = Self.lines(problems.all + warnings)
      summary = ""
      isValid = false
    }
  }

  private static func lines(_ problems: [ConfigurationProblem]) -> String {
    problems.map { "\($0)\n" }.joined()
  }
}
