/// The handshake of kinds that have no steps of their own before it, by a connection as every other.
extension Doctor {
  /// The step `handshake`, with which the examination ends.
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

/// What an attempt tells of the credentials, the same for every kind of upstream.
extension Doctor {
  /// After an attempt that went well.
  func credentialsAccepted() {
    if specification.settings.auth == .none {
      find(.ok, "auth.none", "No credentials are configured, and the server asks for none.")
    } else {
      find(.ok, "auth.ok", "The server accepts the credentials.")
    }
  }

  /// They could not be read, or not be used.
  func credentialsMissing(_ failure: UpstreamFailure) {
    begin(.auth)
    find(
      .failed, "auth.missing", Self.sentence(failure),
      "Repair the source of the credentials: the file or command that `auth` names.")
  }

  /// The server said no.
  func credentialsRefused(_ failure: UpstreamFailure) {
    begin(.auth)
    find(
      .failed, "auth.refused", Self.sentence(failure),
      specification.settings.auth == .none
        ? "If the server wants credentials, give them with `auth`; if it does not know what the URL names, correct the URL."
        : "The server does not accept us: renew the credentials, and look what it expects in `auth`.")
  }

  /// What was seen, for a person. The name of a host or of a file stays as it is written.
  static func sentence(_ failure: UpstreamFailure) -> String {
    let word = failure.detail.prefix { $0 != " " }
    guard !word.contains(where: { ".:/".contains($0) }) else { return failure.detail + "." }
    return failure.detail.prefix(1).uppercased() + failure.detail.dropFirst() + "."
  }
}
