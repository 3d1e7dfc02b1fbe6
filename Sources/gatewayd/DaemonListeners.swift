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
  /// `socket.path` of a configuration that was named on the command line, where the environment names another path: whoever
  /// wrote the command may expect the daemon there.
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
