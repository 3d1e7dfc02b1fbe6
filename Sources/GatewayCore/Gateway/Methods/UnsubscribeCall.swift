/// `unsubscribe`.
struct UnsubscribeCall: LocalCall {
  var subscription: String

  static let method = LocalMethod(
    "unsubscribe", "Ends a subscription.", right: .subscribe,
    parameters: [.required(.subscription, .name, "The subscription's id.")])

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    let wasWaiting = OpenSubscribe.overtake(subscription, in: session)
    guard session.subscriptions.remove(subscription) || wasWaiting else { throw .noSubscription(subscription) }
    session.reply(id)
  }
}

extension UnsubscribeCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    subscription = try params.required(.subscription, params.string(.subscription, line))
  }
}
