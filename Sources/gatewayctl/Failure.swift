/// Why a command ends early: its exit code, and the line for stderr.
struct Failure: Error, Equatable, Sendable {
  var code: ExitCode
  /// What happened and what to do, in one line without a final full stop; nil ends quietly.
  var message: String?

  init(_ code: ExitCode, _ message: String) {
    self.code = code
    self.message = message
  }

  private init(quietly code: ExitCode) { self.code = code }

  /// Whoever read our output has gone: nothing is left to do, and nothing went wrong.
  static let outputClosed = Failure(quietly: .done)
}
