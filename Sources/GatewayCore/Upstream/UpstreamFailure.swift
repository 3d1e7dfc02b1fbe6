/// The five states of a connection. The raw values are part of the local protocol.
public enum ConnectionState: String, CaseIterable, Hashable, Sendable {
  /// Exists, its first attempt is not decided yet. May become `connected` or `disconnected`.
  case created
  /// The namespace is accepted and commands flow. May become `disconnected`.
  case connected
  /// No link, and nothing is being tried now. May become `reconnecting` or `released`.
  case disconnected
  /// An attempt is under way. May become `connected` or `disconnected`.
  case reconnecting
  /// Removed from the pool. Terminal.
  case released
}

/// Why a connection is not connected. The raw values are the `reason` of the local protocol and never change.
public enum DownReason: String, Equatable, Sendable, CaseIterable {
  /// No program uses it.
  case idle
  /// By an administrator's `disconnect`.
  case requested
  /// No network.
  case offline
  /// Name, route or port; the detail says which.
  case unreachable
  case tls
  /// An HTTP status or body that is no handshake.
  case http
  /// The server speaks none of our protocol revisions.
  case incompatible
  /// The namespace was refused.
  case refused
  /// The server disconnected the namespace.
  case kicked
  /// The server closed the link.
  case closed
  /// The server fell silent.
  case heartbeat
  /// A phase of the handshake took too long.
  case timeout
  /// The server broke the protocol.
  case protocolError = "protocol"
  /// A message beyond a limit.
  case tooLarge = "too_large"
  /// Credentials could not be obtained.
  case auth
  /// The fleet has no link for this host: its engine cannot be reached, this host may not have one, or another one holds
  /// it from now on.
  case fleet
  case draining

  /// Whether the sentence of such a failure may have words of the server, beside its `serverMessage`. That of a refusal has
  /// ours alone.
  var mayQuoteServer: Bool {
    switch self {
    case .http, .kicked, .closed, .protocolError: true
    case .idle, .requested, .offline, .unreachable, .tls, .incompatible, .refused, .heartbeat, .timeout, .tooLarge,
      .auth, .fleet, .draining:
      false
    }
  }
}

/// One failure of an upstream: a reason for programs, a sentence for people, and what the server itself said.
public struct UpstreamFailure: Error, Equatable, Sendable {
  public var reason: DownReason
  /// One sentence, without payloads and secrets, at most `detailLimit` bytes and a mark.
  var detail: String
  /// HTTP status or WebSocket close code, where there is one.
  var status: Int?
  /// The server's own message, for `refused`; at most `messageLimit` bytes and a mark.
  var serverMessage: String?
  /// The server's own data as raw JSON text, for `refused`; nil when it sent none, or more than `dataLimit` bytes.
  var serverData: [UInt8]?
  /// The words of the server have some of the credentials in them that this host connects with: they stay on this host.
  /// Known of what comes over the link of a fleet.
  var repeatsCredentials = false
  /// How long the server wants to be left alone (`Retry-After`, RFC 9110 section 10.2.3), never negative; nil when it
  /// said nothing.
  var retryAfter: Duration?
  /// The parts from whose size on the server refuses a message, where it ended the link because of one.
  var refusedSize: MessageSize?

  /// What is kept of a server's words: it stays for as long as the connection is down, and goes into every reply that
  /// says why. In bytes.
  static let detailLimit = 2 << 10
  static let messageLimit = 1 << 10
  static let dataLimit = 64 << 10

  public init(
    _ reason: DownReason, _ detail: String, status: Int? = nil, serverMessage: String? = nil,
    serverData: [UInt8]? = nil, retryAfter: Duration? = nil
  ) {
    self.reason = reason
    self.detail = detail.shortened(to: Self.detailLimit)
    self.status = status
    self.serverMessage = serverMessage?.shortened(to: Self.messageLimit)
    self.serverData = serverData.flatMap { $0.count <= Self.dataLimit ? $0 : nil }
    self.retryAfter = retryAfter
  }
}

extension UpstreamFailure {
  /// Going down on purpose, with its sentence. Reasons that are no purpose of ours read as a plain close.
  init(onPurpose reason: DownReason) {
    let detail =
      switch reason {
      case .idle: "nobody uses it"
      case .requested: "an administrator disconnected it; `reconnect` takes that back"
      case .draining: "the gateway is stopping"
      case .offline: "there is no network"
      case .unreachable, .tls, .http, .incompatible, .refused, .kicked, .closed, .heartbeat, .timeout, .protocolError,
        .tooLarge, .auth, .fleet:
        "it was closed"
      }
    self.init(reason, detail)
  }

  /// Where the fleet's engine has no better reason.
  static let fleetNotReached = UpstreamFailure(.unreachable, "no server of the fleet is reached")
  /// The host that has the link of a fleet has closed it in order, for another one. All hosts are told so.
  static let linkGivenAway = UpstreamFailure(.fleet, "the holder closed its link, so that another host takes it")
  /// The link of a host that holds no more.
  static let linkNotHeld = UpstreamFailure(.idle, "this host does not hold the upstream for its fleet any more")

  /// The same, and what the end came before, where the server ended the link: a close in the middle of a handshake
  /// means something else than one of a link that was in use. Other reasons tell their stage themselves.
  public func closing(before stage: String) -> UpstreamFailure {
    guard reason == .closed else { return self }
    var failure = self
    failure.detail += ", before \(stage)"
    return failure
  }
}

/// Bytes of the parts of a message, which travel apart.
struct MessageSize: Equatable, Sendable {
  var body: Int
  /// Of the largest attachment.
  var attachment: Int

  init(body: Int, attachment: Int) { (self.body, self.attachment) = (body, attachment) }

  init(_ message: PreparedMessage) {
    body = message.bodyCount
    attachment = message.largestAttachment
  }

  /// What a message is told of which one part is at least as large as the same part of this, which a server refused;
  /// nil where none is.
  func problem(with size: MessageSize) -> MessageProblem? {
    if size.body >= body { return .tooLarge(limit: body - 1, size: size.body) }
    return size.attachment >= attachment ? .tooLarge(limit: attachment - 1, size: size.attachment) : nil
  }
}

extension UpstreamFailure {
  /// Whether the server closed a WebSocket because a message was too large for it: code 1009 of RFC 6455 section 7.4.1.
  var isMessageTooBig: Bool { status == 1009 }
}

extension DownReason {
  /// Whether the upstream was reached and does not want us: the namespace was refused, or the handshake was answered by
  /// HTTP 401 or 403. Such an end has a slower schedule of its own and may be cured by other credentials.
  func isRefusal(status: Int?) -> Bool {
    switch self {
    case .refused: true
    case .http: status == 401 || status == 403
    case .idle, .requested, .offline, .unreachable, .tls, .incompatible, .kicked, .closed, .heartbeat, .timeout,
      .protocolError, .tooLarge, .auth, .fleet, .draining:
      false
    }
  }
}

extension UpstreamFailure {
  /// Whether the upstream was reached and does not want us.
  var isRefusal: Bool { reason.isRefusal(status: status) }

  /// Whether other credentials may cure it: a refusal, or credentials that could not be read.
  var concernsCredentials: Bool { isRefusal || reason == .auth }
}
