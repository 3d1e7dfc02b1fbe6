/// Why the daemon cannot start: what is printed, and how it exits.
struct StartFailure: Error, Equatable {
  var status: ExitStatus
  /// One sentence for a person: what happened, and what to do next.
  var message: String

  init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }
}

/// How the daemon ends, as a number for the shell or the service manager. The values are those of sysexits.h and of
/// `gatewayctl`.
enum ExitStatus: Int32 {
  /// An orderly end.
  case success = 0
  /// The command line is wrong.
  case usage = 64
  /// The socket cannot be had: another daemon listens on it, or the system refused it.
  case unavailable = 69
  /// A fault of the daemon itself.
  case software = 70
  /// No right to do what was asked.
  case permission = 77
  /// The configuration is wrong.
  case configuration = 78
}
