/// One exchange of SCRAM (WAMP section "Salted Challenge Response Authentication Mechanism"; RFC 5802, RFC 7677).
///
/// Autobahn and Crossbar.io compute it otherwise than the specification: without a GS2 header and without escapes, and
/// with the encoded instead of the plain hash of Argon2id. Which of the two a router means shows in the names that it
/// uses. Decision 0054.
struct WAMPScram: Equatable {
  private enum Function: Equatable {
    case pbkdf2(iterations: Int)
    case argon2id(iterations: Int, memory: Int)
  }

  private let followsSpecification: Bool
  private let authMessage: String
  private let nonce: String
  private let salt: [UInt8]
  private let function: Function

  /// Reads the `Extra` of a CHALLENGE. `nonce` is ours.
  init(
    _ method: WAMPMethod, authID: String, nonce own: String, _ text: RawSpan, _ range: Range<Int>,
    cryptography: any Cryptography
  ) throws(UpstreamFailure) {
    guard let nonce = WAMPDetails.string("nonce", in: text, range), Self.goesOn(nonce, from: own) else {
      throw UpstreamFailure(.auth, "the router's nonce does not begin with ours")
    }
    guard let saltText = WAMPDetails.string("salt", in: text, range),
      let salt = Base64.decode(saltText.utf8Span.span.bytes), salt.count >= 8
    else { throw UpstreamFailure(.auth, "the router sent no salt of at least 8 bytes") }
    guard let iterations = WAMPDetails.integer("iterations", in: text, range) else {
      throw UpstreamFailure(.auth, "the router sent no number of iterations")
    }
    let kdf = WAMPDetails.string("kdf", in: text, range) ?? ""
    function = try Self.function(kdf, iterations: iterations, memory: WAMPDetails.integer("memory", in: text, range))
    followsSpecification = method == .wampScram || kdf == "argon2id13"
    self.nonce = nonce
    self.salt = salt
    guard let prepared = cryptography.saslPrepared(authID) else {
      throw UpstreamFailure(.auth, "the authid holds characters that SCRAM forbids")
    }
    let name = followsSpecification ? Self.escaped(prepared) : prepared
    // "biws" is the base64 of "n,,": no channel binding.
    let binding = followsSpecification ? "biws" : ""
    authMessage = "n=\(name),r=\(own),r=\(nonce),s=\(saltText),i=\(iterations),c=\(binding),r=\(nonce)"
  }

  /// What the salted password is worked out by.
  func derivation(password: String, _ cryptography: any Cryptography) throws(UpstreamFailure) -> KeyDerivation {
    guard let prepared = followsSpecification ? cryptography.saslPrepared(password) : password else {
      throw UpstreamFailure(.auth, "the secret holds characters that SCRAM forbids")
    }
    let password = Array(prepared.utf8)
    switch function {
    case .pbkdf2(let iterations): return .pbkdf2(password: password, salt: salt, iterations: iterations, length: 32)
    case .argon2id(let iterations, let memory):
      return .argon2id(password: password, salt: salt, iterations: iterations, memory: memory, length: 32)
    }
  }

  /// What we show, and what the router has to show.
  func prove(saltedPassword key: [UInt8], _ cryptography: any Cryptography) -> (client: [UInt8], server: [UInt8]) {
    let salted = followsSpecification || !isArgon2 ? key : Self.unpaddedBase64(key)
    let message = Array(authMessage.utf8)
    let clientKey = cryptography.hmacSHA256(key: salted, Array("Client Key".utf8))
    let signature = cryptography.hmacSHA256(key: cryptography.sha256(clientKey), message)
    let serverKey = cryptography.hmacSHA256(key: salted, Array("Server Key".utf8))
    return (zip(clientKey, signature).map(^), cryptography.hmacSHA256(key: serverKey, message))
  }

  /// `Extra` of AUTHENTICATE.
  var answerExtra: [UInt8] {
    var writer = JSONWriter()
    writer.object {
      $0.member("nonce", nonce)
      $0.member("channel_binding", nil as String?)
      $0.member("cbind_data", nil as String?)
    }
    return writer.bytes
  }

  private var isArgon2: Bool {
    switch function {
    case .argon2id: true
    case .pbkdf2: false
    }
  }

  private static func function(_ kdf: String, iterations: Int, memory: Int?) throws(UpstreamFailure) -> Function {
    switch kdf {
    case "pbkdf2":
      if let problem = KeyDerivationCost.problem(iterations: iterations, KeyDerivationCost.scramIterations) {
        throw UpstreamFailure(.auth, problem)
      }
      return .pbkdf2(iterations: iterations)
    case "argon2id13", "argon2id-13":
      guard let memory else { throw UpstreamFailure(.auth, "the router sent no amount of memory for Argon2id") }
      if let problem = KeyDerivationCost.problem(iterations: iterations, memory: memory) {
        throw UpstreamFailure(.auth, problem)
      }
      return .argon2id(iterations: iterations, memory: memory)
    default:
      throw UpstreamFailure(
        .auth, "the router asked for the unknown key derivation '\(kdf.shortened(to: 40).singleLine)'")
    }
  }

  /// Whether a nonce begins with ours and goes on: by its text, or by the bytes that it encodes.
  private static func goesOn(_ nonce: String, from own: String) -> Bool {
    if nonce.utf8.count > own.utf8.count, nonce.utf8.starts(with: own.utf8) {
      return !nonce.utf8.contains(UInt8(ascii: ","))
    }
    guard let bytes = Base64.decode(nonce.utf8Span.span.bytes), let first = Base64.decode(own.utf8Span.span.bytes)
    else {
      return false
    }
    return bytes.count > first.count && bytes.starts(with: first)
  }

  /// RFC 5802 section 5.1, `saslname`.
  private static func escaped(_ name: String) -> String {
    var text = ""
    for character in name.unicodeScalars {
      switch character {
      case ",": text += "=2C"
      case "=": text += "=3D"
      default: text.unicodeScalars.append(character)
      }
    }
    return text
  }

  private static func unpaddedBase64(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    Base64.encode(bytes.span.bytes, into: &text)
    return text.filter { $0 != UInt8(ascii: "=") }
  }
}
