/// The cookies of one server, such as those with which a load balancer recognises who it sent where. Its content is
/// secret and therefore never shown.
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
      let old = cookies.firstIndex { $0.name == cookie.name && $0.path == cookie.path }
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
