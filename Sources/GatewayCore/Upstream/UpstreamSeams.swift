/// What kinds of upstream need of the outside.
public struct UpstreamSeams {
  /// Dials WebSockets.
  var webSockets: any TransportDialer
  /// Dials TCP and TLS connections that carry lines.
  var lines: any TransportDialer
  /// Nil: HTTP long-polling is passed over.
  var requester: (any HTTPRequester)?
  var credentials: any CredentialReader
  var timers: Timers
  var time: any TimeSource
  var random: any RandomSource
  var cryptography: any Cryptography
  /// What links may hold of what servers send and do not read.
  var memory: MemoryBudgets
  /// Where no redirect of another server leads.
  var servers: ConfiguredServers
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
