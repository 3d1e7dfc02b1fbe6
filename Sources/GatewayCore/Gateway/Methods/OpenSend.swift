/// A `send` or `request` that waits for its outcome.
final class OpenSend: OpenCall {
  /// How the outcome is told to the caller.
  enum Form: Equatable {
    case request
    case send(DeliveryLevel)
  }

  let target: Connection
  let form: Form
  private let command: Command

  init(_ id: RequestID?, _ command: Command, _ form: Form, on target: Connection) {
    self.command = command
    self.form = form
    self.target = target
    super.init(id)
  }

  override var connection: Connection? { target }
  override var outlivesStop: Bool { true }

  override func cancel(in session: LocalSession) {
    let gateway = session.gateway
    gateway.outbox.retract(command)
    if target.takeBack(command) {
      gateway.keys.note(command, state: nil)
    } else {
      target.forget(command)
      gateway.keys.note(command, state: "lost")
    }
  }
}
