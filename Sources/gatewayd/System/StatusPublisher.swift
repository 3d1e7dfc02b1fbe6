import GatewayCore

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
