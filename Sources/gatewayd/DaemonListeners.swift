import GatewayCore
import Glibc

/// The sockets that the daemon listens on: those that systemd passed, else one of its own.
final class DaemonListeners {
  /// Listening, non-blocking, close-on-exec.
  let descriptors: [Int32]
  /// Passed by systemd, which goes on listening when this daemon is gone and whose file is not ours to touch.
  let arePassed: Bool
  /// Where clients find us; nil when systemd knows better.
  let path: String?
  /// Passed descriptors that serve no purpose here; they are closed.
  let ignored: [PassedSocket]
  /// `socket.path` of a configuration that was named on the command line, where the environment names another path:
  /// the command's author may expect the daemon there.
  let passedOver: String?
  private let file: SocketFile?

  init(
    options: CommandLineOptions, settings: SocketSettings, passed: [PassedSocket], environment: (String) -> String?
  ) throws(StartFailure) {
    let usable = try PassedSocket.listeners(among: passed)
    ignored = passed.filter { !usable.contains($0.descriptor) }
    ignored.forEach { close($0.descriptor) }
    arePassed = !usable.isEmpty
    guard usable.isEmpty else {
      descriptors = usable
      path = nil
      passedOver = nil
      file = nil
      return
    }
    let path = try SocketPath.resolve(
      option: options.socket, configured: settings.path, user: options.user, environment: environment)
    let file = try SocketFile(path: path, mode: settings.mode, group: settings.group)
    descriptors = [file.descriptor]
    self.path = path
    let isExpected = options.configuration != nil && options.socket == nil
    passedOver = isExpected ? settings.path.flatMap { $0 == path ? nil : $0 } : nil
    self.file = file
  }

  /// Takes our own file away.
  func remove() { file?.remove() }
}

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
