/// Reads the messages of a router: `wamp.2.json`, one JSON array for each text message of the WebSocket (WAMP section
/// "Serializers"). Only the shape is judged here; whether a message has its place is the session's affair.
enum WAMPReader {
  /// Longest message that is about the session and carries no payload, in bytes.
  static let sessionLimit = 64 << 10

  /// `long` is what is known of a long text already.
  static func read(_ text: RawSpan, _ long: LongText? = nil) throws(WAMPProblem) -> WAMPMessage {
    let elements = try WAMPElements(text, long)
    guard let first = elements[0], let number = JSONScanner.integer(text, first) else { throw .noMessage }
    guard let code = UInt16(exactly: number).flatMap(WAMPCode.init(rawValue:)) else { throw .unknownType(number) }
    switch code {
    case .hello, .authenticate, .publish, .subscribe, .unsubscribe, .call, .cancel, .register, .unregister, .yield:
      throw .clientsOnly(code)
    case .welcome, .abort, .challenge, .goodbye, .error, .published, .subscribed, .unsubscribed, .event, .result,
      .registered, .unregistered, .invocation, .interrupt:
      guard text.byteCount <= sessionLimit || !code.isAboutSession else {
        throw .oversized(code, limit: sessionLimit)
      }
      guard !elements.isTooDeep || !code.isAboutSession else { throw .malformed(code) }
      guard let message = message(code, elements, text) else { throw .malformed(code) }
      return message
    }
  }

  /// Nil for a malformed one.
  private static func message(_ code: WAMPCode, _ elements: WAMPElements, _ text: RawSpan) -> WAMPMessage? {
    switch code {
    case .welcome: welcome(elements, text)
    case .abort, .goodbye: ending(code, elements, text)
    case .challenge: challenge(elements, text)
    case .error: error(elements, text)
    case .published, .subscribed, .registered: confirmation(code, elements, text)
    case .unsubscribed, .unregistered: withdrawal(code, elements, text)
    case .event: event(elements, text)
    case .result: result(elements, text)
    case .invocation: invocation(elements, text)
    case .interrupt: interrupt(elements, text)
    case .hello, .authenticate, .publish, .subscribe, .unsubscribe, .call, .cancel, .register, .unregister, .yield: nil
    }
  }

  private static func welcome(_ elements: WAMPElements, _ text: RawSpan) -> WAMPMessage? {
    guard elements.count == 3, let session = elements.id(1, text), let details = elements.object(2, text) else {
      return nil
    }
    return .welcome(session: session, details: details)
  }

  /// ABORT may carry a payload, which is not needed.
  private static func ending(_ code: WAMPCode, _ elements: WAMPElements, _ text: RawSpan) -> WAMPMessage? {
    guard let details = elements.object(1, text), let reason = elements.string(2, text),
      elements.payload(from: 3, text) != nil
    else { return nil }
    if code == .abort { return .abort(details: details, reason: reason) }
    return elements.count == 3 ? .goodbye(details: details, reason: reason) : nil
  }

  private static func challenge(_ elements: WAMPElements, _ text: RawSpan) -> WAMPMessage? {
    guard elements.count == 3, let method = elements.string(1, text), let extra = elements.object(2, text) else {
      return nil
    }
    return .challenge(method: method, extra: extra)
  }

  private static func error(_ elements: WAMPElements, _ text: RawSpan) -> WAMPMessage? {
    guard let type = elements.number(1, text).flatMap(UInt16.init(exactly:)).flatMap(WAMPCode.init(rawValue:)),
      let request = elements.id(2, text), elements.object(3, text) != nil, let uri = elements.string(4, text),
      let payload = elements.payload(from: 5, text)
    else { return nil }
    return .error(type: type, request: request, uri: uri, payload: payload)
  }

  private static func confirmation(_ code: WAMPCode, _ elements: WAMPElements, _ text: RawSpan) -> WAMPMessage? {
    guard elements.count == 3, let request = elements.id(1, text), let id = elements.id(2, text) else { return nil }
    switch code {
    case .published: return .published(request: request, publication: id)
    case .subscribed: return .subscribed(request: request, subscription: id)
    default: return .registered(request: request, registration: id)
    }
  }

  /// With the request 0 the router takes back what it gave. `Details` behind an ordinary answer are tolerated, as some
  /// routers send them.
  private static func withdrawal(_ code: WAMPCode, _ elements: WAMPElements, _ text: RawSpan) -> WAMPMessage? {
    guard elements.count <= 3, let request = elements.number(1, text) else { return nil }
    let details = elements.object(2, text)
    guard elements.count == 2 || details != nil else { return nil }
    if request == 0 {
      guard let details else { return nil }
      return code == .unsubscribed ? .subscriptionRevoked(details: details) : .registrationRevoked(details: details)
    }
    guard WAMPID.range.contains(request) else { return nil }
    return code == .unsubscribed ? .unsubscribed(request: request) : .unregistered(request: request)
  }

  private static func event(_ elements: WAMPElements, _ text: RawSpan) -> WAMPMessage? {
    guard let subscription = elements.id(1, text), let publication = elements.id(2, text),
      let details = elements.object(3, text), let payload = elements.payload(from: 4, text)
    else { return nil }
    return .event(subscription: subscription, publication: publication, details: details, payload: payload)
  }

  private static func result(_ elements: WAMPElements, _ text: RawSpan) -> WAMPMessage? {
    guard let request = elements.id(1, text), let details = elements.object(2, text),
      let payload = elements.payload(from: 3, text)
    else { return nil }
    return .result(request: request, details: details, payload: payload)
  }

  private static func invocation(_ elements: WAMPElements, _ text: RawSpan) -> WAMPMessage? {
    guard let request = elements.id(1, text), let registration = elements.id(2, text),
      let details = elements.object(3, text), let payload = elements.payload(from: 4, text)
    else { return nil }
    return .invocation(request: request, registration: registration, details: details, payload: payload)
  }

  private static func interrupt(_ elements: WAMPElements, _ text: RawSpan) -> WAMPMessage? {
    guard elements.count == 3, let request = elements.id(1, text), elements.object(2, text) != nil else { return nil }
    return .interrupt(request: request)
  }
}
