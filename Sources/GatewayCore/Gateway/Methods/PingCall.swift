/// `ping`: whether the daemon answers.
struct PingCall: LocalCall {
  static let method = LocalMethod("ping", "Does nothing, and answers.", right: nil)

  func perform(in session: LocalSession, _ id: RequestID?) { session.reply(id) }
}

extension PingCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) {}
}
