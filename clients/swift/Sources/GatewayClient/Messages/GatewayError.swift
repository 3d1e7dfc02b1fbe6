/// What can go wrong. `kind` says what it is, and `catch` matches it:
///
/// ```swift
/// do {
///   try await gateway.request("chat", "say", "hello")
/// } catch GatewayError.Kind.ackTimeout {
///   // written, and not acknowledged in time
/// }
/// ```
public struct GatewayError: Error, Sendable, Hashable {
  /// The name of an error: `data.type` of the protocol, or one of the few for what happens between here and the daemon.
  /// One that this version does not know is a value like any other.
  public struct Kind: RawRepresentable, Sendable, Hashable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    private init(_ rawValue: String) { self.init(rawValue: rawValue) }

    // Between this program and the daemon.

    /// Nothing answers at the socket, or not in time. Nothing was sent.
    public static let daemonUnavailable = Kind("DaemonUnavailable")
    /// The socket may not be opened by this user.
    public static let socketForbidden = Kind("SocketForbidden")
    /// The daemon closed the connection before it answered. It may have carried the call out.
    public static let daemonLost = Kind("DaemonLost")
    /// An administrator has ended this connection, for good.
    public static let kicked = Kind("Kicked")
    /// The daemon was reached and did not answer in time; it may still carry the call out.
    public static let callTimeout = Kind("CallTimeout")
    /// What answers at the socket is not gatewayd, or speaks another version of the protocol.
    public static let protocolMismatch = Kind("ProtocolMismatch")
    /// The `Gateway`, or this subscription, was closed.
    public static let closed = Kind("Closed")

    // What the daemon answered.

    /// The daemon could not read what was sent as JSON.
    public static let parseError = Kind("ParseError")
    /// What was sent is no call.
    public static let invalidRequest = Kind("InvalidRequest")
    /// The daemon has no such method.
    public static let methodNotFound = Kind("MethodNotFound")
    /// A parameter is missing, unknown, of the wrong kind or out of its bounds; the message names it.
    public static let invalidParams = Kind("InvalidParams")
    /// The daemon failed; for a durable send `reason` says what is wrong with the disk.
    public static let internalError = Kind("InternalError")
    /// The call was cancelled, and not written if it was not yet.
    public static let cancelled = Kind("Cancelled")
    /// A right is missing; `data["need"]` names it.
    public static let permissionDenied = Kind("PermissionDenied")
    /// The configuration has no upstream of that name.
    public static let upstreamUnknown = Kind("UpstreamUnknown")
    /// The upstream is not connected, and nothing was sent. `reason` says why it is down.
    public static let upstreamDown = Kind("UpstreamDown")
    /// Too many sends wait already.
    public static let queueFull = Kind("QueueFull")
    /// The time was over before it happened; a send was never written.
    public static let expired = Kind("Expired")
    /// It was written, and the server did not acknowledge it in time.
    public static let ackTimeout = Kind("AckTimeout")
    /// It was written, and then the link broke.
    public static let ackLost = Kind("AckLost")
    /// A limit of the daemon, or of this user's share, is reached; `data["quota"]` names it.
    public static let quotaExceeded = Kind("QuotaExceeded")
    /// Not everything behind `since` is there any more, and `strict` asked for everything.
    public static let unrecoverable = Kind("Unrecoverable")
    /// The daemon is about to stop.
    public static let draining = Kind("Draining")
    /// Another thing has that name: a `key` with other content, a URL of several upstreams.
    public static let conflict = Kind("Conflict")
    /// The message is above a limit (`data["limit"]`, `data["size"]`), and did not arrive.
    public static let payloadTooLarge = Kind("PayloadTooLarge")
    /// The server refuses the connection; `data["message"]` and `data["data"]` are its own words.
    public static let upstreamRefused = Kind("UpstreamRefused")
    /// The state of the connection does not allow it.
    public static let illegalState = Kind("IllegalState")
    /// Another program answered first, or the server does not wait any more.
    public static let ackGone = Kind("AckGone")
    /// The server's application answered with an error: `data["error"]` is its name, `data["args"]` what it said.
    public static let requestFailed = Kind("RequestFailed")

    /// Matches an error of this kind in a `catch`.
    public static func ~= (kind: Kind, error: any Error) -> Bool { (error as? GatewayError)?.kind == kind }
  }

  public let kind: Kind
  /// One sentence for a person.
  public let message: String
  /// The number of the error in the protocol; nil for what happens between here and the daemon.
  public let code: Int?
  /// Whether the same call may succeed later; nil where only the caller can judge.
  public let retry: Bool?
  /// Everything that the daemon said besides.
  public let data: JSON

  init(_ kind: Kind, _ message: String, code: Int? = nil, retry: Bool? = nil, data: [JSON.Member] = []) {
    self.kind = kind
    self.message = message
    self.code = code ?? Self.codes[kind]
    self.retry = retry
    self.data = .object(data)
  }

  /// The error that an answer of the daemon holds.
  init(answer: RawObject) {
    let data = answer.json("data") ?? .object([])
    kind = Kind(rawValue: data["type"]?.string ?? "InternalError")
    message = answer.string("message") ?? "the daemon answered with an error"
    code = answer.int("code")
    retry = data["retry"]?.bool
    self.data = data
  }

  /// The word for why, where the error has one: why an upstream is down, what is wrong with the outbox.
  public var reason: String? { data["reason"]?.string }

  /// In how much time the call may succeed, where the daemon knows that.
  public var retryAfter: Duration? { data["retry_after"]?.double.map { .milliseconds($0) } }

  /// What to do about it, where that is not part of the message.
  public var advice: String? { Self.advice[kind] }

  private static let codes: [Kind: Int] = [.invalidParams: -32602, .payloadTooLarge: -32012, .ackGone: -32015]

  private static let advice: [Kind: String] = [
    .daemonUnavailable:
      "start your own with 'systemctl --user start gatewayd.socket', or have the machine's started with "
      + "'systemctl start gatewayd.socket', or name its socket in $GATEWAYD_SOCKET",
    .socketForbidden: "ask the administrator for membership of the group that owns the socket",
    .daemonLost: "make the call again; a durable send with a key is repeated by itself, and arrives once",
    .kicked: "ask the administrator before connecting again",
    .callTimeout: "give it more time",
    .protocolMismatch: "install the same version of both, and check $GATEWAYD_SOCKET",
    .methodNotFound: "'gatewayctl introspect' lists the methods",
    .internalError: "the daemon's log tells more: journalctl -u gatewayd",
    .permissionDenied: "ask the administrator",
    .upstreamUnknown: "write a URL with ://, or the name of an upstream in the daemon's configuration",
    .upstreamDown: "'gatewayctl doctor' finds out why, and wait(for:) waits for it",
    .queueFull: "try again later",
    .expired: "give it more time",
    .ackTimeout: "give it more time, or ask the server what it has done",
    .ackLost: "ask the server what it has done before sending again",
    .quotaExceeded: "try again later",
    .unrecoverable: "subscribe without 'since'",
    .draining: "try again later",
    .payloadTooLarge: "send it in smaller parts",
    .upstreamRefused: "check the credentials; 'gatewayctl doctor' finds out more",
    .illegalState: "'gatewayctl status' shows the state",
  ]
}

extension GatewayError: CustomStringConvertible {
  public var description: String { "\(kind.rawValue): \(message)" + (advice.map { "; \($0)" } ?? "") }
}

extension JSONReader.Failure {
  var asGatewayError: GatewayError {
    switch self {
    case .malformed(let place): GatewayError(.invalidParams, "this is no JSON, at byte \(place)", retry: false)
    case .tooDeep:
      GatewayError(.invalidParams, "this is nested deeper than \(JSONReader.depthLimit) levels", retry: false)
    }
  }
}

extension JSON {
  /// Reads a text in which `$bin` has no meaning. Throws `InvalidParams` where it is no JSON.
  public init(text: some Sequence<UInt8>) throws(GatewayError) {
    do {
      self = try JSONReader.value(of: Array(text), form: .plain)
    } catch {
      throw error.asGatewayError
    }
  }

  /// Reads a text. Throws `InvalidParams` where it is no JSON.
  public init(text: String) throws(GatewayError) { try self.init(text: text.utf8) }
}
