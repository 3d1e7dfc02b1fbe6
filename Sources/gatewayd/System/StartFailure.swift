import GatewayCore

/// Why the daemon cannot start: what is printed, and how it exits.
struct StartFailure: Error, Equatable {
  let status: ExitStatus
  /// One sentence for a person: what happened, and what to do next. With the usage behind it in a line of its own, where
  /// that helps. It is printed as it is: paths and words of the command line steer no terminal in it.
  let message: String

  init(_ status: ExitStatus, _ sentence: String, usage: String? = nil) {
    self.status = status
    message = sentence.escapingControls() + (usage.map { "\n\($0)" } ?? "")
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
