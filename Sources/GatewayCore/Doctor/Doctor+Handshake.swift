/// The handshake of kinds that have no steps of their own before it, by a connection as every other.
extension Doctor {
  func lookAtHandshake() {
    begin(.handshake)
    let visit = NamespaceVisit(connector)
    hold(visit)
    visit.start { [weak self] in self?.handshakeSeen($0) }
  }

  private func handshakeSeen(_ result: Result<Void, UpstreamFailure>) {
    switch result {
    case .success where !connector.isAnswered:
      find(
        .warning, "handshake.unasked",
        "The port is open, and that is all that is known: without a login such a server is asked nothing.",
        "Whether it speaks JSON lines shows with its first message: send something with 'gatewayctl request', or set "
          + "`lines.login` if it wants one.")
    case .success:
      find(.ok, "handshake.ok", "The server accepts the connection.")
      begin(.auth)
      credentialsAccepted()
    case .failure(let failure): handshakeFailed(failure)
    }
    finish()
  }

  private func handshakeFailed(_ failure: UpstreamFailure) {
    let seen = Self.sentence(failure)
    switch failure.reason {
    case .auth: credentialsMissing(failure)
    case .refused:
      find(.ok, "handshake.ok", "The server answers.")
      credentialsRefused(failure)
    case .timeout:
      find(.failed, "handshake.silent", seen, "The server opens the connection but does not answer: look into its log.")
    case .http:
      find(
        .failed, "handshake.http", seen, "What answers there is no such server: check host, port and the URL's path.")
    case .incompatible:
      find(.failed, "handshake.incompatible", seen, "The server speaks something else: check what it offers there.")
    case .idle, .requested, .offline, .unreachable, .tls, .kicked, .closed, .heartbeat, .protocolError, .tooLarge,
      .draining:
      find(
        .failed, "handshake.failed", seen,
        "The connection broke before the server had accepted it: check the port, and look into the server's log.")
    }
  }
}
