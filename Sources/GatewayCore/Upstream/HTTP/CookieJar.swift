/// The cookies of one server, such as those with which a load balancer recognises which client it sent where. Its
/// content is secret and therefore never shown.
struct CookieJar: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
  /// Most cookies kept, and most bytes of their names and values; beyond either the oldest are forgotten.
  static let countLimit = 50
  static let sizeLimit = 16 << 10

  /// In the order of their first arrival.
  private var cookies: [Cookie] = []

  var description: String { "\(cookies.count) cookies" }
  var customMirror: Mirror { Mirror(reflecting: description) }
  var isEmpty: Bool { cookies.isEmpty }

  /// Takes the cookies out of a response's header lines, whose names are in lower case. A cookie replaces the one with
  /// its name and path; one that has expired only removes it.
  mutating func store(_ headers: [HTTPHeader], from origin: Cookie.Origin) {
    for header in headers where header.name == "set-cookie" {
      guard let cookie = Cookie(parsing: header.value, from: origin) else { continue }
      let old = cookies.firstIndex { $0.name.isExactly(cookie.name) && $0.path.isExactly(cookie.path) }
      if let expiry = cookie.expiry, expiry <= origin.now {
        if let old { cookies.remove(at: old) }
      } else if let old {
        cookies[old] = cookie
      } else {
        cookies.append(cookie)
      }
    }
    while cookies.count > Self.countLimit || byteCount > Self.sizeLimit { cookies.removeFirst() }
  }

  /// The value of the `Cookie` header for a request (RFC 6265 section 5.4); nil when none goes with it.
  func header(path: String, now: Int64) -> String? {
    let matching = cookies.filter { $0.matches(path: path) && ($0.expiry ?? .max) > now }
    guard !matching.isEmpty else { return nil }
    let lengths = Set(matching.map { $0.path.utf8.count }).sorted(by: >)
    let ordered = lengths.flatMap { length in matching.filter { $0.path.utf8.count == length } }
    return ordered.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
  }

  private var byteCount: Int { cookies.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }
}

/// One cookie as a server set it (RFC 6265). Its value is a secret.
struct Cookie: Equatable, Sendable {
  /// Name and value exactly as they came.
  var name: String
  var value: String
  var path: String
  /// Only for TLS.
  var isSecure: Bool
  /// Milliseconds since 1970; nil for as long as the daemon runs.
  var expiry: Int64?

  /// Where and when a cookie came.
  struct Origin: Equatable, Sendable {
    var host: String
    /// The path of the request, without its query.
    var path: String
    var isSecure: Bool
    /// Milliseconds since 1970.
    var now: Int64
  }

  /// Largest name and value together, in bytes.
  static let sizeLimit = 4 << 10

  /// Reads the value of a `Set-Cookie` header (RFC 6265 sections 5.2 and 5.3). Nil when it must be ignored: no name,
  /// too large, for another host, or for TLS where there is none.
  init?(parsing header: String, from origin: Origin) {
    var parts = header.split(separator: ";", omittingEmptySubsequences: false)[...]
    guard let pair = parts.popFirst(), let equals = pair.firstIndex(of: "=") else { return nil }
    name = Self.trimmed(pair[..<equals])
    value = Self.trimmed(pair[pair.index(after: equals)...])
    guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.sizeLimit else { return nil }
    guard (name + value).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else { return nil }
    path = Self.defaultPath(origin.path)
    isSecure = false
    var maxAge: Int64?
    for part in parts {
      let mark = part.firstIndex(of: "=") ?? part.endIndex
      let content = Self.trimmed(part[mark...].dropFirst())
      switch Self.trimmed(part[..<mark]).lowercased() {
      case "path": path = content.hasPrefix("/") ? content : Self.defaultPath(origin.path)
      case "domain": guard Self.domain(content, covers: origin.host) else { return nil }
      case "secure": isSecure = true
      case "max-age": maxAge = Self.age(content) ?? maxAge
      case "expires": expiry = HTTPDate.seconds(content).map { $0 * 1_000 } ?? expiry
      default: break
      }
    }
    if let maxAge { expiry = maxAge <= 0 ? .min : origin.now.addingReportingOverflow(maxAge &* 1_000).partialValue }
    if isSecure, !origin.isSecure { return nil }
  }

  /// Whether it goes with a request for this path (RFC 6265 section 5.1.4).
  func matches(path requested: String) -> Bool {
    guard requested.hasPrefix(path) else { return false }
    return requested.utf8.count == path.utf8.count || path.hasSuffix("/")
      || requested.utf8.dropFirst(path.utf8.count).first == UInt8(ascii: "/")
  }

  /// The folder of the request's path.
  private static func defaultPath(_ path: String) -> String {
    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  /// Cookies go back to the host that set them and to no other; a domain only must not name a foreign one.
  private static func domain(_ domain: String, covers host: String) -> Bool {
    let domain = (domain.hasPrefix(".") ? String(domain.dropFirst()) : domain).lowercased()
    return domain.isEmpty || host == domain || host.hasSuffix("." + domain)
  }

  /// Seconds, bounded so that later sums stay in range; nil for what is no number.
  private static func age(_ text: String) -> Int64? {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    if text.hasPrefix("-") { return 0 }
    return min(Int64(digits) ?? .max, 400 * 86_400)
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    let front = text.drop(while: isBlank)
    guard let last = front.lastIndex(where: { !isBlank($0) }) else { return "" }
    return String(front[...last])
  }
}
