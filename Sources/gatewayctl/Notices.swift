import Glibc

/// Standard error: one line per fact, never data.
struct Notices: Sendable {
  var verbosity: Settings.Verbosity = .normal

  /// Always said.
  func error(_ text: String) { Self.say(text) }
  /// Said unless `--quiet`.
  func notice(_ text: String) { if verbosity != .quiet { Self.say(text) } }
  /// Said with `--verbose`.
  func detail(_ text: String) { if verbosity == .verbose { Self.say(text) } }

  /// One line; what could break it or steer a terminal is written out.
  private static func say(_ text: String) {
    let line = Array("gatewayctl: \(TextWidth.escaped(text))\n".utf8)
    var written = 0
    while written < line.count {
      let count = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress.map { $0 + written }, $0.count - written) }
      guard count > 0 || (count < 0 && errno == EINTR) else { return }
      written += max(0, count)
    }
  }
}
