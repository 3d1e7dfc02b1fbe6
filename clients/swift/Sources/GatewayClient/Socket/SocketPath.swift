import Glibc

/// Where the daemon is, and why it cannot be reached there.
enum SocketPath {
  /// What `sun_path` holds beside its final NUL.
  static let longest = 107

  /// By the rules of gatewayctl: the path that was given, `$GATEWAYD_SOCKET`, the user's own socket if there is one, the
  /// machine's.
  static func find(
    _ chosen: String?, variable: (String) -> String? = SocketPath.variable, user: UInt32 = geteuid(),
    exists: (String) -> Bool = { access($0, F_OK) == 0 }
  ) -> String {
    if let chosen, !chosen.isEmpty { return chosen }
    if let named = variable("GATEWAYD_SOCKET") { return named }
    // Where systemd has it, as in cron, which has no such variable.
    let runtime = variable("XDG_RUNTIME_DIR") ?? (user == 0 ? nil : "/run/user/\(user)")
    if let own = runtime.map({ "\($0)/gatewayd.sock" }), exists(own) { return own }
    return "/run/gatewayd.sock"
  }

  /// The name of this program, as far as the daemon takes names.
  static var programName: String {
    let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "swift"
    return cut(program.isEmpty ? "swift" : program)
  }

  /// At most the 128 bytes that a name may have.
  static func cut(_ name: String) -> String {
    var name = name
    while name.utf8.count > 128 { name.removeLast() }
    return name
  }

  /// Why `connect` failed.
  static func explain(_ number: Int32, _ path: String) -> GatewayError {
    let text = String(cString: strerror(number))
    switch number {
    case EACCES, ECONNREFUSED, ENOTSOCK:
      if isNoSocket(path) { return GatewayError(.protocolMismatch, "\(path) is no socket", retry: false) }
      guard number == EACCES else { break }
      return GatewayError(.socketForbidden, "permission denied for \(path)", retry: false)
    case EPERM: return GatewayError(.socketForbidden, "permission denied for \(path)", retry: false)
    case EPROTOTYPE: return GatewayError(.protocolMismatch, "\(path) is no stream socket", retry: false)
    case ENAMETOOLONG:
      let advice = "the path \(path) is longer than the \(longest) bytes of a socket's; use a symbolic link"
      return GatewayError(.protocolMismatch, advice, retry: false)
    default: break
    }
    return GatewayError(.daemonUnavailable, "no daemon answers at \(path): \(text)", retry: true)
  }

  private static func isNoSocket(_ path: String) -> Bool {
    var facts = stat()
    return stat(path, &facts) == 0 && facts.st_mode & S_IFMT != S_IFSOCK
  }

  /// A variable of the environment; an empty one counts as unset.
  static func variable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }
}
