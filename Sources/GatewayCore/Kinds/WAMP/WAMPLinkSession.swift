/// A WAMP session on a `DirectLink`: what the conversation says goes down to the transport, and what it tells goes up
/// to the connection.
final class WAMPLinkSession: DirectSession, WAMPBearer {
  static let subprotocol = "wamp.2.json"

  private unowned let link: DirectLink
  private let cryptography: any Cryptography
  private let settings: WAMPConversation.Settings
  private let authID: String?
  private let offers: WAMPOffers
  let heartbeat: HeartbeatSettings?
  private var conversation: WAMPConversation?
  private var credentials: WAMPCredentials?
  /// A long message whose end has not come.
  private var long: LongText?

  init(
    _ link: DirectLink, _ settings: WAMPConversation.Settings, authID: String?, offers: WAMPOffers,
    heartbeat: HeartbeatSettings, cryptography: any Cryptography
  ) {
    self.link = link
    self.settings = settings
    self.authID = authID
    self.offers = offers
    self.heartbeat = heartbeat
    self.cryptography = cryptography
  }

  // MARK: - DirectSession

  func begin(_ facts: TransportFacts) {
    guard facts.subprotocol == Self.subprotocol else {
      return link.fail(
        UpstreamFailure(.incompatible, "the server did not agree to the WebSocket subprotocol \(Self.subprotocol)"))
    }
    if link.isForeign, link.secrets?.payload != nil {
      return link.fail(
        UpstreamFailure(.auth, "the server redirected to another host, which is not given the credentials"))
    }
    do throws(CredentialProblem) {
      var credentials = try WAMPCredentials(link.secrets?.payload, authID: authID)
      self.credentials = credentials
      credentials.offer = offers.current(credentials)
      var settings = settings
      // The way that was taken may be another one than the URL says.
      if !link.isPrivate, !settings.mayBeReadable { settings.isPrivate = false }
      let conversation = WAMPConversation(
        settings, credentials, cryptography: cryptography, random: link.way.seams.random, bearer: self)
      self.conversation = conversation
      conversation.opened()
    } catch { link.fail(UpstreamFailure(.auth, error.message)) }
  }

  func gathers(text: RawSpan) {
    if long == nil { long = WAMPElements.long() }
    long?.advance(text)
  }

  func received(text: RawSpan) {
    long?.advance(text, isWhole: true)
    defer { long = nil }
    conversation?.received(text: text, long: long)
  }

  func received(binary: RawSpan) { conversation?.received(binary: binary) }
  func write(_ message: PreparedMessage, ack: UInt64?) { conversation?.write(message, ack: ack) }
  func answer(_ id: UInt64, _ message: PreparedMessage) { conversation?.answer(id, message) }
  func decline(_ id: UInt64, _ why: AnswerAbsence) -> Bool {
    conversation?.decline(id, why)
    return true
  }
  func forget(ack: UInt64) { conversation?.forget(ack: ack) }
  func want(_ interest: Interest) { conversation?.want(interest) }
  func drop(_ interest: Interest) { conversation?.drop(interest) }
  func leave() -> Bool { conversation?.leave() ?? false }
  func probe() -> Bool { link.transport?.probe() ?? false }
  func end() { conversation?.end() }

  var awaited: String { "the request for the realm" }
  var protocols: [(name: String, revision: Int)] { [("wamp", 2)] }
  var sid: String? { conversation?.sessionID.map { String($0) } }

  // MARK: - WAMPBearer

  func send(_ text: RawSpan, compress: Bool) { link.send(text: text, compress: compress) }
  func send(control text: RawSpan) { link.send(control: text) }
  func began() { link.ready() }

  func ended(_ failure: UpstreamFailure) {
    if WAMPFailure.mayConcernOffer(failure), conversation?.isUnproven == true, let credentials, offers.next(credentials)
    {
      return link.startOver()
    }
    link.fail(failure)
  }

  func closeEnded() { link.closeEnded() }

  func event(_ name: RawSpan, _ arguments: RawSpan, _ keywords: RawSpan?, ack: UInt64?) {
    link.owner?.channel(link, receivedEvent: name, arguments: arguments, kwargs: keywords, ack: ack)
  }

  func dropped(_ event: DroppedEvent) { link.owner?.channel(link, dropped: event) }

  func acknowledged(_ ack: UInt64, _ arguments: RawSpan, _ keywords: RawSpan?) {
    link.owner?.channel(link, acknowledged: ack, arguments: arguments, kwargs: keywords)
  }

  func progressed(_ ack: UInt64, _ arguments: RawSpan, _ keywords: RawSpan?) {
    link.owner?.channel(link, progressed: ack, arguments: arguments, kwargs: keywords)
  }

  var lineLimit: Int { link.owner?.lineLimit ?? .max }

  func event(_ name: RawSpan, tooLong size: Int, ack: UInt64?) {
    link.owner?.channel(link, receivedEvent: name, tooLong: size, ack: ack)
  }

  func answered(_ ack: UInt64, tooLong size: Int, isPart: Bool) {
    link.owner?.channel(link, answered: ack, tooLong: size, isPart: isPart)
  }

  func answeredUnreadably(_ ack: UInt64) { link.owner?.channel(link, answeredUnreadably: ack) }
  func failed(_ ack: UInt64, _ error: RemoteError) { link.owner?.channel(link, failed: ack, error) }
  func withdrew(_ ack: UInt64) { link.owner?.channel(link, withdrew: ack) }

  func answered(_ interest: Interest, _ refusal: UpstreamFailure?) {
    link.owner?.channel(link, answered: interest, refusal)
  }

  var isObserved: Bool { link.trace != nil }

  func observed(_ direction: TraceFact.Direction, _ words: String, _ message: RawSpan?) {
    if let message {
      link.trace?.message(direction, words, payload: message)
    } else {
      link.trace?.message(direction, words)
    }
  }
}
