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
  /// Where no redirect of another server leads.
  public var servers: ConfiguredServers
  /// Conversations that still await their server's goodbye.
  public let pendingCloses = PendingCloses()

  public init(
    webSockets: any TransportDialer, lines: any TransportDialer, requester: (any HTTPRequester)?,
    credentials: any CredentialReader, timers: Timers, time: any TimeSource, random: any RandomSource,
    cryptography: any Cryptography, memory: MemoryBudgets = MemoryBudgets(),
    servers: ConfiguredServers = ConfiguredServers()
  ) {
    self.servers = servers
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

/// Conversations that no connection holds any more and that still await their server's goodbye: the daemon's end waits
/// for them.
public final class PendingCloses {
  /// One of them; it counts for as long as it is held.
  final class PendingClose {
    private let all: PendingCloses

    fileprivate init(_ all: PendingCloses) {
      self.all = all
      all.count += 1
    }

    deinit {
      all.count -= 1
      all.checkQuiet()
    }
  }

  private var count = 0
  private var onQuiet: (() -> Void)?

  init() {}

  /// The caller limits its time.
  func begin() -> PendingClose { PendingClose(self) }

  /// Calls back once, when none is under way: at once if that is so already.
  public func whenQuiet(_ body: @escaping () -> Void) {
    onQuiet = body
    checkQuiet()
  }

  private func checkQuiet() {
    guard count == 0, let body = onQuiet else { return }
    onQuiet = nil
    body()
  }
}
