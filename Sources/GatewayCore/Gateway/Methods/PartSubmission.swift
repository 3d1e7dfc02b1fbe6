/// How the parts of a `send` or `request` become one call. Whether its caller may make it is asked with the first part,
/// before anything is kept, and again where the whole call is made.
enum PartSubmission {
  /// Submits what is asked for, as soon as no part is missing.
  static func begin(
    _ call: SendParameters, _ form: SendForm, _ id: RequestID?, in session: LocalSession
  ) throws(LocalError) {
    guard let part = call.part else { return try SendSubmission.begin(call, form, id, in: session) }
    guard part.isLast || id == nil else {
      throw .invalid(
        ParameterName.part.text, "Only the last part of a message is answered: send the others without an `id`.")
    }
    let message = try session.makeParts().take(part) { () throws(LocalError) in try bounds(call, form, in: session) }
    if let message { try SendSubmission.begin(call.with(message), form, id, in: session) }
  }

  private static func bounds(
    _ call: SendParameters, _ form: SendForm, in session: LocalSession
  ) throws(LocalError) -> IncomingParts.Bounds {
    let connection = try session.caller.connection(
      call.target, need: SendSubmission.right(call, form), event: call.event)
    let settings = connection.specification.settings
    return IncomingParts.Bounds(
      sizeLimit: min(settings.messageLimit, connection.connector.partsLimit), timeLimit: settings.messageTimeout,
      memory: session.gateway.receiveMemory,
      account: .user(session.peer.uid))
  }
}
