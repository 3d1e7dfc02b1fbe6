/// `wamp = { … }`: what WAMP upstreams have beyond the others.
public struct WAMPSettings: Hashable, Sendable {
  /// Nil: the URL names it.
  public var realm: String?
  /// Who we are, where the credentials do not say it.
  public var authID: String?
  /// Whom the router calls when other sessions register the same procedures.
  public var invoke = WAMPInvocationPolicy.single
  /// Whether tickets may travel without TLS to other hosts.
  public var readableTickets = false
  public init() {}
}

/// `invoke` of a registration: whom the router calls when several sessions register one procedure.
public enum WAMPInvocationPolicy: String, CaseIterable, Equatable, Sendable {
  case single
  case roundrobin
  case random
  case first
  case last
}
