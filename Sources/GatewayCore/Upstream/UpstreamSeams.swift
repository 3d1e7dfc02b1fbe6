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
  public let pendingCloses = PendingCloses()

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
