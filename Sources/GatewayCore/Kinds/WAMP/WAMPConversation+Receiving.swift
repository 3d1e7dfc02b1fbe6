/// What the router sends within a session.
extension WAMPConversation {
  func receive(_ message: WAMPMessage, _ text: RawSpan) throws(WAMPProblem) {
    switch message {
    case .welcome(let session, let details): welcomed(session, text, details)
    case .challenge(let method, let extra):
      wasChallenged = true
      challenge = (JSONScanner.decodeString(text, method), text.extracting(extra).withUnsafeBytes { Array($0) })
      perform(.challenged)
    case .abort(let details, let reason):
      perform(.aborted(WAMPFailure.aborted(text, details: details, reason: reason, isJoined: isJoined)))
    case .goodbye(let details, let reason):
      perform(.goodbye(WAMPFailure.goodbye(text, details: details, reason: reason)))
    case .error, .published, .subscribed, .unsubscribed, .subscriptionRevoked, .event, .result, .registered,
      .unregistered, .registrationRevoked, .invocation, .interrupt:
      let actions = session.handle(.traffic(message.code))
      guard actions == [.deliver] else { return actions.forEach { perform($0) } }
      try deliver(message, text)
    }
  }

  private func welcomed(_ id: UInt64, _ text: RawSpan, _ details: Range<Int>) {
    guard case .joining = session.state else { return perform(.welcomed) }
    guard authentication.isProven(by: text, details) else { return perform(.declined(WAMPAuthentication.unproven)) }
    sessionID = id
    cancels = Self.dealerCancels(text, details)
    perform(.welcomed)
  }

  private static func dealerCancels(_ text: RawSpan, _ details: Range<Int>) -> Bool {
    guard let roles = WAMPDetails.object("roles", in: text, details),
      let dealer = WAMPDetails.object("dealer", in: text, roles),
      let features = WAMPDetails.object("features", in: text, dealer)
    else { return false }
    return WAMPDetails.isTrue("call_canceling", in: text, features)
  }

  private func deliver(_ message: WAMPMessage, _ text: RawSpan) throws(WAMPProblem) {
    switch message {
    case .event(let subscription, let publication, let details, let payload):
      try event(subscription, publication, text, details, payload)
    case .invocation(let request, let registration, let details, let payload):
      try invocation(request, registration, text, details, payload)
    case .interrupt(let request): interrupted(request)
    case .result(let request, let details, let payload): try result(request, text, details, payload)
    case .published(let request, let publication):
      guard let ack = try calls.answered(request, .publish) else { return }
      var digits: [UInt8] = []
      digits.append(decimal: publication)
      bearer?.acknowledged(ack, digits.span.bytes, nil)
    case .error(let type, let request, let uri, let payload): try failed(type, request, text, uri, payload)
    case .subscribed(let request, let id):
      perform(try subscriptions.granted(request: request, id: id, .subscribed), false)
    case .registered(let request, let id):
      perform(try registrations.granted(request: request, id: id, .registered), true)
    case .unsubscribed(let request): perform(try subscriptions.returned(request: request, .unsubscribed), false)
    case .unregistered(let request): perform(try registrations.returned(request: request, .unregistered), true)
    case .subscriptionRevoked(let details):
      guard let id = WAMPDetails.id("subscription", in: text, details) else { throw .malformed(.unsubscribed) }
      let why = Self.revocation(text, details)
      perform(try subscriptions.revoked(id: id, .unsubscribed), false, why)
    case .registrationRevoked(let details):
      guard let id = WAMPDetails.id("registration", in: text, details) else { throw .malformed(.unregistered) }
      let why = Self.revocation(text, details)
      perform(try registrations.revoked(id: id, .unregistered), true, why)
    case .welcome, .abort, .challenge, .goodbye: break
    }
  }

  /// An event of a subscription that is being given back goes to no client.
  private func event(
    _ subscription: UInt64, _ publication: UInt64, _ text: RawSpan, _ details: Range<Int>, _ payload: WAMPPayload
  ) throws(WAMPProblem) {
    guard let (topic, isReturning) = subscriptions.grants.topic(subscription) else {
      throw .unknownID(.event, subscription)
    }
    guard !isReturning, subscriptions.grants.idCount == 1 || publications.note(publication) else { return }
    if topic.match == .exact {
      let name = subscriptions.name(topic)
      return tell(name.span.bytes, text, payload, ack: nil)
    }
    if let name = WAMPDetails.rawString("topic", in: text, details) {
      tell(text.extracting(name), text, payload, ack: nil)
    } else {
      bearer?.dropped(.undecodable)
    }
  }

  private func invocation(
    _ request: UInt64, _ registration: UInt64, _ text: RawSpan, _ details: Range<Int>, _ payload: WAMPPayload
  ) throws(WAMPProblem) {
    guard let (topic, isReturning) = registrations.grants.topic(registration) else {
      throw .unknownID(.invocation, registration)
    }
    let hasRoom = try invocations.began(request)
    let name = topic.match == .exact ? nil : WAMPDetails.rawString("procedure", in: text, details)
    guard !isReturning, hasRoom, topic.match == .exact || name != nil else {
      if hasRoom { _ = invocations.ended(request) }
      return refuse(request, .unavailable)
    }
    if let name { return tell(text.extracting(name), text, payload, ack: request) }
    let own = registrations.name(topic)
    tell(own.span.bytes, text, payload, ack: request)
  }

  /// Hands an event over in the local form.
  private func tell(_ name: RawSpan, _ text: RawSpan, _ payload: WAMPPayload, ack: UInt64?) {
    if let size = tooLong(payload) {
      bearer?.event(name, tooLong: size, ack: ack)
      return
    }
    Self.withLocal(text, payload) { arguments, keywords in
      bearer?.event(name, arguments, keywords, ack: ack)
    }
  }

  private func result(
    _ request: UInt64, _ text: RawSpan, _ details: Range<Int>, _ payload: WAMPPayload
  ) throws(WAMPProblem) {
    let isProgress = WAMPDetails.isTrue("progress", in: text, details)
    guard let ack = isProgress ? try calls.progressed(request) : try calls.answered(request, .call) else { return }
    if let size = tooLong(payload) {
      bearer?.answered(ack, tooLong: size, isPart: isProgress)
      return
    }
    Self.withLocal(text, payload) { arguments, keywords in
      if isProgress {
        bearer?.progressed(ack, arguments, keywords)
      } else {
        bearer?.acknowledged(ack, arguments, keywords)
      }
    }
  }

  private func interrupted(_ request: UInt64) {
    guard invocations.ended(request) else { return }
    bearer?.withdrew(request)
    refuse(request, .canceled)
  }

  func refuse(_ invocation: UInt64, _ reason: WAMPURI) {
    let body = WAMPWriter.Payload().body(after: reason.text)
    send(control: WAMPWriter.error(invocation, body: body[...]), "ERROR \(reason.text) for INVOCATION \(invocation)")
  }

  /// How long a payload is that does not fit into a line, or is too long to be mended; nil for others. In the local
  /// form it is no shorter.
  func tooLong(_ payload: WAMPPayload) -> Int? {
    let size = payload.byteCount
    guard !payload.hasNonNumbers else { return size }
    guard size > Limits.leastLine, let bearer, size > bearer.lineLimit else { return nil }
    return size
  }

  /// The payload in the local form: the inside of the arguments, and the keywords where there are some.
  static func withLocal(_ text: RawSpan, _ payload: WAMPPayload, _ body: (RawSpan, RawSpan?) -> Void) {
    let inside = payload.arguments.flatMap { WAMPForm.inside(text, $0) } ?? 0..<0
    WAMPForm.withLocal(text, inside) { arguments in
      guard let keywords = payload.keywords, WAMPForm.inside(text, keywords)?.isEmpty == false else {
        return body(arguments, nil)
      }
      WAMPForm.withLocal(text, keywords) { body(arguments, $0) }
    }
  }
}
