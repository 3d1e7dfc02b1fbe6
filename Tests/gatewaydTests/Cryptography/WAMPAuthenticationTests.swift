import Testing

@testable import GatewayCore
@testable import gatewayd

/// The real primitives, and keys worked out at once.
private final class ImmediateCryptography: Cryptography, Sendable {
  func sha256(_ data: [UInt8]) -> [UInt8] { OpenSSL.sha256(data) }
  func hmacSHA256(key: [UInt8], _ data: [UInt8]) -> [UInt8] { OpenSSL.hmacSHA256(key: key, data) }
  func ed25519PublicKey(_ key: [UInt8]) -> [UInt8]? { OpenSSL.ed25519PublicKey(key) }
  func ed25519Sign(_ message: [UInt8], key: [UInt8]) -> [UInt8]? { OpenSSL.ed25519Sign(message, key: key) }
  func saslPrepared(_ text: String) -> String? { SASLprep.prepare(text) }
  func derive(
    _ derivation: KeyDerivation, for account: Account, while isWanted: @escaping () -> Bool,
    _ done: @escaping ([UInt8]?) -> Void
  ) { done(Self.key(derivation)) }

  static func key(_ derivation: KeyDerivation) -> [UInt8]? {
    switch derivation {
    case .pbkdf2(let password, let salt, let iterations, let length):
      OpenSSL.pbkdf2(password: password, salt: salt, iterations: iterations, length: length)
    case .argon2id(let password, let salt, let iterations, let memory, let length):
      Argon2.id(password: password, salt: salt, iterations: iterations, memory: memory, length: length)
    }
  }
}

private final class CountingRandom: RandomSource {
  func bits() -> UInt64 { 0x0706_0504_0302_0100 }
}

private let cryptography = ImmediateCryptography()
/// What `CountingRandom` makes of our nonce.
private let ourNonce = "AAECAwQFBgcAAQIDBAUGBw=="

private func authentication(_ payload: String?, authID: String? = nil, isPrivate: Bool = true) throws
  -> WAMPAuthentication
{
  let credentials = try WAMPCredentials(payload.map { Array($0.utf8) }, authID: authID)
  return WAMPAuthentication(credentials, isPrivate: isPrivate, cryptography: cryptography, random: CountingRandom())
}

/// Answers a challenge, with the key worked out if one has to be.
private func answer(_ authentication: inout WAMPAuthentication, _ method: String, _ extra: String)
  -> WAMPAuthentication.Step
{
  let bytes = Array(extra.utf8)
  let step = authentication.challenged(method, bytes.span.bytes, 0..<bytes.count)
  guard case .derive(let derivation) = step else { return step }
  return authentication.derived(ImmediateCryptography.key(derivation))
}

private func decline(_ sentence: String) -> WAMPAuthentication.Step { .decline(UpstreamFailure(.auth, sentence)) }
private func plain(_ signature: String) -> WAMPAuthentication.Step {
  .answer(signature: signature, extra: Array("{}".utf8))
}
private func hello(_ authentication: WAMPAuthentication) -> String {
  var writer = JSONWriter()
  writer.beginObject()
  authentication.describe(in: &writer)
  writer.endObject()
  return String(decoding: writer.bytes, as: UTF8.self)
}

@Suite struct WAMPAuthenticationTests {
  @Test func withoutCredentialsTheSessionIsAnonymous() throws {
    #expect(hello(try authentication(nil)) == #"{"authmethods":["anonymous"]}"#)
  }

  @Test func aTicketIsSentAsItIs() throws {
    var ticket = try authentication(#"{"authid":"joe","ticket":"s3cret"}"#)
    #expect(hello(ticket) == #"{"authmethods":["ticket"],"authid":"joe"}"#)
    #expect(answer(&ticket, "ticket", "{}") == plain("s3cret"))
    #expect(ticket.problem == nil)
    #expect(try authentication(#"{"authid":"joe","ticket":"s3cret"}"#, isPrivate: false).problem?.reason == .auth)
  }

  @Test func aSecretAloneMayTravelReadably() throws {
    #expect(try authentication(#"{"authid":"joe","secret":"x"}"#, isPrivate: false).problem == nil)
  }

  @Test func wampcraSignsTheChallengeAsItCame() throws {
    var cra = try authentication(#"{"authid":"joe","secret":"secret2","method":"wampcra"}"#)
    #expect(hello(cra) == #"{"authmethods":["wampcra"],"authid":"joe"}"#)
    let extra = #"{"challenge":"{\"nonce\":\"n1\",\"session\":123}"}"#
    #expect(answer(&cra, "wampcra", extra) == plain("sq4sy3nDrA2EciqgSimK9l1fsbUeGxXgnieyx1UyKdI="))
  }

  @Test func wampcraWithSaltSignsWithTheTextOfTheKey() throws {
    var cra = try authentication(#"{"authid":"joe","secret":"secret2"}"#)
    let extra = #"{"challenge":"{\"nonce\":\"n1\",\"session\":123}","salt":"salt123","iterations":1000,"keylen":32}"#
    #expect(answer(&cra, "wampcra", extra) == plain("W07AWBrwYoPk0BIZNR1TXmQ9OMfBxfF4SsHGIW2k0x8="))
    var usual = try authentication(#"{"authid":"joe","secret":"secret2"}"#)
    let short = #"{"challenge":"{\"nonce\":\"n1\",\"session\":123}","salt":"salt123"}"#
    #expect(answer(&usual, "wampcra", short) == plain("W07AWBrwYoPk0BIZNR1TXmQ9OMfBxfF4SsHGIW2k0x8="))
  }

  @Test func wampcraWithoutSaltIsNotAnsweredReadablyUnlessItWasAskedFor() throws {
    let extra = #"{"challenge":"x"}"#
    var secret = try authentication(#"{"authid":"joe","secret":"secret2"}"#, isPrivate: false)
    guard case .decline(let failure) = answer(&secret, "wampcra", extra) else { return #expect(Bool(false)) }
    #expect(failure.reason == .auth && failure.detail.contains(#"method = "wampcra""#))
    var salted = try authentication(#"{"authid":"joe","secret":"secret2"}"#, isPrivate: false)
    guard case .answer = answer(&salted, "wampcra", #"{"challenge":"x","salt":"s"}"#) else {
      return #expect(Bool(false))
    }
    for (payload, isPrivate) in [(#""method":"wampcra","#, false), ("", true)] {
      var cra = try authentication(#"{\#(payload)"authid":"joe","secret":"secret2"}"#, isPrivate: isPrivate)
      guard case .answer = answer(&cra, "wampcra", extra) else { return #expect(Bool(false)) }
    }
  }

  @Test(arguments: [
    (#"{"challenge":"x","salt":"s","iterations":999}"#, "the router asked for only 999 iterations, fewer than 1000"),
    (
      #"{"challenge":"x","salt":"s","iterations":99999999}"#,
      "the router asked for 99999999 iterations, more than 2000000"
    ),
    (#"{"challenge":"x","salt":"s","keylen":1}"#, "the router asked for a key of 1 bytes, which is out of bounds"),
    ("{}", "the router sent a challenge of wampcra without its text"),
  ])
  func aChallengeThatGivesThePasswordAwayIsDeclined(_ extra: String, _ sentence: String) throws {
    var cra = try authentication(#"{"authid":"joe","secret":"secret2"}"#)
    #expect(answer(&cra, "wampcra", extra) == decline(sentence))
  }

  @Test func cryptosignSignsTheChallenge() throws {
    let key = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    let publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    var sign = try authentication(#"{"key":"\#(key)"}"#)
    #expect(
      hello(sign)
        == #"{"authmethods":["cryptosign"],"authextra":{"pubkey":"\#(publicKey)","channel_binding":null}}"#)
    let challenge = String(repeating: "5a", count: 32)
    let message = try #require(Hexadecimal.decode(challenge))
    let seed = try #require(Hexadecimal.decode(key))
    let signature = try #require(OpenSSL.ed25519Sign(message, key: seed))
    #expect(
      answer(&sign, "cryptosign", #"{"challenge":"\#(challenge)","channel_binding":null}"#)
        == plain(Hexadecimal.encode(signature) + challenge))
    #expect(
      answer(&sign, "cryptosign", #"{"challenge":"5a"}"#)
        == decline("the router sent a challenge of cryptosign that is not 64 hexadecimal digits"))
    #expect(
      answer(&sign, "cryptosign", #"{"challenge":"\#(challenge)","channel_binding":"tls-unique"}"#)
        == decline("the router asked for a channel binding of cryptosign, which was not offered"))
  }

  @Test(arguments: ["anonymous", "wampcra", "cryptosign", "unheard-of"])
  func aMethodThatWasNotOfferedIsDeclined(_ method: String) throws {
    var ticket = try authentication(#"{"authid":"joe","ticket":"t"}"#)
    #expect(
      answer(&ticket, method, "{}")
        == decline("the router asked for the authentication method '\(method)', which was not offered"))
  }

  @Test(arguments: [
    (#"{"ticket":"t"}"#, "the credentials lack the member authid"),
    (#"{"authid":"a","secret":""}"#, "the credentials' member secret is no text"),
    (#"{"authid":7}"#, "the credentials' member authid is no text"),
    (#"{"key":"5a"}"#, "the credentials' member key is not 64 hexadecimal digits"),
    (
      #"{"authid":"a","ticket":"t","method":"scram"}"#,
      "the credentials name the method scram, but not what it needs"
    ),
    (
      #"{"authid":"a","ticket":"t","method":"x"}"#,
      "the credentials' member method is none of anonymous, ticket, wampcra, scram, wamp-scram, cryptosign"
    ),
    (
      #"{"password":"a"}"#,
      "the credentials have a member that WAMP does not know; use authid, authrole, ticket, secret, key and method"
    ),
  ])
  func malformedCredentialsAreExplainedWithoutTheirValues(_ payload: String, _ sentence: String) {
    #expect(throws: CredentialProblem(sentence)) { try WAMPCredentials(Array(payload.utf8), authID: nil) }
  }

  @Test func aTokenIsATicketAndTheAuthIDMayBeConfigured() throws {
    let ticket = try authentication(#"{"token":"t"}"#, authID: "joe")
    #expect(hello(ticket) == #"{"authmethods":["ticket"],"authid":"joe"}"#)
  }
}

@Suite struct WAMPScramTests {
  /// RFC 7677 section 3.
  @Test func theExchangeIsThatOfTheSpecification() throws {
    let nonce = "rOprNGfwEbeRWgbNEkqO"
    let extra = Array(
      #"{"nonce":"\#(nonce)%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0","salt":"W22ZaJ0SNY7soEsUEjb6gQ==","kdf":"pbkdf2","iterations":4096}"#
        .utf8)
    let scram = try WAMPScram(
      .wampScram, authID: "user", nonce: nonce, extra.span.bytes, 0..<extra.count, cryptography: cryptography)
    let derivation = try scram.derivation(password: "pencil", cryptography)
    let key = try #require(ImmediateCryptography.key(derivation))
    let proof = scram.prove(saltedPassword: key, cryptography)
    #expect(WAMPAuthentication.base64(proof.client) == "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    #expect(WAMPAuthentication.base64(proof.server) == "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
  }

  private let payload = #"{"authid":"a,b=c","secret":"pencil"}"#
  private let salt = "W22ZaJ0SNY7soEsUEjb6gQ=="

  private func extra(_ nonce: String, _ more: String) -> String { #"{"nonce":"\#(nonce)","salt":"\#(salt)",\#(more)}"# }

  @Test func aRouterThatAsksForNothingHasProvedNothing() throws {
    let scram = try authentication(#"{"authid":"a","secret":"pencil","method":"scram"}"#)
    let isProven = scram.isProven(by: Array("{}".utf8).span.bytes, 0..<2)
    #expect(!isProven)
  }

  @Test func theNonceIsOfferedWithBothNames() throws {
    #expect(
      hello(try authentication(payload))
        == #"{"authmethods":["scram","wamp-scram","wampcra"],"authid":"a,b=c","authextra":{"nonce":"\#(ourNonce)","channel_binding":null}}"#
    )
  }

  /// Each expectation was computed with Python's hashlib and argon2-cffi.
  @Test(arguments: [
    (
      "wamp-scram", #""kdf":"pbkdf2","iterations":4096"#, "Qamp8LVdneEGgHmwpJG25Gu4C9q+lyqOZXy70+UVj0c=",
      "n04SCRV85Zbg1LyCnQk+zwSz/7sHaiix90XMy7PqiM4="
    ),
    (
      "wamp-scram", #""kdf":"argon2id13","iterations":16,"memory":512"#, "Fr3ZTR/ghdfLun53j8eXfbk+6oWxRmtQqSGD1AL/NuE=",
      "Y6T0Az0AfHseJUQYnavprhHKFEuB3I8Spjo4a7j2fsE="
    ),
    (
      "scram", #""kdf":"pbkdf2","iterations":4096"#, "ptBSqW+EJk915AJxJuu4/8KcpDqz426xTbdoMLyXCdg=",
      "t9ihF7CIgNh/Y+zAm+j/juoyAJNbvlNcBjU4iP8LqdM="
    ),
    (
      "scram", #""kdf":"argon2id-13","iterations":16,"memory":512"#, "LOwFcPr6k9Dc9PUP20vrVEvh6H78YGA+mD6Vnx1eNsM=",
      "wzvyHM3sRz/MkXUMekgLRCKdDHD7DFo8l2HnGP2y3n4="
    ),
    (
      "scram", #""kdf":"argon2id13","iterations":16,"memory":512"#, "Fr3ZTR/ghdfLun53j8eXfbk+6oWxRmtQqSGD1AL/NuE=",
      "Y6T0Az0AfHseJUQYnavprhHKFEuB3I8Spjo4a7j2fsE="
    ),
  ])
  func bothDialectsAreComputed(_ method: String, _ cost: String, _ proof: String, _ server: String) throws {
    var scram = try authentication(payload)
    let nonce = ourNonce + "c2VydmVy"
    let step = answer(&scram, method, extra(nonce, cost))
    let answerExtra = #"{"nonce":"\#(nonce)","channel_binding":null,"cbind_data":null}"#
    #expect(step == .answer(signature: proof, extra: Array(answerExtra.utf8)))
    for (name, prefix) in [("verifier", ""), ("verifier", "v="), ("scram_server_signature", "")] {
      let welcome = Array(#"{"authextra":{"\#(name)":"\#(prefix)\#(server)"}}"#.utf8)
      let isProven = scram.isProven(by: welcome.span.bytes, 0..<welcome.count)
      #expect(isProven)
    }
    for welcome in [
      "{}", #"{"authextra":{}}"#, #"{"authextra":{"verifier":"\#(proof)"}}"#, #"{"authextra":{"verifier":""}}"#,
    ] {
      let bytes = Array(welcome.utf8)
      let isProven = scram.isProven(by: bytes.span.bytes, 0..<bytes.count)
      #expect(!isProven)
    }
  }

  @Test func aNonceMayGoOnInItsBytes() throws {
    var scram = try authentication(payload)
    // The base64 of our 16 bytes and 16 more.
    let nonce = "AAECAwQFBgcAAQIDBAUGB/////////////////////8="
    guard case .answer = answer(&scram, "scram", extra(nonce, #""kdf":"pbkdf2","iterations":4096"#)) else {
      return #expect(Bool(false))
    }
  }

  @Test(arguments: [
    (ourNonce, #""kdf":"pbkdf2","iterations":4096"#, "the router's nonce does not begin with ours"),
    ("AAAA", #""kdf":"pbkdf2","iterations":4096"#, "the router's nonce does not begin with ours"),
    (
      ourNonce + "x", #""kdf":"pbkdf2","iterations":4095"#, "the router asked for only 4095 iterations, fewer than 4096"
    ),
    (ourNonce + "x", #""kdf":"pbkdf2""#, "the router sent no number of iterations"),
    (ourNonce + "x", #""kdf":"argon2id13","iterations":2"#, "the router sent no amount of memory for Argon2id"),
    (
      ourNonce + "x", #""kdf":"argon2id13","iterations":1,"memory":64"#,
      "the router asked for too low a cost of Argon2id"
    ),
    (
      ourNonce + "x", #""kdf":"argon2id13","iterations":1,"memory":9999999"#,
      "the router asked for a cost of Argon2id that is out of bounds"
    ),
    (ourNonce + "x", #""kdf":"md5","iterations":4096"#, "the router asked for the unknown key derivation 'md5'"),
  ])
  func aChallengeThatCannotBeTrustedIsDeclined(_ nonce: String, _ more: String, _ sentence: String) throws {
    var scram = try authentication(payload)
    #expect(answer(&scram, "wamp-scram", extra(nonce, more)) == decline(sentence))
  }

  @Test func aChallengeWithoutSaltIsDeclined() throws {
    var scram = try authentication(payload)
    #expect(
      answer(&scram, "scram", #"{"nonce":"\#(ourNonce)x","kdf":"pbkdf2","iterations":4096,"salt":"AA=="}"#)
        == decline("the router sent no salt of at least 8 bytes"))
  }
}
