/// Subscriptions and registrations, and the errors of requests.
extension WAMPConversation {
  func perform(_ action: WAMPGrants.Action?, _ answers: Bool, _ refusal: UpstreamFailure? = nil) {
    switch action {
    case nil: break
    case .ask(let topic): ask(topic, answers)
    case .giveBack(let topic, let id):
      let request = requests.take()
      if answers {
        registrations.returning(topic, request: request)
      } else {
        subscriptions.returning(topic, request: request)
      }
      let code: WAMPCode = answers ? .unregister : .unsubscribe
      send(WAMPWriter.giveBack(code, request, id: id), "\(code.word) \(topic.uri)")
    case .granted(let topic):
      let waiting = answers ? registrations.takeWaiting(topic) : subscriptions.takeWaiting(topic)
      for interest in waiting { bearer?.answered(interest, nil) }
    case .refused(let topic):
      let holders = answers ? registrations.takeAll(topic) : subscriptions.takeAll(topic)
      let failure = refusal ?? UpstreamFailure(.refused, "the router refused it")
      for interest in holders { bearer?.answered(interest, failure) }
    }
  }

  private func ask(_ topic: WAMPTopic, _ answers: Bool) {
    let request = requests.take()
    let match = topic.match == .exact ? "" : ", \(topic.match.rawValue)"
    if answers {
      registrations.asked(topic, request: request)
      send(WAMPWriter.register(request, topic, invoke: settings.invoke), "REGISTER \(topic.uri)\(match)")
    } else {
      subscriptions.asked(topic, request: request)
      send(WAMPWriter.subscribe(request, topic), "SUBSCRIBE \(topic.uri)\(match)")
    }
  }

  func failed(
    _ type: WAMPCode, _ request: UInt64, _ text: RawSpan, _ uri: Range<Int>, _ payload: WAMPPayload
  ) throws(WAMPProblem) {
    switch type {
    case .call, .publish:
      guard let ack = try calls.failed(request, type: type) else { return }
      let name = JSONScanner.decodeString(text, uri, shortenedTo: RemoteError.nameLimit)
      if let size = tooLong(payload) {
        bearer?.failed(ack, RemoteError(name, RemoteAnswer(tooLong: size)))
        return
      }
      Self.withLocal(text, payload) { arguments, keywords in
        bearer?.failed(ack, RemoteError(name, RemoteAnswer(arguments, kwargs: keywords)))
      }
    case .subscribe, .unsubscribe:
      guard subscriptions.grants.awaits(request) else { throw .unasked(.error, request) }
      guard subscriptions.grants.isReturning(request) == (type == .unsubscribe) else {
        throw .wrongRequestType(type, request)
      }
      perform(subscriptions.failed(request: request), false, Self.refusal(text, uri, payload))
    case .register, .unregister:
      guard registrations.grants.awaits(request) else { throw .unasked(.error, request) }
      guard registrations.grants.isReturning(request) == (type == .unregister) else {
        throw .wrongRequestType(type, request)
      }
      perform(registrations.failed(request: request), true, Self.refusal(text, uri, payload))
    case .hello, .welcome, .abort, .challenge, .authenticate, .goodbye, .error, .published, .subscribed, .unsubscribed,
      .event, .cancel, .result, .registered, .unregistered, .invocation, .interrupt, .yield:
      throw .wrongRequestType(type, request)
    }
  }

  /// Why a subscription or registration is not to be had.
  private static func refusal(_ text: RawSpan, _ uri: Range<Int>, _ payload: WAMPPayload) -> UpstreamFailure {
    let name = JSONScanner.decodeString(text, uri, shortenedTo: 200).singleLine
    let message = payload.arguments.flatMap { firstString(text, $0) }
    let said = message.map { ": \($0)" } ?? ""
    return UpstreamFailure(
      .refused, "the router refused it (\(name))\(said)", serverMessage: message ?? name,
      serverData: WAMPFailure.data(name))
  }

  static func revocation(_ text: RawSpan, _ details: Range<Int>) -> UpstreamFailure {
    let reason = WAMPDetails.words("reason", in: text, details, limit: 200)
    return UpstreamFailure(.refused, "the router took it back (\(reason ?? "without a reason"))", serverMessage: reason)
  }

  /// Routers put a sentence into the first argument of an ERROR.
  private static func firstString(_ text: RawSpan, _ arguments: Range<Int>) -> String? {
    guard let inside = WAMPForm.inside(text, arguments) else { return nil }
    var at = inside.lowerBound
    guard let string = try? JSONScanner.scanString(text, &at) else { return nil }
    return JSONScanner.decodeString(text, string, shortenedTo: 500).singleLine
  }
}
