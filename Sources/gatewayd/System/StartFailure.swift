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
