/// `credit`: a client lets further events of a subscription through.
struct CreditCall: LocalCall {
  var subscription: String
  /// How many more.
  var count: Int

  static let method = LocalMethod(
    "credit", "Lets so many further events of a subscription with credit through.", right: .subscribe,
    parameters: [
      .required(.subscription, .name, "The subscription's id."),
      .required(.n, .amount, "How many events more."),
    ],
    result: .object([.always("credit", .count, "What is left now.")]))

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    guard let known = session.subscriptions[subscription]?.subscription else { throw .noSubscription(subscription) }
    // The reply comes first, so that a client sees the credit before what it brought.
    let total = known.creditAfterAdding(count)
    session.reply(id) { $0.member("credit", total) }
    known.addCredit(count)
  }
}

extension CreditCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    subscription = try params.required(.subscription, params.string(.subscription, line))
    count = try params.required(.n, params.integer(.n, line))
  }
}
