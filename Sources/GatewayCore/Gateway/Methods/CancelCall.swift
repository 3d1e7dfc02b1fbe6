/// `rpc.cancel`: ends a call of the same client that is not answered yet.
struct CancelCall: LocalCall {
  /// The call that is meant.
  var id: RequestID

  static let method = LocalMethod(
    "rpc.cancel", "Ends the call with that id, which is then answered with Cancelled.", right: nil,
    parameters: [.required(.id, .requestID, "The id of a call of the same client that is not answered yet.")])

  func perform(in session: LocalSession, _ id: RequestID?) {
    session.parts?.cancel(self.id)
    if let number = session.openCall(with: self.id) {
      session.end(number, LocalError(.cancelled, "The call was cancelled by `rpc.cancel`."))
    }
    session.reply(id)
  }
}

extension CancelCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    id = try params.required(.id, params.requestID(.id, line))
  }
}
