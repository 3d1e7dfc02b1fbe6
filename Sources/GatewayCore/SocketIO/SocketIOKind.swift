/// Socket.IO servers, 1.x to 4.x, over WebSocket or long-polling.
public final class SocketIOKind: UpstreamKind {
  public let schemes = ["http", "https", "ws", "wss"]
  private let links: SocketIOLinks
  private let readings: SharedReadings

  /// Without a `requester` long-polling is passed over.
  public init(
    dialer: any TransportDialer, requester: (any HTTPRequester)?, credentials: any CredentialReader, timers: Timers,
    time: any TimeSource, random: any RandomSource
  ) {
    links = SocketIOLinks(dialer: dialer, requester: requester, timers: timers, time: time, random: random)
    readings = SharedReadings(reader: credentials)
  }

  /// How many links are open or being opened.
  public var linkCount: Int { links.count }

  public func connector(for specification: UpstreamSpecification) -> any UpstreamConnector {
    SocketIOConnector(specification, links: links, readings: readings)
  }

  public func problem(with specification: UpstreamSpecification) -> MessageProblem? { Self.check(specification) }

  /// The same without a kind at hand: what a configuration asks before anything exists.
  public static func check(_ specification: UpstreamSpecification) -> MessageProblem? {
    SocketIOSpecificationCheck.problem(with: specification)
  }
}
