import GatewayCore

/// What `gatewayd --check-config` says: everything that a start would find.
struct ConfigurationCheck: Equatable {
  /// EX_CONFIG of sysexits.h.
  static let invalidCode: Int32 = 78

  /// Problems and warnings, one per line, each line with its end. For the standard error stream.
  var complaints: String
  /// One line about the whole, with its end. For the standard output stream; empty when the configuration is invalid.
  var summary: String
  /// 0, or `invalidCode`.
  var exitCode: Int32

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
      summary =
        "configuration valid: \(loader.read.count) files, \(configuration.upstreams.count) upstreams, \(configuration.access.count) access rules\n"
      exitCode = 0
    case .failure(let problems):
      complaints = Self.lines(problems.all + warnings)
      summary = ""
      exitCode = Self.invalidCode
    }
  }

  private static func lines(_ problems: [ConfigurationProblem]) -> String {
    problems.map { "\($0)\n" }.joined()
  }
}
