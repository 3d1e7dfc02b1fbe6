/// What flows within a session: its publications and calls with their answers, what it subscribes to and is registered
/// for, and the router's events and invocations. Only called between WELCOME and the end, except for `forget`.
final class WAMPTraffic {
  private let sender: WAMPSender
  /// Whether the router knows CANCEL.
  var cancels = false

  private var requests = WAMPRequestIDs()
  private(set) var subscriptions = WAMPInterests(.subscriptions)
  private(set) var registrations: WAMPInterests
  private var calls = WAMPCalls()
  private var invocations = WAMPInvocations()
  private var publications = WAMPPublications()

  /// - Parameter invoke: how the router distributes the calls of a procedure.
  init(_ sender: WAMPSender, invoke: WAMPInvocationPolicy) {
    self.sender = sender
    registrations = WAMPInterests(.registrations(invoke))
  }

  // MARK: - From the owner

  /// Writes what was prepared. With `ack` the owner hears of the answer.
  func write(_ message: PreparedMessage, ack: UInt64?) {
    guard let (kind, body) = WAMPDraft.read(message) else { return }
    let request = requests.take()
    switch kind {
    case .call:
      calls.add(request, .call, ack: ack)
      sender.send(
        WAMPWriter.call(request, body: body), "CALL \(request) \(message.event) (\(body.count) bytes)",
        compress: message.compress)
    case .publish, .yield, .error:
      if let ack { calls.add(request, .publish, ack: ack) }
      sender.send(
        WAMPWriter.publish(request, acknowledged: ack != nil, body: body),
        "PUBLISH \(request) \(message.event) (\(body.count) bytes)", compress: message.compress)
    }
  }

  /// Answers an invocation; one that the router took back is not answered.
  func answer(_ id: UInt64, _ message: PreparedMessage) {
    guard let (kind, body) = WAMPDraft.read(message), invocations.ended(id) else { return }
    switch kind {
    case .error: sender.send(WAMPWriter.error(id, body: body), "ERROR for INVOCATION \(id) (\(body.count) bytes)")
    case .yield, .publish, .call: sender.send(WAMPWriter.yield(id, body: body), "YIELD \(id) (\(body.count) bytes)")
    }
  }

  /// No program will answer: the caller must not wait for ever, as WAMP has no time limit of its own. It can tell a
  /// call that no program began, which it may repeat, from one whose callee left, as routers say it of a callee of
  /// their own.
  func decline(_ id: UInt64, _ why: AnswerAbsence) {
    guard invocations.ended(id) else { return }
    switch why {
    case .unheard: refuse(id, .unavailable)
    case .abandoned: refuse(id, .canceled)
    }
  }

  /// The owner does not wait for this answer any more; the router is told, where that helps.
  func forget(ack: UInt64, tellsRouter: Bool) {
    guard let request = calls.forget(ack: ack), tellsRouter, cancels else { return }
    sender.send(WAMPWriter.cancel(request, mode: "killnowait"), "CANCEL \(request)")
  }

  func want(_ interest: Interest) {
    if interest.answers {
      perform(registrations.want(interest, &requests))
    } else {
      perform(subscriptions.want(interest, &requests))
    }
  }

  func drop(_ interest: Interest) {
    if interest.answers {
      perform(registrations.drop(interest, &requests))
    } else {
      perform(subscriptions.drop(interest, &requests))
    }
  }

  /// What subscriptions or registrations ask for.
  private func perform(_ step: WAMPInterests.Step?) {
    switch step {
    case nil: break
    case .send(let message, let words): sender.send(message, words)
    case .tell(let interests, let refusal):
      for interest in interests { sender.bearer?.answered(interest, refusal) }
    }
  }

  // MARK: - From the router

  /// Takes a message of a session.
  func receive(_ message: WAMPMessage, _ text: RawSpan) throws(WAMPProblem) {
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
      sender.bearer?.acknowledged(ack, digits.span.bytes, nil)
    case .error(let type, let request, let uri, let payload): try failed(type, request, text, uri, payload)
    case .subscribed(let request, let id):
      perform(try subscriptions.granted(request: request, id: id, &requests))
    case .registered(let request, let id):
      perform(try registrations.granted(request: request, id: id, &requests))
    case .unsubscribed(let request): perform(try subscriptions.returned(request: request, &requests))
    case .unregistered(let request): perform(try registrations.returned(request: request, &requests))
    case .subscriptionRevoked(let details):
      guard let id = WAMPDetails.id("subscription", in: text, details) else { throw .malformed(.unsubscribed) }
      perform(try subscriptions.revoked(id: id, WAMPFailure.revoked(text, details), &requests))
    case .registrationRevoked(let details):
      guard let id = WAMPDetails.id("registration", in: text, details) else { throw .malformed(.unregistered) }
      perform(try registrations.revoked(id: id, WAMPFailure.revoked(text, details), &requests))
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
      sender.bearer?.dropped(DroppedEvent(.undecodable))
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
      sender.bearer?.event(name, tooLong: size, ack: ack)
      return
    }
    let isShown = Self.withLocal(text, payload) { arguments, keywords in
      sender.bearer?.event(name, arguments, keywords, ack: ack)
    }
    guard !isShown else { return }
    let name = name.withUnsafeBytes { [UInt8]($0) }
    sender.bearer?.dropped(DroppedEvent(.undecodable, name: name, ack: ack))
  }

  private func result(
    _ request: UInt64, _ text: RawSpan, _ details: Range<Int>, _ payload: WAMPPayload
  ) throws(WAMPProblem) {
    let isProgress = WAMPDetails.isTrue("progress", in: text, details)
    guard let ack = isProgress ? try calls.progressed(request) : try calls.answered(request, .call) else { return }
    if let size = tooLong(payload) {
      sender.bearer?.answered(ack, tooLong: size, isPart: isProgress)
      return
    }
    let isShown = Self.withLocal(text, payload) { arguments, keywords in
      if isProgress {
        sender.bearer?.progressed(ack, arguments, keywords)
      } else {
        sender.bearer?.acknowledged(ack, arguments, keywords)
      }
    }
    guard !isShown else { return }
    // Of a part the rest is nobody's any more.
    forget(ack: ack, tellsRouter: true)
    sender.bearer?.answeredUnreadably(ack)
  }

  /// ERROR.
  private func failed(
    _ type: WAMPCode, _ request: UInt64, _ text: RawSpan, _ uri: Range<Int>, _ payload: WAMPPayload
  ) throws(WAMPProblem) {
    switch type {
    case .call, .publish:
      guard let ack = try calls.failed(request, type: type) else { return }
      let name = JSONScanner.decodeString(text, uri, shortenedTo: RemoteError.nameLimit)
      if let size = tooLong(payload) {
        sender.bearer?.failed(ack, RemoteError(name, RemoteAnswer(tooLong: size)))
        return
      }
      let isShown = Self.withLocal(text, payload) { arguments, keywords in
        sender.bearer?.failed(ack, RemoteError(name, RemoteAnswer(arguments, kwargs: keywords)))
      }
      // The server has declined all the same: its name for that is told.
      if !isShown { sender.bearer?.failed(ack, RemoteError(name, .unreadable)) }
    case .subscribe, .unsubscribe:
      let why = WAMPFailure.refused(text, uri, payload)
      perform(try subscriptions.failed(request: request, type, why, &requests))
    case .register, .unregister:
      let why = WAMPFailure.refused(text, uri, payload)
      perform(try registrations.failed(request: request, type, why, &requests))
    case .hello, .welcome, .abort, .challenge, .authenticate, .goodbye, .error, .published, .subscribed, .unsubscribed,
      .event, .cancel, .result, .registered, .unregistered, .invocation, .interrupt, .yield:
      throw .wrongRequestType(type, request)
    }
  }

  private func interrupted(_ request: UInt64) {
    guard invocations.ended(request) else { return }
    sender.bearer?.withdrew(request)
    refuse(request, .canceled)
  }

  private func refuse(_ invocation: UInt64, _ reason: WAMPURI) {
    let body = WAMPWriter.Payload().body(after: reason.text)
    sender.send(
      control: WAMPWriter.error(invocation, body: body[...]), "ERROR \(reason.text) for INVOCATION \(invocation)")
  }

  /// How long a payload is that does not fit into a line, or is too long to be mended; nil for others. In the local
  /// form it is no shorter.
  private func tooLong(_ payload: WAMPPayload) -> Int? {
    let size = payload.byteCount
    guard !payload.hasNonNumbers else { return size }
    guard size > Limits.leastLine, let bearer = sender.bearer, size > bearer.lineLimit else { return nil }
    return size
  }

  /// The payload in the local form: the inside of the arguments, and the keywords where there are some. False: it is
  /// nested too deeply to be shown.
  private static func withLocal(
    _ text: RawSpan, _ payload: WAMPPayload, _ body: (RawSpan, RawSpan?) -> Void
  ) -> Bool {
    guard !payload.isTooDeep else { return false }
    let inside = payload.arguments.flatMap { WAMPForm.inside(text, $0) } ?? 0..<0
    return WAMPForm.withLocal(text, inside, depth: LineDepth.argumentLimit) { arguments in
      guard let keywords = payload.keywords, WAMPForm.inside(text, keywords)?.isEmpty == false else {
        body(arguments, nil)
        return true
      }
      return WAMPForm.withLocal(text, keywords, depth: LineDepth.argumentLimit + 1) {
        body(arguments, $0)
        return true
      }
    }
  }

  /// What the ids of a message stand for, for the observers.
  func name(of message: WAMPMessage, _ text: RawSpan) -> String? {
    switch message {
    case .event(let id, _, let details, _):
      WAMPDetails.words("topic", in: text, details, limit: 200) ?? subscriptions.grants.topic(id)?.topic.uri
    case .invocation(_, let id, let details, _):
      WAMPDetails.words("procedure", in: text, details, limit: 200) ?? registrations.grants.topic(id)?.topic.uri
    case .subscribed(let request, _), .unsubscribed(let request): subscriptions.grants.topic(ofRequest: request)?.uri
    case .registered(let request, _), .unregistered(let request): registrations.grants.topic(ofRequest: request)?.uri
    case .subscriptionRevoked(let details):
      WAMPDetails.id("subscription", in: text, details).flatMap { subscriptions.grants.topic($0)?.topic.uri }
    case .registrationRevoked(let details):
      WAMPDetails.id("registration", in: text, details).flatMap { registrations.grants.topic($0)?.topic.uri }
    case .welcome, .abort, .challenge, .goodbye, .error, .published, .result, .interrupt: nil
    }
  }
}
