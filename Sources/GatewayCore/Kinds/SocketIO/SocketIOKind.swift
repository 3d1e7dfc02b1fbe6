/// Socket.IO servers, 1.x to 4.x, over WebSocket or long-polling.
public final class SocketIOKind: UpstreamKind {
  public static let traits = UpstreamTraits(
    "socketio", schemes: ["http", "https", "ws", "wss"], path: .namespace, examination: .engineIO,
    foreign: ["heartbeat"], problem: SocketIOSpecificationCheck.problem)

  public var traits: UpstreamTraits { Self.traits }
  private let links: SocketIOLinks
  private let readings: CredentialReads

  /// Without a `requester` long-polling is passed over.
  init(
    dialer: any TransportDialer, requester: (any HTTPRequester)?, credentials: any CredentialReader, timers: Timers,
    time: any TimeSource, random: any RandomSource, memory: MemoryBudgets = MemoryBudgets()
  ) {
    links = SocketIOLinks(
      dialer: dialer, requester: requester, timers: timers, time: time, random: random, memory: memory)
    readings = CredentialReads(reader: credentials)
  }

  /// How many links are open or being opened.
  var linkCount: Int { links.count }

  public func connector(for specification: UpstreamSpecification) -> any UpstreamConnector {
    SocketIOConnector(specification, links: links, readings: readings)
  }
}
