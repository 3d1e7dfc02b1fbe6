/// How far what was given to an upgrading transport has come: over polling first, and then over the WebSocket, which is given
/// once more what polling had not sent.
final class UpgradeProgress: WriteProgress {
  /// From the switch on.
  private struct Rest {
    let webSocket: any WriteProgress
    /// Of polling, at the switch.
    let given: Int
    let taken: Int
    /// What the WebSocket was given up to the last message that polling had not sent.
    let end: Int
  }

  private let polling: any WriteProgress
  private var rest: Rest?

  init(_ polling: any WriteProgress) { self.polling = polling }

  /// The WebSocket has been given what polling had not sent, which had come so far.
  func switched(to webSocket: any WriteProgress, given: Int, taken: Int) {
    rest = Rest(webSocket: webSocket, given: given, taken: taken, end: webSocket.given)
  }

  var given: Int { rest.map { $0.given + $0.webSocket.given - $0.end } ?? polling.given }

  /// What polling had not sent is taken as a whole.
  var taken: Int {
    guard let rest else { return polling.taken }
    return rest.webSocket.taken < rest.end ? rest.taken : rest.given + rest.webSocket.taken - rest.end
  }

  var isOver: Bool { rest?.webSocket.isOver ?? polling.isOver }
}
