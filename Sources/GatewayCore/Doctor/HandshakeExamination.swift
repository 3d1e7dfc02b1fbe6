/// The step `handshake` of kinds that have no steps of their own before it, and what it tells of the credentials: by a
/// connection as every other.
final class HandshakeExamination {
  private unowned let doctor: Doctor

  init(_ doctor: Doctor) { self.doctor = doctor }

  /// The step `handshake`, with which the examination ends.
  func start() {
    doctor.begin(.handshake)
    let visit = NamespaceVisit(doctor.connector)
    doctor.hold(visit)
    visit.start { [weak self] in self?.handshakeSeen($0) }
  }

  private func handshakeSeen(_ result: Result<Void, UpstreamFailure>) {
    switch result {
    case .success where !doctor.connector.isAnswered:
      doctor.find(
        .warning, "handshake.unasked",
        "The port is open, and that is all that is known: without a login such a server is asked nothing.",
        "Whether it speaks JSON lines shows with its first message: send something with 'gatewayctl request', or set "
          + "`lines.login` if it wants one.")
    case .success:
      doctor.find(.ok, "handshake.ok", "The server accepts the connection.")
      doctor.begin(.auth)
      doctor.credentialsAccepted()
    case .failure(let failure) where failure.reason == .auth: return doctor.credentialsFailed(failure)
    case .failure(let failure): handshakeFailed(failure)
    }
    doctor.finish()
  }

  private func handshakeFailed(_ failure: UpstreamFailure) {
    let seen = Doctor.sentence(failure)
    switch failure.reason {
    case .refused:
      doctor.find(.ok, "handshake.ok", "The server answers.")
      doctor.credentialsRefused(failure)
    case .timeout:
      doctor.find(
        .failed, "handshake.silent", seen, "The server opens the connection but does not answer: look into its log.")
    case .http:
      let (code, advice) = Self.reading(ofStatus: failure.status)
      doctor.find(.failed, code, seen, advice)
    case .incompatible:
      doctor.find(
        .failed, "handshake.incompatible", seen, "The server speaks something else: check what it offers there.")
    case .idle, .requested, .offline, .unreachable, .tls, .kicked, .closed, .heartbeat, .protocolError, .tooLarge,
      .auth, .fleet, .draining:
      doctor.find(
        .failed, "handshake.failed", seen,
        "The connection broke before the server had accepted it: check the port, and look into the server's log.")
    }
  }

  /// What an answer says that does not open the connection.
  static func reading(ofStatus status: Int?) -> (code: String, advice: String) {
    switch status {
    case 401, 403, 407:
      (
        "handshake.forbidden",
        "The server, or something before it, asks for credentials: give them by `headers` (Authorization, Cookie) or `query`."
      )
    case 429, 503: ("handshake.busy", "Wait, and try again later; the gateway does so by itself.")
    case let status? where status >= 500:
      (
        "handshake.server_error",
        "A proxy in between finds no server behind it, or the server fails: look into the logs over there."
      )
    default: ("handshake.http", "What answers there is no such server: check host, port and the URL's path.")
    }
  }
}
