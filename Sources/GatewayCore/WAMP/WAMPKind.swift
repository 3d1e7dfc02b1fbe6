/// WAMP routers, version 2 over WebSocket with JSON.
public final class WAMPKind: UpstreamKind {
  public static let traits = UpstreamTraits(
    "wamp", schemes: ["wamp+ws", "wamp+wss"], path: .request, examination: .handshake, usesFragment: true,
    table: "wamp",
    foreign: [
      "path", "transports", "upgrade", "parser", "attachments", "attachment_timeout", "force_new",
    ],
    problem: problem)

  private let seams: DirectSeams
  private let cryptography: any Cryptography

  public init(_ seams: UpstreamSeams) {
    self.seams = DirectSeams(seams, dialer: seams.webSockets)
    cryptography = seams.cryptography
  }

  public var traits: UpstreamTraits { Self.traits }

  public func connector(for specification: UpstreamSpecification) -> any UpstreamConnector {
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
    return nil
  }

  /// The realm of the URL, or the configured one.
  static func realm(of specification: UpstreamSpecification) -> String? {
    specification.url.fragment.map(PercentEncoding.decode) ?? specification.settings.wamp.realm
  }

  /// Whether nobody can listen on the way to any of the upstream's places.
  static func isPrivate(_ specification: UpstreamSpecification) -> Bool {
    ([specification.url] + specification.settings.alternatives).allSatisfy { $0.secure || isLoopback($0.host) }
  }

  private static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || host == "::1" || host.hasPrefix("127.") && host.utf8.allSatisfy { $0 < 0x3a }
  }
}
