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
