/// What became of a TLS handshake, in words.
enum TLSReading {
  /// A certificate that expires sooner deserves a warning.
  static let soon: Int64 = 14 * 86_400_000

  /// A handshake that succeeded.
  static func finding(_ report: RouteReport, verified: Bool, now: Int64) -> DoctorFinding {
    let seen =
      [report.tlsVersion, report.certificates.first.map(words)].compactMap { $0 }.joined(separator: ", ") + "."
    guard verified else {
      return DoctorFinding(
        .tls, .warning, "tls.unverified", seen,
        advice:
          "The certificate is not verified (`tls.verify` is off): anybody in between can read and change everything. "
          + "Name the authority with `tls.ca` instead.")
    }
    if let expiry = report.certificates.first?.expiry, expiry - now < soon {
      return DoctorFinding(
        .tls, .warning, "tls.expires_soon", seen,
        advice: "The certificate expires in \(max(0, (expiry - now) / 86_400_000)) days: have it renewed.")
    }
    return DoctorFinding(.tls, .ok, "tls.ok", seen)
  }

  /// A handshake that failed; `report` is what a second one without verification saw.
  static func finding(_ failure: UpstreamFailure, of dial: DialRequest, _ report: RouteReport?) -> DoctorFinding {
    let certificate = report?.certificates.first
    let seen = Doctor.sentence(failure.detail) + (certificate.map { " The certificate: \(words($0))." } ?? "")
    let (code, advice) = reading(failure, of: dial, certificate)
    return DoctorFinding(.tls, .failed, code, seen, advice: advice)
  }

  private static func reading(
    _ failure: UpstreamFailure, of dial: DialRequest, _ certificate: CertificateFacts?
  ) -> (code: String, advice: String) {
    let detail = failure.detail
    let says = { (words: [String]) in words.contains { detail.contains(text: $0) } }
    if says(["has expired", "not yet valid"]) {
      return (
        "tls.expired",
        "The certificate is outside of its time: have it renewed on the server, and check this machine's clock."
      )
    }
    if says(["subject name", "does not match", "hostname mismatch", "IP address mismatch"]) {
      return (
        "tls.name",
        "The certificate is for another name than \(dial.host): use the name that it was made for, or set `tls.server_name`."
      )
    }
    if says(["self-signed", "self signed", "unable to get local issuer", "unable to verify the first"]) {
      return (
        "tls.untrusted",
        "No authority that this machine trusts has signed the certificate: put the authority's file into `tls.ca`, or "
          + "have the server send its intermediate certificates too."
      )
    }
    if says(["pinned", " pin"]) {
      return (
        "tls.pin",
        "The server's key is none of those in `tls.pins`: it was changed, or somebody stands in between. Ask its owner."
      )
    }
    if says(["does not speak TLS"]) {
      return (
        "tls.plain", "No TLS is spoken on port \(dial.port): use \(dial.schemes.clear), or the port that has TLS."
      )
    }
    if says(["certificate or key file"]) {
      return (
        "tls.file",
        "Repair the file that `tls.ca`, `tls.cert` or `tls.key` names; the daemon has to be able to read it."
      )
    }
    if failure.reason == .timeout {
      return (
        "tls.silent", "Something takes the connection, but does not answer TLS: check the port, and what is in between."
      )
    }
    if certificate != nil {
      return ("tls.certificate", "The certificate is not accepted: check who issued it, and `tls.ca`.")
    }
    return (
      "tls.failed",
      "Server and gateway found no common way of encrypting, or the server wants a certificate of ours (`tls.cert`, `tls.key`)."
    )
  }

  private static func words(_ certificate: CertificateFacts) -> String {
    "for \(certificate.subject), issued by \(certificate.issuer), valid until \(certificate.expires)"
  }
}
