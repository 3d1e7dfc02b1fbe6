/// Where the daemon listens when systemd passed it no socket. Decision 0096.
enum SocketPath {
  /// Without `--user`.
  static let system = "/run/gatewayd.sock"
  /// With `--user`, inside `$XDG_RUNTIME_DIR`.
  static let userName = "gatewayd.sock"

  /// The first of: `option` (`--socket`), `$GATEWAYD_SOCKET`, `configured` (`socket.path`), and the default. A
  /// variable that is set but empty counts as unset.
  static func resolve(
    option: String?, configured: String?, user: Bool, environment: (String) -> String?
  ) throws(StartFailure) -> String {
    if let option { return option }
    if let variable = nonEmpty(environment("GATEWAYD_SOCKET")) { return variable }
    if let configured { return configured }
    guard user else { return system }
    guard let directory = nonEmpty(environment("XDG_RUNTIME_DIR")) else {
      throw StartFailure(.usage, "--user needs $XDG_RUNTIME_DIR, which is not set: name a socket with --socket PATH")
    }
    return directory.hasSuffix("/") ? directory + userName : directory + "/" + userName
  }

  private static func nonEmpty(_ text: String?) -> String? {
    guard let text, !text.isEmpty else { return nil }
    return text
  }
}
