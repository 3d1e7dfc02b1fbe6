/// A call of a client as the daemon that goes on after a hand-over makes it once more.
struct CallContinuation: Equatable, Sendable {
  /// As the client would write the call. With an id it is not answered yet, without one it was, or never is.
  var line: [UInt8]
  /// The number of what came of it, where the daemon gave it one: that of a trace.
  var number: UInt64?
  /// The client made the call without an id: it is never answered, and its client waits for nothing.
  var isNotification = false
  /// Of a subscription: what waited and was let go of when the right to it was taken away, by the name of the event.
  var withheld: [ExactText: Backlog.Gap] = [:]
}
