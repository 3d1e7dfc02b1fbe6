/// What a JSON Web Token (RFC 7519) in a payload says about its own life. Nothing is verified: the server does that.
struct WebToken: Equatable, Sendable {
  /// Seconds since 1970 at which it expires, claim `exp`.
  var expires: Double
  /// Seconds since 1970 at which it was issued, claim `iat`; nil when it does not say.
  var issued: Double?

  /// Largest and smallest times that are believed: the years 1970 to 9999.
  private static let believable = 0.0...253_402_300_799.0

  /// The token of a payload that expires first; nil when no member of the object is one that expires.
  static func earliest(in payload: [UInt8]) -> WebToken? {
    let members = (try? JSONValue.parse(payload.span.bytes, limit: .max))?.members ?? []
    return members.compactMap { $0.value.stringValue.flatMap(WebToken.init) }.min { $0.expires < $1.expires }
  }

  init(expires: Double, issued: Double?) {
    self.expires = expires
    self.issued = issued
  }

  /// Nil for a text that is no such token or never expires. A leading `Bearer ` is no part of it.
  init?(_ text: String) {
    let bare = text.utf8.count > 7 && text.prefix(7).lowercased() == "bearer " ? text.dropFirst(7) : text[...]
    let parts = bare.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    // The third part, the signature, is empty in an unsecured token.
    guard parts.count == 3, !parts[0].isEmpty, parts[2].allSatisfy({ Self.isLetter($0) }),
      Self.json(parts[0])?.members != nil, let claims = Self.json(parts[1]),
      let expires = claims["exp"]?.doubleValue, Self.believable.contains(expires)
    else { return nil }
    self.expires = expires
    issued = claims["iat"]?.doubleValue.flatMap { Self.believable.contains($0) ? $0 : nil }
  }

  /// How long it is still good by a clock in milliseconds since 1970; zero or less once it has expired.
  func timeLeft(at wallMilliseconds: Int64) -> Duration {
    .milliseconds(Int64(expires * 1_000) - wallMilliseconds)
  }

  /// The same for a token that the server has just accepted, whatever the clocks say: a token from the future was
  /// issued now, and one that has expired by our clock is as old as one issued now would be. Nil when it cannot be
  /// told.
  func timeLeft(acceptedAt wallMilliseconds: Int64) -> Duration? {
    let left = timeLeft(at: wallMilliseconds)
    let life: Duration? = issued.flatMap { $0 < expires ? .milliseconds(Int64((expires - $0) * 1_000)) : nil }
    guard left > .zero else { return life }
    return life.map { min(left, $0) } ?? left
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    byte.isASCIILetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }

  /// The JSON of a part in base64url without padding, RFC 7515 section 2.
  private static func json(_ part: Substring.UTF8View) -> JSONValue? {
    guard part.allSatisfy({ isLetter($0) }) else { return nil }
    var letters = part.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: byte
      }
    }
    while letters.count % 4 != 0 { letters.append(UInt8(ascii: "=")) }
    guard let bytes = Base64.decode(letters.span.bytes) else { return nil }
    return try? JSONValue.parse(bytes.span.bytes, limit: .max)
  }
}
