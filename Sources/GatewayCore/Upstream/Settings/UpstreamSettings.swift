/// The settings of one upstream, `[upstream.NAME]`, with `[defaults]` underneath.
struct UpstreamSettings: Hashable, Sendable {
  /// HTTP path of Socket.IO; a trailing slash is part of it.
  @ByBytes var path = "/socket.io/"
  var auth: AuthSource = .none
  /// Added to every HTTP request.
  var headers: [HTTPHeader] = []
  /// Headers whose values are read at each connect. No name stands in both lists.
  var headerSources: [SecretMember] = []
  /// Added to the query of every HTTP request, sorted by name; not yet percent-encoded.
  var query: [QueryItem] = []
  /// Query parameters whose values are read at each connect, sorted by name. No name stands in both lists.
  var querySources: [SecretMember] = []
  /// How long a command that prints credentials may run.
  var authTimeout: Duration = .seconds(10)
  var refresh = RefreshSettings()
  var keep: KeepMode = .onDemand
  /// Whether its link is shared with other hosts.
  var fleet = false
  /// Said at every connect, before anything else.
  var onConnect: [EnterMessage] = []
  var tls = TLSSettings()
  var proxy = ProxySettings()
  /// The upstream's other URLs, tried in their order when the first cannot be used.
  var alternatives: [UpstreamURL] = []
  var redirects = RedirectPolicy.never
  var reconnect = ReconnectSettings()
  /// How long an unused connection stays connected.
  var linger: Duration = .seconds(30)
  /// How long an unused, closed connection stays listed.
  var retain: Duration = .seconds(60)
  /// Time-to-live of a queued send that names none.
  var ttl: Duration = .seconds(3_600)
  /// Where a send's `key` is put into its arguments, so that the server recognises repetitions; nil puts it nowhere.
  var keyMember: String?
  /// How fast what queued up leaves when the connection is back, in sends per second.
  var flush = 5_000
  /// Limit of each phase of a handshake.
  var handshake: Duration = .seconds(10)
  /// Limit of its last phase, the joining of the namespace; nil: as `handshake`.
  var connectTimeout: Duration?
  /// How long the server may take to answer when it is asked whether it is still there.
  var probeTimeout: Duration = .seconds(5)
  /// From one part of a message with attachments to the next.
  var attachmentTimeout: Duration = .seconds(60)
  /// A link of its own for each connection, never shared.
  var forceNew = false
  /// How many sends with retries of one user may be written and not acknowledged at a time.
  var retryWindow = 1
  /// Most binary attachments in one message, both ways.
  var attachments = 10
  /// Largest message accepted from the server, in bytes.
  var messageLimit = 16 << 20
  /// From the first byte of a message from the server to its last.
  var messageTimeout: Duration = .seconds(120)
  /// Longest ping interval and timeout that a Socket.IO server may choose.
  var pingLimit: Duration = .seconds(600)
  /// Most bytes of answers that wait for a server which asks for them and does not read.
  var answerLimit = 256 << 10
  var history = HistorySettings()
  var serverTime = ServerTimeSettings()
  var compression = CompressionSettings()
  var parser = ParserName.json
  /// For kinds of upstream whose protocol has no heartbeat of its own.
  var heartbeat = HeartbeatSettings()
  /// For WAMP routers alone.
  var wamp = WAMPSettings()
  /// Of plain WebSockets.
  var websocket = PlainWebSocketSettings()
  /// Of JSON lines.
  var lines = LinesSettings()
  /// Reconnect a namespace that the server disconnected?
  var reconnectAfterKick = true
  /// In the order of preference.
  var transports: [TransportName] = [.websocket, .polling]
  /// Whether a session that began with long-polling may go on over a WebSocket.
  var upgrade = true
  init() {}
}

/// One `name=value` of a query, not yet percent-encoded.
struct QueryItem: Hashable, Sendable {
  @ByBytes var name: String
  @ByBytes var value: String
  init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

enum TransportName: String, CaseIterable, Sendable {
  case websocket
  case polling
}

/// `redirects`: which answers that name another place are followed. Never from TLS to plain text.
enum RedirectPolicy: String, CaseIterable, Sendable {
  case never
  /// Only to other paths and ports of the same host.
  case sameHost = "same-host"
  case any
}

/// How the packets of Socket.IO are written; client and server have to agree beforehand.
enum ParserName: String, CaseIterable, Sendable {
  /// The usual one: JSON text with binary attachments.
  case json
  /// MessagePack, binary included.
  case msgpack
}

/// `keep`: whether a connection exists only while a client uses it.
enum KeepMode: String, CaseIterable, Sendable {
  case onDemand = "on-demand"
  case always
}

/// Where the CONNECT auth payload comes from. Its values are secrets: never logged, never shown.
enum AuthSource: Hashable, Sendable {
  case none
  /// The JSON text of an object.
  case inline([UInt8])
  /// Read at each connect. A JSON object as it is; anything else becomes `{"token":"…"}` without its line end.
  case external(SecretSource)

  /// A file read at each connect.
  static func file(_ path: String) -> Self { .external(.file(path)) }
}

/// `refresh = { … }`: when credentials with a token that expires are read again.
struct RefreshSettings: Hashable, Sendable {
  /// How long before the token's end, in percent of the time that it has left when it is used first.
  var share = 10
  /// Bounds of that time. The lower one is also the shortest time between two readings.
  var least: Duration = .seconds(30)
  var most: Duration = .seconds(600)
  init() {}
}

/// `tls = { … }`.
public struct TLSSettings: Hashable, Sendable {
  /// Whom to trust; nil means the system's.
  public var ca: CertificateAuthorities?
  /// PEM files of a client certificate and its key; both or neither.
  public var certificate: String?
  public var key: String?
  /// `false` accepts any certificate; `status` shows it.
  public var verify = true
  /// Name sent as SNI and checked in the certificate; nil means the URL's host.
  public var serverName: String?
  /// Oldest version that is spoken.
  public var minimum = TLSVersion.oneDotTwo
  /// Hashes of public keys, `sha256//` and base64, of which the server must have one; empty accepts any.
  public var pins: [String] = []
  /// Opens the key's file; nil for one without a password. Secret.
  public var keyPassword: String?
  /// File with that password, read at each connect.
  public var keyPasswordFile: String?
  init() {}
}

/// `tls.ca`: certificates that are trusted instead of the system's.
public enum CertificateAuthorities: Hashable, Sendable {
  /// The path of a PEM file, read at each connect.
  case file(String)
  /// The text of such a file.
  case text(String)

  /// The path; nil for a text.
  public var path: String? { if case .file(let path) = self { path } else { nil } }
  /// The text; nil for a path.
  public var text: String? { if case .text(let text) = self { text } else { nil } }
}

/// `tls.min_version`.
public enum TLSVersion: String, CaseIterable, Sendable {
  case oneDotTwo = "1.2"
  case oneDotThree = "1.3"
}

/// `compression = { … }`: `permessage-deflate` on WebSockets.
struct CompressionSettings: Hashable, Sendable {
  /// Whether it is offered to the server.
  var enabled = true
  /// Smaller messages leave as they are, in bytes.
  var threshold = 1 << 10
  init() {}
}

/// `reconnect = { … }`: exponential back-off with full jitter.
struct ReconnectSettings: Hashable, Sendable {
  /// Upper bound of the first delay; doubles with each failed attempt.
  var base: Duration = .seconds(1)
  /// Largest upper bound.
  var cap: Duration = .seconds(30)
  /// How long a connection must have lasted before the next delay starts from `base` again.
  var stable: Duration = .seconds(10)
  /// Bounds of the slower schedule used while the upstream refuses us.
  var refusedBase: Duration = .seconds(30)
  var refusedCap: Duration = .seconds(600)
  /// `false`: a connection that was lost, or whose attempt failed, stays down until an administrator's `reconnect`.
  var enabled = true
  /// Attempts of a series, after which `rest` is waited; 0: no series ever ends.
  var attempts = 0
  /// The wait between two series.
  var rest: Duration = .seconds(300)
  init() {}

  /// How long a server may put us off by `Retry-After`; more counts as this much.
  var longestRetryAfter: Duration { max(cap, refusedCap) }
}

/// `heartbeat = { … }`: how often a server is asked for a sign of life by a kind that has no rule of its own for it.
struct HeartbeatSettings: Hashable, Sendable {
  /// From one question to the next.
  var interval: Duration
  /// How long a question may stay unanswered while nothing else comes either.
  var timeout: Duration

  init(interval: Duration = .seconds(25), timeout: Duration = .seconds(20)) {
    self.interval = interval
    self.timeout = timeout
  }
}

/// `history = { … }`: how much of what a connection received is kept for subscribers that come back. Whichever bound is
/// met first counts; the oldest goes.
struct HistorySettings: Hashable, Sendable {
  /// Most events; 0 keeps none.
  var events = 1_000
  /// Most bytes of their notifications.
  var bytes = 4 << 20
  /// How long an event is kept.
  var age: Duration = .seconds(600)
  /// Whether the events of a configured upstream, their numbers and their epoch outlive the machine's restarts, too. Nil:
  /// those of the daemon, where the service manager gave it a folder for that.
  var disk: Bool?
  init() {}
}

/// `server_time = { … }`: how the server's time is learnt.
struct ServerTimeSettings: Hashable, Sendable {
  /// The event by which the server tells its time unasked; nil for none.
  var event: String?
  /// The event that is sent to the server, whose acknowledgement tells its time; nil asks nothing.
  var request: String?
  /// The member of an argument under which the time stands, with dots between the members on the way; nil where the
  /// argument is the time.
  var member: String?
  /// What a number counts.
  var unit = TimeUnit.milliseconds
  /// How often the request is repeated.
  var every: Duration = .seconds(300)
  /// By how much the local clock must contradict a `Date` header before events follow that.
  var tolerance: Duration = .seconds(60)
  init() {}
}

/// `server_time.unit`: what a number since 1970 counts.
enum TimeUnit: String, CaseIterable, Sendable {
  case milliseconds = "ms"
  case seconds = "s"
  case microseconds = "us"

  var microseconds: Double {
    switch self {
    case .microseconds: 1
    case .milliseconds: 1_000
    case .seconds: 1_000_000
    }
  }
}
