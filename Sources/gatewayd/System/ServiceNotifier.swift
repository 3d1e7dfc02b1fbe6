import CSystemdDaemon
import GatewayCore
import Glibc

/// The daemon's side of the service manager's protocol (sd_notify(3), sd_listen_fds(3)). Without a service manager
/// every call does nothing.
final class ServiceNotifier {
  /// The configuration is valid and the socket accepts. Also ends a reload, a failed one too.
  func ready(status: String) {
    send("READY=1\nSTATUS=\(Self.oneLine(status))")
  }

  /// One line for `systemctl status`.
  func status(_ text: String) {
    send("STATUS=\(Self.oneLine(text))")
  }

  /// A reload began; `ready` must follow.
  func reloading() {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    send("RELOADING=1\nMONOTONIC_USEC=\(Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1_000)")
  }

  /// The orderly stop began.
  func stopping() {
    send("STOPPING=1\nSTATUS=stopping")
  }

  /// Leaves descriptors in the fd store, where the next daemon finds them by these names. Whether there is room for them
  /// nothing tells.
  func store(_ descriptors: [(name: String, descriptor: Int32)]) throws(SystemError) {
    for (name, descriptor) in descriptors {
      var descriptor = descriptor
      let result = sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=\(name)\nFDPOLL=0", &descriptor, 1)
      guard result > 0 else { throw SystemError("leave descriptors with the service manager", code: -result) }
    }
    // The manager may know the sender only for as long as it lives.
    _ = sd_notify_barrier(0, Self.barrierLimit)
  }

  /// Takes out of the store what was left there under these names.
  func removeStored(_ names: [String]) {
    for name in names { send("FDSTOREREMOVE=1\nFDNAME=\(name)") }
  }

  /// Microseconds.
  private static let barrierLimit: UInt64 = 1_000_000

  /// What the service manager passed to this process, close-on-exec and non-blocking. The environment variables are
  /// taken away, so a second call finds nothing and no child takes the sockets for its own.
  static func takePassedSockets() -> [PassedSocket] {
    var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = sd_listen_fds_with_names(1, &names)
    guard count > 0, let names else { return [] }
    defer { free(names) }
    return (0..<count).map { index in
      let descriptor = 3 + index  // SD_LISTEN_FDS_START
      let flags = fcntl(descriptor, F_GETFL)
      if flags >= 0 { _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) }
      let name = names[Int(index)]
      defer { free(name) }
      return PassedSocket(
        descriptor: descriptor, name: name.map { String(cString: $0) } ?? "",
        isUnixListener: gw_is_unix_listener(descriptor) > 0)
    }
  }

  private func send(_ state: String) {
    // Nothing to do about a failure: the service manager notices a missing READY=1 by itself.
    _ = sd_notify(0, state)
  }

  private static func oneLine(_ text: String) -> String {
    String(text.unicodeScalars.map { $0.value < 32 ? " " : Character($0) })
  }
}

/// Keeps the service manager's status line up to date: at most once a second, and only when the text has changed.
final class StatusPublisher {
  /// Says how things are, in one line.
  var summary: () -> String = { "" }
  /// Told to hand the text on.
  var publish: (String) -> Void = { _ in }
  private let timers: Timers
  private var last: String?
  private var pending: Timers.ID?

  /// Time between a change and its publication, so that a storm of changes costs one datagram.
  static let delay: Duration = .seconds(1)

  init(timers: Timers) { self.timers = timers }

  /// Something happened that may have changed the summary.
  func changed() {
    guard pending == nil else { return }
    pending = timers.after(Self.delay) { [unowned self] in
      pending = nil
      let text = summary()
      guard text != last else { return }
      last = text
      publish(text)
    }
  }

  /// The text that was published by other means, such as together with `READY=1`.
  func published(_ text: String) { last = text }

  /// Publishes nothing more.
  func stop() {
    timers.cancel(pending)
    pending = nil
  }
}
