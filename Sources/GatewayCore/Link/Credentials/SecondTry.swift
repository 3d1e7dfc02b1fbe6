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
