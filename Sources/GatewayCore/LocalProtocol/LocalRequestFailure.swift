/// Why a line was not carried out.
struct LocalRequestFailure: Error, Equatable, Sendable {
  /// What the error is answered to. Nil where the line was not understood, and for a notification.
  var id: RequestID?
  var error: LocalError
  /// False for a notification, which is never answered.
  var answered: Bool

  init(id: RequestID?, error: LocalError, answered: Bool) {
    self.id = id
    self.error = error
    self.answered = answered
  }
}
