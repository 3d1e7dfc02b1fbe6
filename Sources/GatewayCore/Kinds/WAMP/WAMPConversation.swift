/// One session with a router, from HELLO to GOODBYE: performs what the session's machine asks for. `WAMPHandshake` gets
/// it in, `WAMPTraffic` is what flows within it. Never used twice.
final class WAMPConversation {
  /// What stays the same for every session of a connection.
  struct Settings: Equatable, Sendable {
    var realm: String
    var invoke = WAMPInvocationPolicy.single
    /// Whether no third party can listen on the way to the router, or the configuration says that this does not matter.
    var isPrivate = true
    /// It says so.
    var mayBeReadable = false
    /// Whose turn it is when a key is worked out.
    var account = Account.configuration
  }

  private let settings: Settings
  private let sender: WAMPSender
  private var session = WAMPSession()
  private let handshake: WAMPHandshake
  private let traffic: WAMPTraffic
  /// The router's id of the session, from WELCOME on.
  private(set) var sessionID: UInt64?

  init(
    _ settings: Settings, _ credentials: WAMPCredentials, cryptography: any Cryptography, random: any RandomSource,
    bearer: any WAMPBearer
  ) {
    self.settings = settings
    sender = WAMPSender(bearer)
    traffic = WAMPTraffic(sender, invoke: settings.invoke)
    handshake = WAMPHandshake(settings, credentials, cryptography: cryptography, random: random)
  }

  var isJoined: Bool { session.state == .joined }
  /// The router neither let us in nor asked for a proof.
  var isUnproven: Bool { !handshake.wasChallenged && sessionID == nil }

  // MARK: - From the transport

  func opened() {
    if let problem = handshake.problem {
      sender.bearer?.ended(problem)
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
    sender.observe(message, text, traffic)
    try receive(message, text)
  }

  func received(binary: RawSpan) { perform(.violated(.binary)) }

  /// The transport is gone, or no connection wants the session any more: nothing is said and told from now on.
  func end() { sender.bearer = nil }

  // MARK: - From the owner

  /// Writes what was prepared. With `ack` the owner hears of the answer.
  func write(_ message: PreparedMessage, ack: UInt64?) {
    if isJoined { traffic.write(message, ack: ack) }
  }

  /// Answers an invocation; one that the router took back is not answered.
  func answer(_ id: UInt64, _ message: PreparedMessage) {
    if isJoined { traffic.answer(id, message) }
  }

  /// No program will answer.
  func decline(_ id: UInt64, _ why: AnswerAbsence) {
    if isJoined { traffic.decline(id, why) }
  }

  /// The owner does not wait for this answer any more.
  func forget(ack: UInt64) { traffic.forget(ack: ack, tellsRouter: isJoined) }

  /// A program wants it; to be called within a session.
  func want(_ interest: Interest) {
    if isJoined { traffic.want(interest) }
  }

  func drop(_ interest: Interest) {
    if isJoined { traffic.drop(interest) }
  }

  /// Says goodbye. True: the bearer hears when the router has answered.
  func leave() -> Bool {
    perform(.leave)
    return session.state == .leaving
  }

  // MARK: - The session's machine

  private func perform(_ event: WAMPSession.Event) {
    for action in session.handle(event) { perform(action) }
  }

  private func perform(_ action: WAMPSession.Action) {
    switch action {
    case .sendHello: sender.send(handshake.hello, "HELLO \(settings.realm)", isSecret: true)
    case .answerChallenge:
      handshake.answerChallenge(
        while: { [weak self] in self?.isAnswering == true },
        { [weak self] (event: WAMPSession.Event) in self?.perform(event) })
    case .sendAuthenticate:
      if let answer = handshake.takeAuthenticate() { sender.send(control: answer, "AUTHENTICATE", isSecret: true) }
    case .sendAbort(let reason, let message):
      sender.send(control: WAMPWriter.abort(reason, message: message), "ABORT \(reason.text)")
    case .sendGoodbye(let reason): sender.send(control: WAMPWriter.goodbye(reason), "GOODBYE \(reason.text)")
    case .announce: sender.bearer?.began()
    case .deliver: break
    case .pendingClose: sender.bearer?.closeEnded()
    case .end(let failure): sender.bearer?.ended(failure)
    }
  }

  /// The answer to a challenge is still wanted.
  private var isAnswering: Bool {
    guard sender.bearer != nil, case .answering = session.state else { return false }
    return true
  }

  // MARK: - What the router sends within a session

  private func receive(_ message: WAMPMessage, _ text: RawSpan) throws(WAMPProblem) {
    switch message {
    case .welcome(let session, let details): welcomed(session, text, details)
    case .challenge(let method, let extra):
      handshake.challenged(method, extra, in: text)
      perform(.challenged)
    case .abort(let details, let reason):
      perform(.aborted(WAMPFailure.aborted(text, details: details, reason: reason, isJoined: isJoined)))
    case .goodbye(let details, let reason):
      perform(.goodbye(WAMPFailure.goodbye(text, details: details, reason: reason)))
    case .error, .published, .subscribed, .unsubscribed, .subscriptionRevoked, .event, .result, .registered,
      .unregistered, .registrationRevoked, .invocation, .interrupt:
      let actions = session.handle(.traffic(message.code))
      guard actions == [.deliver] else { return actions.forEach { perform($0) } }
      try traffic.receive(message, text)
    }
  }

  private func welcomed(_ id: UInt64, _ text: RawSpan, _ details: Range<Int>) {
    guard case .joining = session.state else { return perform(.welcomed) }
    guard handshake.isProven(by: text, details) else { return perform(.declined(WAMPAuthentication.unproven)) }
    sessionID = id
    traffic.cancels = WAMPHandshake.dealerCancels(text, details)
    perform(.welcomed)
  }
}
