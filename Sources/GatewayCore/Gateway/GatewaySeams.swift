/// Everything that the gateway needs of the outside.
public struct GatewaySeams {
  var time: any TimeSource
  var timers: Timers
  var random: any RandomSource
  var urls: any URLReader
  var kinds: UpstreamKindSet
  var loader: any ConfigurationLoader
  var outbox: OutboxOpening
  /// Where histories are kept on disk, or why that cannot be.
  var histories: Result<any HistoryStore, StorageProblem>
  /// The same for those that need not outlive the machine's restarts; nil where there is no place for them.
  var runtimeHistories: Result<any HistoryStore, StorageProblem>?
  /// Nil where the network cannot be watched: every upstream counts as reachable then.
  var network: (any NetworkObserver)?
  /// The daemon's resident memory in bytes, for `status`.
  var residentBytes: () -> Int
  /// The longest time for which the daemon was busy with one thing, for `status`; nil where there is no loop.
  var longestTurn: (() -> Duration)?
  /// What the process itself says for `stats`, told how many local clients there are; nil where there is no loop.
  var figures: ((_ clients: Int) -> ProcessFigures)?
  /// What is shared by all that hold memory for others.
  let memory: MemoryBudgets
  /// Looked at where a server redirects.
  let servers: ConfiguredServers
  /// Told of messages that take long; the readers of servers' bytes look at it.
  let work: MatchingCost
  /// What `doctor` works with; nil where there is no network.
  var doctor: DoctorSeams?
  /// Nil where the machine's users are not known.
  var users: (any UserDirectory)?
  /// Nil where there can be no fleet.
  var fleet: FleetSeams?

  public init(
    time: any TimeSource, timers: Timers, random: any RandomSource, urls: any URLReader, kinds: UpstreamKindSet,
    loader: any ConfigurationLoader, network: (any NetworkObserver)? = nil,
    outbox: OutboxOpening = .unavailable(.none),
    histories: Result<any HistoryStore, StorageProblem> = .failure(.none),
    runtimeHistories: Result<any HistoryStore, StorageProblem>? = nil, residentBytes: @escaping () -> Int,
    longestTurn: (() -> Duration)? = nil, figures: ((_ clients: Int) -> ProcessFigures)? = nil,
    memory: MemoryBudgets = MemoryBudgets(), servers: ConfiguredServers = ConfiguredServers(),
    work: MatchingCost = MatchingCost(), doctor: DoctorSeams? = nil, users: (any UserDirectory)? = nil,
    fleet: FleetSeams? = nil
  ) {
    self.time = time
    self.timers = timers
    self.random = random
    self.urls = urls
    self.kinds = kinds
    self.loader = loader
    self.outbox = outbox
    self.histories = histories
    self.runtimeHistories = runtimeHistories
    self.network = network
    self.residentBytes = residentBytes
    self.memory = memory
    self.servers = servers
    self.work = work
    self.longestTurn = longestTurn
    self.figures = figures
    self.doctor = doctor
    self.users = users
    self.fleet = fleet
  }
}

/// The users of the machine with their groups: what rules are compared with when an administrator asks about a user who
/// is not there.
public protocol UserDirectory: AnyObject {
  /// Nil when there is no account of that name.
  func user(named name: String) -> AccessIdentity?
  /// Nil when there is no account with that id.
  func user(_ uid: UInt32) -> AccessIdentity?
}

/// What the daemon's process says of itself.
public struct ProcessFigures {
  /// How long the loop was busy with one thing each time.
  var turns: DurationHistogram
  /// Open file descriptors, and how many there may be.
  var descriptors: Int
  var descriptorLimit: Int

  public init(turns: DurationHistogram, descriptors: Int, descriptorLimit: Int) {
    self.turns = turns
    self.descriptors = descriptors
    self.descriptorLimit = descriptorLimit
  }
}

/// Which daemon this is.
public struct GatewayIdentity: Equatable, Sendable {
  var version: String
  var pid: Int32
  var uid: UInt32

  public init(version: String, pid: Int32, uid: UInt32) {
    self.version = version
    self.pid = pid
    self.uid = uid
  }
}
