/// One session with a router: performs what the session's machine asks for, and keeps what lives as long as the session,
/// its subscriptions, registrations, calls and invocations. Never used twice.
final class WAMPConversation {
  /// What stays the same for every session of a connection.
  struct Settings: Equatable, Sendable {
    var realm: String
    var invoke = WAMPInvocationPolicy.single
    /// Whether nobody can listen on the way to the router, or the configuration says that this does not matter.
    var isPrivate = true
    /// It says so.
    var mayBeReadable = false
    /// Whose turn it is when a key is worked out.
    var account = Account.configuration
  }

  let settings: Settings
  private let cryptography: any Cryptography
  /// Who carries the session; nil when it was let go.
  private(set) weak var bearer: (any WAMPBearer)?
  var session = WAMPSession()
  private(set) var authentication: WAMPAuthentication
  /// The answer that AUTHENTICATE will carry, or the challenge that it answers.
  var challenge: (method: String, extra: [UInt8])?
  private var answer: (signature: String, extra: [UInt8])?
  /// The router has asked for a proof.
  var wasChallenged = false
  /// The router's id of the session, from WELCOME on.
  var sessionID: UInt64?
  /// Whether the router knows CANCEL.
  var cancels = false

  var requests = WAMPRequestIDs()
  var subscriptions = WAMPInterests()
  var registrations = WAMPInterests()
  var calls = WAMPCalls()
  var invocations = WAMPInvocations()
  var publications = WAMPPublications()

  init(
    _ settings: Settings, _ credentials: WAMPCredentials, cryptography: any Cryptography, random: any RandomSource,
    bearer: any WAMPBearer
  ) {
    self.settings = settings
    self.cryptography = cryptography
    self.bearer = bearer
    authentication = WAMPAuthentication(
      credentials, isPrivate: settings.isPrivate, cryptography: cryptography, random: random)
  }

  var isJoined: Bool { session.state == .joined }
  /// The router neither let us in nor asked who we are.
  var isUnproven: Bool { !wasChallenged && sessionID == nil }

  // MARK: - From the transport

  func opened() {
    if let problem = authentication.problem {
      bearer?.ended(problem)
      return end()
    }
    perform(.opened)
  }

  /// `long` is what is known of a long text already.
  func received(text: RawSpan, long: LongText? = nil) {
    do throws(WAMPProblem) {
      do throws(WAMPProblem) { try receive(text, long) } catch {
        guard error == .malformedJSON, let repaired = NonNumbers.replaced(in: text) else { throw error }
        try receive(repaired.span.bytes, nil)
      }
    } catch { perform(.violated(error)) }
  }

  private func receive(_ text: RawSpan, _ long: LongText?) throws(WAMPProblem) {
    let message = try WAMPReader.read(text, long)
    observe(message, text)
    try receive(message, text)
  }

  func received(binary: RawSpan) { perform(.violated(.binary)) }

  /// The transport is gone, or nobody wants the session any more: nothing is said and told from now on.
  func end() { bearer = nil }

  // MARK: - From the owner

  /// Writes what was prepared. With `ack` the owner hears of the answer.
  func write(_ message: PreparedMessage, ack: UInt64?) {
    guard isJoined, let (kind, body) = WAMPDraft.read(message) else { return }
    let request = requests.take()
    switch kind {
    case .call:
      calls.add(request, .call, ack: ack)
      send(
        WAMPWriter.call(request, body: body), "CALL \(request) \(message.event) (\(body.count) bytes)",
        compress: message.compress)
    case .publish, .yield, .error:
      if let ack { calls.add(request, .publish, ack: ack) }
      send(
        WAMPWriter.publish(request, acknowledged: ack != nil, body: body),
        "PUBLISH \(request) \(message.event) (\(body.count) bytes)", compress: message.compress)
    }
  }

  /// Answers an invocation; one that the router took back is not answered.
  func answer(_ id: UInt64, _ message: PreparedMessage) {
    guard isJoined, let (kind, body) = WAMPDraft.read(message), invocations.ended(id) else { return }
    switch kind {
    case .error: send(WAMPWriter.error(id, body: body), "ERROR for INVOCATION \(id) (\(body.count) bytes)")
    case .yield, .publish, .call: send(WAMPWriter.yield(id, body: body), "YIELD \(id) (\(body.count) bytes)")
    }
  }

  /// Nobody will answer: the caller must not wait for ever, as WAMP has no time limit of its own. It can tell a call that
  /// nobody began, which it may repeat, from one whose callee left, as routers say it of a callee of their own.
  func decline(_ id: UInt64, _ why: AnswerAbsence) {
    guard isJoined, invocations.ended(id) else { return }
    switch why {
    case .unheard: refuse(id, .unavailable)
    case .abandoned: refuse(id, .canceled)
    }
  }

  /// Nobody waits for this answer any more; the router is told, where that helps.
  func forget(ack: UInt64) {
    guard let request = calls.forget(ack: ack), isJoined, cancels else { return }
    send(WAMPWriter.cancel(request, mode: "killnowait"), "CANCEL \(request)")
  }

  /// Somebody wants it; to be called within a session.
  func want(_ interest: Interest) {
    guard isJoined else { return }
    perform(interest.answers ? registrations.want(interest) : subscriptions.want(interest), interest.answers)
  }

  func drop(_ interest: Interest) {
    guard isJoined else { return }
    perform(interest.answers ? registrations.drop(interest) : subscriptions.drop(interest), interest.answers)
  }

  /// Says goodbye. True: the bearer hears when the router has answered.
  func leave() -> Bool {
    perform(.leave)
    return session.state == .leaving
  }

  // MARK: - The session's machine

  func perform(_ event: WAMPSession.Event) {
    for action in session.handle(event) { perform(action) }
  }

  func perform(_ action: WAMPSession.Action) {
    switch action {
    case .sendHello: sendHello()
    case .answerChallenge: answerChallenge()
    case .sendAuthenticate:
      guard let answer else { return }
      self.answer = nil
      send(
        control: WAMPWriter.authenticate(signature: answer.signature, extra: answer.extra), "AUTHENTICATE",
        isSecret: true)
    case .sendAbort(let reason, let message):
      send(control: WAMPWriter.abort(reason, message: message), "ABORT \(reason.text)")
    case .sendGoodbye(let reason): send(control: WAMPWriter.goodbye(reason), "GOODBYE \(reason.text)")
    case .announce: bearer?.began()
    case .deliver: break
    case .pendingClose: bearer?.closeEnded()
    case .end(let failure): bearer?.ended(failure)
    }
  }

  private func sendHello() {
    let hello = WAMPWriter.hello(realm: settings.realm) { writer in
      writer.member("agent", HTTPHeader.defaultUserAgent)
      writer.key("roles")
      writer.raw(Self.roles)
      authentication.describe(in: &writer)
    }
    send(hello, "HELLO \(settings.realm)", isSecret: true)
  }

  /// What this client can do (WAMP section "Feature Announcement").
  private static let roles = Array(
    (#"{"publisher":{"features":{"publisher_exclusion":true}},"#
      + #""subscriber":{"features":{"pattern_based_subscription":true,"subscription_revocation":true}},"#
      + #""caller":{"features":{"progressive_call_results":true,"call_canceling":true}},"#
      + #""callee":{"features":{"pattern_based_registration":true,"shared_registration":true,"call_canceling":true,"#
      + #""registration_revocation":true}}}"#).utf8)

  private func answerChallenge() {
    guard let challenge else { return }
    self.challenge = nil
    let extra = challenge.extra
    take(authentication.challenged(challenge.method, extra.span.bytes, 0..<extra.count))
  }

  private func take(_ step: WAMPAuthentication.Step) {
    switch step {
    case .answer(let signature, let extra):
      answer = (signature, extra)
      perform(.answered)
    case .decline(let failure): perform(.declined(failure))
    case .derive(let derivation):
      let isWanted: () -> Bool = { [weak self] in self?.isAnswering == true }
      cryptography.derive(derivation, for: settings.account, while: isWanted) { [weak self] key in
        guard let self, isAnswering else { return }
        take(authentication.derived(key))
      }
    }
  }

  /// The answer to a challenge is still wanted.
  private var isAnswering: Bool {
    guard bearer != nil, case .answering = session.state else { return false }
    return true
  }

  /// `words` are for those who watch; a message that carries a secret shows them only.
  func send(_ message: [UInt8], _ words: @autoclosure () -> String, isSecret: Bool = false, compress: Bool = true) {
    guard let bearer else { return }
    if bearer.isObserved { bearer.observed(.outgoing, words(), isSecret ? nil : message.span.bytes) }
    bearer.send(message.span.bytes, compress: compress)
  }

  /// The same for what the router makes us say.
  func send(control message: [UInt8], _ words: @autoclosure () -> String, isSecret: Bool = false) {
    guard let bearer else { return }
    if bearer.isObserved { bearer.observed(.outgoing, words(), isSecret ? nil : message.span.bytes) }
    bearer.send(control: message.span.bytes)
  }
}

/// What people see who watch a connection.
extension WAMPConversation {
  func observe(_ message: WAMPMessage, _ text: RawSpan) {
    guard let bearer, bearer.isObserved else { return }
    guard text.byteCount <= bearer.lineLimit else {
      return bearer.observed(.incoming, "\(message.code.word) (\(text.byteCount) bytes, more than a line)", nil)
    }
    bearer.observed(.incoming, WAMPDescription.received(message, name: name(of: message, text), text), text)
  }

  /// What the ids of a message stand for.
  private func name(of message: WAMPMessage, _ text: RawSpan) -> String? {
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

/// What carries a session and hears of it: the transport below, and the connection above. Spans are valid only during the
/// call.
protocol WAMPBearer: AnyObject {
  /// `compress`: whether the transport may compress it.
  func send(_ text: RawSpan, compress: Bool)
  /// As `Transport.send(control:)`: what the router makes us say.
  func send(control text: RawSpan)
  /// The router has answered our goodbye.
  func closeEnded()
  /// The session is there.
  func began()
  /// The session is over; the transport is to be closed once what was sent has left. Nothing follows.
  func ended(_ failure: UpstreamFailure)

  /// An event or, with `ack`, an invocation. `name` is a JSON string, `arguments` are in the local form, without brackets.
  func event(_ name: RawSpan, _ arguments: RawSpan, _ keywords: RawSpan?, ack: UInt64?)
  func dropped(_ reason: GapReason)
  func acknowledged(_ ack: UInt64, _ arguments: RawSpan, _ keywords: RawSpan?)
  func progressed(_ ack: UInt64, _ arguments: RawSpan, _ keywords: RawSpan?)
  /// As in `UpstreamChannelOwner`: what is longer than a line.
  var lineLimit: Int { get }
  func event(_ name: RawSpan, tooLong size: Int, ack: UInt64?)
  func answered(_ ack: UInt64, tooLong size: Int, isPart: Bool)
  func failed(_ ack: UInt64, _ error: RemoteError)
  func withdrew(_ ack: UInt64)
  func answered(_ interest: Interest, _ refusal: UpstreamFailure?)

  /// Whether anybody watches.
  var isObserved: Bool { get }
  /// `message` is nil where it carries a secret.
  func observed(_ direction: TraceFact.Direction, _ words: String, _ message: RawSpan?)
}
