/// How a session introduces itself: HELLO, an answer to each challenge, and a look at the router's own proof (WAMP
/// section "Opening and Closing"). Which of it has its time `WAMPSession` knows. Never used twice.
final class WAMPHandshake {
  private let settings: WAMPConversation.Settings
  private let cryptography: any Cryptography
  private var authentication: WAMPAuthentication
  /// What is to be answered next.
  private var challenge: (method: String, extra: [UInt8])?
  /// What AUTHENTICATE will carry.
  private var answer: (signature: String, extra: [UInt8])?
  /// The router has asked for a proof.
  private(set) var wasChallenged = false

  init(
    _ settings: WAMPConversation.Settings, _ credentials: WAMPCredentials, cryptography: any Cryptography,
    random: any RandomSource
  ) {
    self.settings = settings
    self.cryptography = cryptography
    authentication = WAMPAuthentication(
      credentials, isPrivate: settings.isPrivate, cryptography: cryptography, random: random)
  }

  /// Why the credentials must not be offered here; nil if they may.
  var problem: UpstreamFailure? { authentication.problem }

  /// HELLO.
  var hello: [UInt8] {
    WAMPWriter.hello(realm: settings.realm) { writer in
      writer.member("agent", HTTPHeader.defaultUserAgent)
      writer.key("roles")
      writer.raw(Self.roles)
      authentication.describe(in: &writer)
    }
  }

  /// What this client can do (WAMP section "Feature Announcement").
  private static let roles = Array(
    (#"{"publisher":{"features":{"publisher_exclusion":true}},"#
      + #""subscriber":{"features":{"pattern_based_subscription":true,"subscription_revocation":true}},"#
      + #""caller":{"features":{"progressive_call_results":true,"call_canceling":true}},"#
      + #""callee":{"features":{"pattern_based_registration":true,"shared_registration":true,"call_canceling":true,"#
      + #""registration_revocation":true}}}"#).utf8)

  /// CHALLENGE: `extra` is an object.
  func challenged(_ method: Range<Int>, _ extra: Range<Int>, in text: RawSpan) {
    wasChallenged = true
    challenge = (JSONScanner.decodeString(text, method), text.extracting(extra).withUnsafeBytes { Array($0) })
  }

  /// Works out the answer to the challenge, which takes its time where a key is made of a password, and tells the
  /// session's event, as long as `isWanted`.
  func answerChallenge(while isWanted: @escaping () -> Bool, _ done: @escaping (WAMPSession.Event) -> Void) {
    guard let challenge else { return }
    self.challenge = nil
    let extra = challenge.extra
    take(authentication.challenged(challenge.method, extra.span.bytes, 0..<extra.count), isWanted, done)
  }

  private func take(
    _ step: WAMPAuthentication.Step, _ isWanted: @escaping () -> Bool, _ done: @escaping (WAMPSession.Event) -> Void
  ) {
    switch step {
    case .answer(let signature, let extra):
      answer = (signature, extra)
      done(.answered)
    case .decline(let failure): done(.declined(failure))
    case .derive(let derivation):
      cryptography.derive(derivation, for: settings.account, while: isWanted) { [weak self] key in
        guard let self, isWanted() else { return }
        take(authentication.derived(key), isWanted, done)
      }
    }
  }

  /// AUTHENTICATE, once for each answer.
  func takeAuthenticate() -> [UInt8]? {
    defer { answer = nil }
    return answer.map { WAMPWriter.authenticate(signature: $0.signature, extra: $0.extra) }
  }

  /// Whether WELCOME proves the router, where the method asks for that.
  func isProven(by text: RawSpan, _ details: Range<Int>) -> Bool { authentication.isProven(by: text, details) }

  /// Whether the router says in WELCOME that it knows CANCEL.
  static func dealerCancels(_ text: RawSpan, _ details: Range<Int>) -> Bool {
    guard let roles = WAMPDetails.object("roles", in: text, details),
      let dealer = WAMPDetails.object("dealer", in: text, roles),
      let features = WAMPDetails.object("features", in: text, dealer)
    else { return false }
    return WAMPDetails.isTrue("call_canceling", in: text, features)
  }
}
