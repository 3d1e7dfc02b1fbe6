/// Reading the credentials again after a refusal: once in an attempt, and only where it can help. Decision 0020.
struct SecondTry: Equatable, Sendable {
  /// They are being read again, or were.
  private(set) var isUnderWay = false

  /// Whether reading again could help: only what the server has seen, and not when it asks for patience.
  func isWorthwhile(after failure: UpstreamFailure, _ credentials: UpstreamCredentials) -> Bool {
    guard !isUnderWay, failure.isRefusal, failure.retryAfter == nil else { return false }
    return failure.reason == .refused ? credentials.isRefreshable : credentials.requestIsRefreshable
  }

  mutating func begin() { isUnderWay = true }

  /// The same credentials once more would get the same answer; but a command that was run again has been heard.
  func isOther(
    _ result: Result<ConnectSecrets, CredentialProblem>, than old: ConnectSecrets?, _ credentials: UpstreamCredentials
  ) -> Bool {
    guard case .success(let fresh) = result else { return false }
    return fresh != old || credentials.hasCommand
  }
}

extension DownReason {
  /// Whether the upstream was reached and does not want us: the namespace was refused, or the handshake was answered by
  /// HTTP 401 or 403. Such an end has a slower schedule of its own and may be cured by other credentials.
  func isRefusal(status: Int?) -> Bool {
    switch self {
    case .refused: true
    case .http: status == 401 || status == 403
    case .idle, .requested, .offline, .unreachable, .tls, .incompatible, .kicked, .closed, .heartbeat, .timeout,
      .protocolError, .tooLarge, .auth, .draining:
      false
    }
  }
}

extension UpstreamFailure {
  /// Whether the upstream was reached and does not want us.
  var isRefusal: Bool { reason.isRefusal(status: status) }

  /// Whether other credentials may cure it: a refusal, or credentials that could not be read.
  var concernsCredentials: Bool { isRefusal || reason == .auth }

  /// A refusal with what we know about the credentials that were refused; any other failure as it is.
  /// - Parameter isSecond: they were read again after a first refusal.
  func explained(_ secrets: ConnectSecrets?, isSecond: Bool, wallMilliseconds: Int64) -> UpstreamFailure {
    guard isRefusal else { return self }
    var failure = self
    if isSecond { failure.detail += "; the credentials were read again and refused again" }
    if let payload = secrets?.payload, let token = WebToken.earliest(in: payload) {
      let left = token.timeLeft(at: wallMilliseconds)
      if left <= .zero {
        failure.detail +=
          "; by this machine's clock their token expired \((Duration.zero - left).components.seconds) s ago"
      }
    }
    return failure
  }
}
