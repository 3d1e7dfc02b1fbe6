/// `wamp = { … }`: what WAMP upstreams have beyond the others.
struct WAMPSettings: Hashable, Sendable {
  /// Nil: the URL names it.
  var realm: String?
  /// As whom we log in, where the credentials do not say it.
  var authID: String?
  /// Whom the router calls when other sessions register the same procedures.
  var invoke = WAMPInvocationPolicy.single
  /// Whether tickets may travel without TLS to other hosts.
  var readableTickets = false
  init() {}
}

/// `invoke` of a registration: whom the router calls when several sessions register one procedure.
enum WAMPInvocationPolicy: String, CaseIterable, Equatable, Sendable {
  case single
  case roundrobin
  case random
  case first
  case last
}

/// How a subscription or registration compares names (WAMP sections "Pattern-based Subscription" and
/// "Pattern-based Registration").
enum WAMPMatch: String, Equatable, Sendable {
  case exact
  /// Names that begin with the pattern.
  case prefix
  /// Empty components of the pattern stand for any one component.
  case wildcard
}

/// The names of topics, procedures, errors and reasons, in the loose form (WAMP section "URIs"): components between
/// dots, none of them empty, without `#` and white space.
struct WAMPURI: Equatable, Sendable {
  var text: String

  private init(known text: String) { self.text = text }

  /// Reasons and errors that this client sends.
  static let closeRealm = WAMPURI(known: "wamp.close.close_realm")
  static let goodbyeAndOut = WAMPURI(known: "wamp.close.goodbye_and_out")
  static let protocolViolation = WAMPURI(known: "wamp.error.protocol_violation")
  static let authenticationFailed = WAMPURI(known: "wamp.error.authentication_failed")
  static let canceled = WAMPURI(known: "wamp.error.canceled")
  static let unavailable = WAMPURI(known: "wamp.error.unavailable")

  /// Longest one in bytes.
  static let lengthLimit = 1_024

  /// What is wrong with a name that a message is to carry, as a sentence about it; nil if nothing is. Routers end a
  /// session that sends such a name.
  static func problem(_ text: String, _ match: WAMPMatch = .exact) -> String? {
    guard text.utf8.count <= lengthLimit else { return "is longer than \(lengthLimit) bytes" }
    if text.unicodeScalars.contains(where: isForbidden) { return "must not hold white space, control characters or #" }
    let components = text.split(separator: ".", omittingEmptySubsequences: false)
    let mayBeEmpty: Bool
    switch match {
    case .exact: mayBeEmpty = false
    // Only the last component: what it begins with is open.
    case .prefix: mayBeEmpty = components.dropLast().allSatisfy { !$0.isEmpty }
    case .wildcard: mayBeEmpty = true
    }
    guard mayBeEmpty || components.allSatisfy({ !$0.isEmpty }) else {
      return "must be components between dots, none of them empty"
    }
    return nil
  }

  /// Whether only the router itself may publish, register and raise it.
  static func isReserved(_ text: String) -> Bool { text == "wamp" || text.hasPrefix("wamp.") }

  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "#" || scalar.value <= 0x20 || scalar.value == 0x7f || scalar.properties.isWhitespace
  }
}
