/// `wamp = { … }`: what WAMP upstreams have beyond the others.
struct WAMPSettings: Hashable, Sendable {
  /// Nil: the URL names it.
  var realm: String?
  /// Who we are, where the credentials do not say it.
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
