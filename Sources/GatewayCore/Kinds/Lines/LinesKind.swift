/// Servers that speak JSON over TCP or TLS, one object to a line, in the words that a profile names.
final class LinesKind: UpstreamKind {
  static let traits = UpstreamTraits(
    "lines", schemes: ["tcp", "tls"], path: .request, examination: .handshake, table: "lines",
    foreign: [
      "path", "transports", "upgrade", "parser", "attachments", "attachment_timeout", "force_new", "ping_limit",
      "reconnect_after_kick", "headers", "query", "redirects", "compression", "heartbeat",
      "server_time.event", "server_time.request",
    ],
    problem: problem,
    unsayable: { draft, settings in
      let profile = LinesProfile(settings.lines)
      do throws(MessageProblem) { _ = try LinesDraft(profile: profile).message(draft, mark: []) } catch { return error }
      return nil
    })

  var traits: UpstreamTraits { Self.traits }
  private let seams: DirectSeams

  init(_ seams: UpstreamSeams) { self.seams = DirectSeams(seams, dialer: seams.lines) }

  func connector(for specification: UpstreamSpecification) -> any UpstreamConnector {
    LinesConnector(specification, seams: seams)
  }

  private static func problem(_ specification: UpstreamSpecification) -> MessageProblem? {
    let sentence =
      LinkCheck.problem(with: specification) ?? problem(with: specification.url)
      ?? LinesProfile(specification.settings.lines).problem ?? problem(with: specification.settings)
      ?? readableLogin(specification)
    return sentence.map { .invalid($0) }
  }

  private static func problem(with url: UpstreamURL) -> String? {
    guard url.port != nil else {
      return "the URL needs a port, for \(url.scheme):// has no usual one: \(url.scheme)://\(url.bracketedHost):4000"
    }
    guard url.path.isEmpty || url.path == "/", url.query == nil, url.fragment == nil, url.userInfo == nil else {
      return "a URL of \(url.scheme):// is host and port alone, without user, path, query or fragment"
    }
    return nil
  }

  private static func problem(with settings: UpstreamSettings) -> String? {
    if case .inline(let text) = settings.auth, !AuthPayload.isObject(text) {
      return "auth must be a JSON object"
    }
    guard settings.auth == .none || settings.lines.login.type != nil else {
      return "auth needs lines.login.type, the message that carries the credentials"
    }
    return nil
  }

  /// The login is written as it is. Decision 0068.
  private static func readableLogin(_ specification: UpstreamSpecification) -> String? {
    let settings = specification.settings
    guard settings.auth != .none, !specification.isPrivate, !settings.lines.readableLogin else { return nil }
    return "auth would travel readably over tcp://; use tls://, or set lines.readable_login if the way is safe"
  }
}
