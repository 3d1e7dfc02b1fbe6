/// The settings of one upstream, `[upstream.NAME]`, with `[defaults]` underneath.
public struct UpstreamSettings: Hashable, Sendable {
  /// HTTP path of Socket.IO; a trailing slash is part of it.
  public var path = "/socket.io/"
  public var auth: AuthSource = .none
  /// Added to every HTTP request.
  public var headers: [HTTPHeader] = []
  /// Added to the query of every HTTP request, sorted by name; not yet percent-encoded.
  public var query: [QueryItem] = []
  public var keep: KeepMode = .onDemand
  public var tls = TLSSettings()
  public var reconnect = ReconnectSettings()
  /// How long an unused connection stays connected.
  public var linger: Duration = .seconds(30)
  /// How long an unused, closed connection stays listed.
  public var retain: Duration = .seconds(60)
  /// Time-to-live of a queued send that names none.
  public var ttl: Duration = .seconds(3_600)
  /// How fast what queued up leaves when the connection is back, in sends per second.
  public var flush = 5_000
  /// Limit of each phase of a handshake.
  public var handshake: Duration = .seconds(10)
  /// Most binary attachments in one message, both ways.
  public var attachments = 10
  /// Largest message accepted from the server, in bytes.
  public var messageLimit = 16 << 20
  /// Reconnect a namespace that the server disconnected?
  public var reconnectAfterKick = true
  /// In the order of preference. A transport that the daemon does not have is passed over.
  public var transports: [TransportName] = [.websocket, .polling]
  public init() {}
}

/// One `name=value` of a query, not yet percent-encoded.
public struct QueryItem: Hashable, Sendable {
  public var name: String
  public var value: String
  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

public enum TransportName: String, CaseIterable, Sendable {
  case websocket
  case polling
}

/// `keep`: whether a connection exists only while somebody uses it.
public enum KeepMode: String, CaseIterable, Sendable {
  case onDemand = "on-demand"
  case always
}

/// Where the CONNECT auth payload comes from. Its values are secrets: never logged, never shown.
public enum AuthSource: Hashable, Sendable {
  case none
  /// The JSON text of an object.
  case inline([UInt8])
  /// A file read at each connect. JSON object as is; anything else becomes `{"token":"…"}` without its line end.
  case file(String)
}

/// `tls = { … }`.
public struct TLSSettings: Hashable, Sendable {
  /// PEM file of trusted certificates; nil means the system's.
  public var ca: String?
  /// PEM files of a client certificate and its key; both or neither.
  public var certificate: String?
  public var key: String?
  /// `false` accepts any certificate; `status` shows it.
  public var verify = true
  /// Name sent as SNI and checked in the certificate; nil means the URL's host.
  public var serverName: String?
  public init() {}
}

/// `reconnect = { … }`: exponential back-off with full jitter.
public struct ReconnectSettings: Hashable, Sendable {
  /// Upper bound of the first delay; doubles with each failed attempt.
  public var base: Duration = .seconds(1)
  /// Largest upper bound.
  public var cap: Duration = .seconds(30)
  /// How long a connection must have lasted before the next delay starts from `base` again.
  public var stable: Duration = .seconds(10)
  /// Bounds of the slower schedule used while the upstream refuses us.
  public var refusedBase: Duration = .seconds(30)
  public var refusedCap: Duration = .seconds(600)
  public init() {}
}
