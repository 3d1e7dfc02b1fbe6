/// WAMP routers, version 2 over WebSocket with JSON. Decision 0053.
final class WAMPKind: UpstreamKind {
  static let traits = UpstreamTraits(
    "wamp", schemes: ["wamp+ws", "wamp+wss"], path: .request, examination: .handshake, usesFragment: true,
    table: "wamp",
    foreign: [
      "path", "transports", "upgrade", "parser", "attachments", "attachment_timeout", "force_new", "ping_limit",
      "on_connect",
    ],
    problem: problem)

  private let seams: DirectSeams
  private let cryptography: any Cryptography

  init(_ seams: UpstreamSeams) {
    self.seams = DirectSeams(seams, dialer: seams.webSockets)
    cryptography = seams.cryptography
  }

  var traits: UpstreamTraits { Self.traits }

  func connector(for specification: UpstreamSpecification) -> any UpstreamConnector {
    WAMPConnector(specification, seams: seams, cryptography: cryptography)
  }

  /// What a configuration asks before anything exists.
  private static func problem(_ specification: UpstreamSpecification) -> MessageProblem? {
    if let sentence = LinkCheck.problem(with: specification) { return .invalid(sentence) }
    guard let realm = realm(of: specification) else {
      return .invalid("a WAMP upstream needs a realm: `wamp.realm`, or the URL's part behind #")
    }
    if let problem = WAMPURI.problem(realm) { return .invalid("the realm '\(realm)' \(problem)") }
    if let named = specification.settings.wamp.realm, named != realm {
      return .invalid("the realm of `wamp.realm` differs from the URL's part behind #; leave one of them out")
    }
    let settings = specification.settings
    guard settings.alternatives.allSatisfy({ Self.realm(of: $0, settings) == realm }) else {
      return .invalid("its URLs name different realms, which are connections of their own: make an upstream for each")
    }
    return nil
  }

  /// The realm of the URL, or the configured one.
  static func realm(of specification: UpstreamSpecification) -> String? {
    realm(of: specification.url, specification.settings)
  }

  private static func realm(of url: UpstreamURL, _ settings: UpstreamSettings) -> String? {
    url.fragment.map(PercentEncoding.decode) ?? settings.wamp.realm
  }
}
