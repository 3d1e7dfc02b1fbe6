/// Why a line was not carried out.
public struct LocalRequestFailure: Error, Equatable, Sendable {
  /// What the error is answered to. Nil where the line was not understood, and for a notification.
  public var id: RequestID?
  public var error: LocalError
  /// False for a notification, which is never answered.
  public var answered: Bool

  public init(id: RequestID?, error: LocalError, answered: Bool) {
    self.id = id
    self.error = error
    self.answered = answered
  }
}
