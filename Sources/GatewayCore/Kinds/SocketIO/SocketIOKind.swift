/// Socket.IO servers, 1.x to 4.x, over WebSocket or long-polling.
final class SocketIOKind: UpstreamKind {
  static let traits = UpstreamTraits(
    "socketio", schemes: ["http", "https", "ws", "wss"], path: .namespace, examination: .stepwise,
    foreign: ["heartbeat"], problem: SocketIOSpecificationCheck.problem,
    unsayable: { draft, settings in
      guard draft.kwargs == nil else { return SocketIOMessage.noKeywords }
      do throws(MessageProblem) {
        _ = try SocketIOMessage.event(
          draft.event, args: draft.args.span.bytes, attachmentLimit: settings.attachments, revision: nil,
          parser: settings.parser)
      } catch { return error }
      return nil
    })

  var traits: UpstreamTraits { Self.traits }
  private let links: SocketIOLinks
  private let readings: CredentialReads

  /// Without a `requester` long-polling is passed over.
  init(
    dialer: any TransportDialer, requester: (any HTTPRequester)?, credentials: any CredentialReader, timers: Timers,
    time: any TimeSource, random: any RandomSource, memory: MemoryBudgets = MemoryBudgets(),
    servers: ConfiguredServers = ConfiguredServers()
  ) {
    links = SocketIOLinks(
      dialer: dialer, requester: requester, timers: timers, time: time, random: random, memory: memory,
      servers: servers)
    readings = CredentialReads(reader: credentials)
  }

  /// How many links are open or being opened.
  var linkCount: Int { links.count }

  func connector(for specification: UpstreamSpecification) -> any UpstreamConnector {
    SocketIOConnector(specification, links: links, readings: readings)
  }
}

/// Whether an upstream can be used as a Socket.IO server, judged before anything is dialled.
enum SocketIOSpecificationCheck {
  /// Longest namespace, in bytes.
  static let namespaceLimit = 1 << 10

  /// Why it cannot; nil when it can.
  static func problem(with specification: UpstreamSpecification) -> MessageProblem? {
    let sentence =
      namespaceProblem(specification.namespace) ?? queryProblem(specification)
      ?? settingsProblem(specification)
    return sentence.map { .invalid($0) }
  }

  private static func namespaceProblem(_ namespace: String) -> String? {
    guard namespace.hasPrefix("/") else { return "a Socket.IO namespace begins with /" }
    guard namespace.utf8.count <= namespaceLimit else {
      return "a Socket.IO namespace is at most \(namespaceLimit) bytes long"
    }
    guard !namespace.utf8.contains(UInt8(ascii: ",")) else { return "a Socket.IO namespace cannot hold a comma" }
    guard namespace.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7f }) else {
      return "a Socket.IO namespace cannot hold control characters"
    }
    return nil
  }

  private static func queryProblem(_ specification: UpstreamSpecification) -> String? {
    let own = (specification.url.query ?? "").split(separator: "&").map { pair in
      PercentEncoding.decode(pair.prefix { $0 != "=" })
    }
    let names = specification.settings.query.map(\.name) + specification.settings.querySources.map(\.name) + own
    guard let reserved = names.first(where: QueryItem.reservedNames.contains) else { return nil }
    return "the query parameter \(reserved) is used by the connection itself"
  }

  private static func settingsProblem(_ specification: UpstreamSpecification) -> String? {
    let settings = specification.settings
    guard settings.path.hasPrefix("/") else { return "the HTTP path begins with /" }
    if let problem = LinkCheck.problem(with: specification) { return problem }
    if case .inline(let text) = settings.auth, !AuthPayload.isObject(text) {
      return "auth must be a JSON object"
    }
    let names = [settings.serverTime.event, settings.serverTime.request].compactMap { $0 }
    if let reserved = names.first(where: { SocketIOEventName.isReserved($0, revision: nil) }) {
      return "server_time names the event \(reserved), which Socket.IO keeps for itself"
    }
    return nil
  }
}
