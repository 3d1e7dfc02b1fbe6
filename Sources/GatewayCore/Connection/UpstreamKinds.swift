/// Every kind of upstream that there is: the one place where a further one is registered.
public enum UpstreamKinds {
  /// What is known of each beforehand.
  public static let traits: [UpstreamTraits] = [
    SocketIOKind.traits, PlainWebSocketKind.traits, LinesKind.traits, WAMPKind.traits,
  ]

  /// One of each.
  public static func make(_ seams: UpstreamSeams) -> [any UpstreamKind] {
    [
      SocketIOKind(
        dialer: seams.webSockets, requester: seams.requester, credentials: seams.credentials, timers: seams.timers,
        time: seams.time, random: seams.random, memory: seams.memory),
      PlainWebSocketKind(seams), LinesKind(seams), WAMPKind(seams),
    ]
  }

  /// The kind of a scheme; nil for one that no kind claims.
  public static func traits(of scheme: String) -> UpstreamTraits? {
    traits.first { $0.schemes.contains(scheme) }
  }

  /// Why an upstream is impossible whatever its server says, judged before anything exists; nil if it is not.
  public static func problem(with specification: UpstreamSpecification) -> MessageProblem? {
    traits(of: specification.url.scheme)?.problem(specification)
  }
}

/// What kinds of upstream need of the outside.
public struct UpstreamSeams {
  /// Dials WebSockets.
  public var webSockets: any TransportDialer
  /// Dials TCP and TLS connections that carry lines.
  public var lines: any TransportDialer
  /// Nil: HTTP long-polling is passed over.
  public var requester: (any HTTPRequester)?
  public var credentials: any CredentialReader
  public var timers: Timers
  public var time: any TimeSource
  public var random: any RandomSource
  public var cryptography: any Cryptography
  /// What links may hold of what servers send and do not read.
  public var memory: MemoryBudgets
  /// Who is still saying goodbye.
  public let farewells = Farewells()

  public init(
    webSockets: any TransportDialer, lines: any TransportDialer, requester: (any HTTPRequester)?,
    credentials: any CredentialReader, timers: Timers, time: any TimeSource, random: any RandomSource,
    cryptography: any Cryptography, memory: MemoryBudgets = MemoryBudgets()
  ) {
    self.memory = memory
    self.webSockets = webSockets
    self.lines = lines
    self.requester = requester
    self.credentials = credentials
    self.timers = timers
    self.time = time
    self.random = random
    self.cryptography = cryptography
  }
}
