/// One session's proof of its identity, from HELLO to WELCOME: what is offered, the answer to each challenge, and
/// whether the router proved itself. Never used twice.
struct WAMPAuthentication {
  /// What a challenge leads to.
  enum Step: Equatable {
    /// AUTHENTICATE with this signature and this `Extra`, an object's text.
    case answer(signature: String, extra: [UInt8])
    /// A key has to be worked out; `derived` goes on from there.
    case derive(KeyDerivation)
    case decline(UpstreamFailure)
  }

  private let credentials: WAMPCredentials
  private let cryptography: any Cryptography
  /// No third party can listen on the way to the router.
  private let isPrivate: Bool
  /// Our part of SCRAM's nonce: base64 of 16 random bytes.
  private let nonce: String
  /// What waits for its key.
  private enum Pending {
    case cra(challenge: [UInt8])
    case scram(WAMPScram)
  }
  private var pending: Pending?
  /// What the router has to show at the end; nil when the method lets it prove nothing.
  private var expectedProof: [UInt8]?

  init(
    _ credentials: WAMPCredentials, isPrivate: Bool, cryptography: any Cryptography, random: any RandomSource
  ) {
    self.credentials = credentials
    self.isPrivate = isPrivate
    self.cryptography = cryptography
    var bytes: [UInt8] = []
    for number in [random.bits(), random.bits()] {
      for shift in stride(from: 0, to: UInt64(64), by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
    nonce = Self.base64(bytes)
  }

  /// Why these credentials must not be offered here; nil if they may. A ticket travels as it is.
  var problem: UpstreamFailure? {
    guard !isPrivate, credentials.offered.contains(.ticket) else { return nil }
    return UpstreamFailure(
      .auth,
      "a ticket would travel readably over wamp+ws; use wamp+wss, or set wamp.readable_tickets if the way is safe")
  }

  /// The members of HELLO's details that concern it.
  func describe(in writer: inout JSONWriter) {
    writer.key("authmethods")
    writer.beginArray()
    for method in credentials.offered { writer.string(method.rawValue) }
    writer.endArray()
    if let authID = credentials.authID { writer.member("authid", authID) }
    if let authRole = credentials.authRole { writer.member("authrole", authRole) }
    let publicKey =
      credentials.offered.contains(.cryptosign) ? credentials.key.flatMap(cryptography.ed25519PublicKey) : nil
    let usesScram = credentials.offered.contains(.scram) || credentials.offered.contains(.wampScram)
    guard publicKey != nil || usesScram else { return }
    writer.key("authextra")
    writer.object { writer in
      if usesScram { writer.member("nonce", nonce) }
      if let publicKey { writer.member("pubkey", Hexadecimal.encode(publicKey)) }
      writer.key("channel_binding")
      writer.null()
    }
  }

  /// A CHALLENGE: `range` is its `Extra`.
  mutating func challenged(_ name: String, _ text: RawSpan, _ range: Range<Int>) -> Step {
    guard let method = WAMPMethod(rawValue: name), method != .anonymous, credentials.offered.contains(method) else {
      return Self.decline(
        "the router asked for the authentication method '\(name.shortened(to: 40).singleLine)', which was not offered")
    }
    switch method {
    case .anonymous: return Self.decline("the router challenged an anonymous session")
    case .ticket: return .answer(signature: credentials.ticket ?? "", extra: Self.noExtra)
    case .wampcra: return cra(text, range)
    case .scram, .wampScram: return scram(method, text, range)
    case .cryptosign: return cryptosign(text, range)
    }
  }

  /// The key that `derive` asked for; nil when it could not be worked out.
  mutating func derived(_ key: [UInt8]?) -> Step {
    guard let key, let pending else { return Self.decline("the key could not be worked out of the password") }
    self.pending = nil
    switch pending {
    // Every port of Autobahn signs with the base64 text of the key, where the specification says nothing.
    case .cra(let challenge): return craAnswer(challenge, key: Array(Self.base64(key).utf8))
    case .scram(let scram):
      let proof = scram.prove(saltedPassword: key, cryptography)
      expectedProof = proof.server
      return .answer(signature: Self.base64(proof.client), extra: scram.answerExtra)
    }
  }

  /// WELCOME: whether the router knows the password too, where the method lets it show that. `range` is its details.
  func isProven(by text: RawSpan, _ range: Range<Int>) -> Bool {
    // Whoever offers nothing but SCRAM wants a proof, whether the router asks for ours or not.
    guard let expectedProof else { return !credentials.offered.allSatisfy { $0 == .scram || $0 == .wampScram } }
    guard let extra = WAMPDetails.object("authextra", in: text, range),
      var proof = WAMPDetails.string("verifier", in: text, extra)
        ?? WAMPDetails.string("scram_server_signature", in: text, extra)
    else { return false }
    if proof.hasPrefix("v=") { proof.removeFirst(2) }
    guard let bytes = Base64.decode(proof.utf8Span.span.bytes), bytes.count == expectedProof.count else { return false }
    // The same time, wherever they differ.
    return zip(bytes, expectedProof).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  /// The end of a session whose router did not prove itself.
  static let unproven = UpstreamFailure(.auth, "the router could not prove that it knows the secret")

  // MARK: - Methods

  private mutating func cra(_ text: RawSpan, _ range: Range<Int>) -> Step {
    guard let challenge = WAMPDetails.string("challenge", in: text, range), let secret = credentials.secret else {
      return Self.decline("the router sent a challenge of wampcra without its text")
    }
    guard let salt = WAMPDetails.string("salt", in: text, range), !salt.isEmpty else {
      // Its answer lets a password be guessed at the speed of one hash, and a third party on the way could ask for it
      // instead of the slow method that the router has.
      guard isPrivate || credentials.methods == [.wampcra] else {
        return Self.decline(
          "the router asked for wampcra without a salt over wamp+ws, whose answer gives away a weak password; use wamp+wss,"
            + " or the credentials' method = \"wampcra\" if that is meant")
      }
      return craAnswer(Array(challenge.utf8), key: Array(secret.utf8))
    }
    let iterations = WAMPDetails.integer("iterations", in: text, range) ?? 1_000
    let length = WAMPDetails.integer("keylen", in: text, range) ?? 32
    if let problem = KeyDerivationCost.problem(iterations: iterations, KeyDerivationCost.craIterations) {
      return Self.decline(problem)
    }
    guard (16...64).contains(length) else {
      return Self.decline("the router asked for a key of \(length) bytes, which is out of bounds")
    }
    pending = .cra(challenge: Array(challenge.utf8))
    return .derive(
      .pbkdf2(password: Array(secret.utf8), salt: Array(salt.utf8), iterations: iterations, length: length))
  }

  private func craAnswer(_ challenge: [UInt8], key: [UInt8]) -> Step {
    .answer(signature: Self.base64(cryptography.hmacSHA256(key: key, challenge)), extra: Self.noExtra)
  }

  private mutating func scram(_ method: WAMPMethod, _ text: RawSpan, _ range: Range<Int>) -> Step {
    do {
      let scram = try WAMPScram(
        method, authID: credentials.authID ?? "", nonce: nonce, text, range, cryptography: cryptography)
      let derivation = try scram.derivation(password: credentials.secret ?? "", cryptography)
      pending = .scram(scram)
      return .derive(derivation)
    } catch { return .decline(error) }
  }

  private func cryptosign(_ text: RawSpan, _ range: Range<Int>) -> Step {
    if WAMPDetails.rawString("channel_binding", in: text, range) != nil {
      return Self.decline("the router asked for a channel binding of cryptosign, which was not offered")
    }
    guard let challenge = WAMPDetails.string("challenge", in: text, range).flatMap(Hexadecimal.decode),
      challenge.count == 32
    else { return Self.decline("the router sent a challenge of cryptosign that is not 64 hexadecimal digits") }
    guard let signature = credentials.key.flatMap({ cryptography.ed25519Sign(challenge, key: $0) }) else {
      return Self.decline("the key of the credentials cannot sign")
    }
    return .answer(signature: Hexadecimal.encode(signature + challenge), extra: Self.noExtra)
  }

  // MARK: - Details

  private static let noExtra = Array("{}".utf8)

  private static func decline(_ sentence: String) -> Step { .decline(UpstreamFailure(.auth, sentence)) }

  static func base64(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    Base64.encode(bytes.span.bytes, into: &text)
    return String(decoding: text, as: UTF8.self)
  }
}

/// In which order a router is offered what the credentials are enough for.
///
/// First everything at once, from which the router takes what it likes best. Not every router can: Crossbar.io denies a
/// session at the first name that it does not know, and takes the first method that it is configured for, though it
/// knows the user by another. So when a router refuses an offer without having asked for a proof, each method is
/// offered alone, the safest first. What was accepted is offered first the next time. Decision 0097.
final class WAMPOffers {
  /// Of `offers(of:)` the one that is made next.
  private var place = 0
  /// How many of them the router has refused in this attempt.
  private var refused = 0

  /// All that are possible, in their order.
  static func offers(of credentials: WAMPCredentials) -> [[WAMPMethod]] {
    let all = credentials.possible
    return all.count > 1 ? [all] + all.map { [$0] } : [all]
  }

  /// A new attempt, with all offers before it.
  func begin() { refused = 0 }

  /// The offer to make.
  func current(_ credentials: WAMPCredentials) -> [WAMPMethod] {
    let offers = Self.offers(of: credentials)
    return offers[place < offers.count ? place : 0]
  }

  /// The router refused the current offer. Returns whether there is another one.
  func next(_ credentials: WAMPCredentials) -> Bool {
    let count = Self.offers(of: credentials).count
    refused += 1
    guard refused < count else {
      place = 0
      return false
    }
    place = (place + 1) % count
    return true
  }
}
