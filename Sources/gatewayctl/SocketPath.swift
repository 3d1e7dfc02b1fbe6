/// Where the daemon listens.
enum SocketPath {
  /// What `sun_path` holds beside its final NUL.
  static let longest = 107

  /// The option, then `$GATEWAYD_SOCKET`, then the user's own daemon if there is one, then the machine's.
  static func choose(option: String?, environment: Environment) throws(Failure) -> String {
    let path = option ?? environment["GATEWAYD_SOCKET"] ?? ofUser(environment) ?? "/run/gatewayd.sock"
    guard !path.isEmpty else { throw Failure(.usage, "the socket path is empty; write --socket PATH") }
    guard path.utf8.count <= longest else {
      throw Failure(.usage, "the socket path is longer than \(longest) bytes; use a shorter one or a symbolic link")
    }
    return path
  }

  private static func ofUser(_ environment: Environment) -> String? {
    guard let directory = environment["XDG_RUNTIME_DIR"] else { return nil }
    let path = "\(directory)/gatewayd.sock"
    return environment.fileExists(path) ? path : nil
  }
}
