import Glibc

/// Where the system keeps the certificates it trusts, as one PEM file: with a file, and only with a file, libcurl parses
/// them once for all connections instead of once for each.
enum TrustStore {
  private static let candidates = [
    "/etc/ssl/certs/ca-certificates.crt",  // Debian, Arch, Gentoo
    "/etc/pki/tls/certs/ca-bundle.crt",  // Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  // openSUSE
    "/etc/ssl/cert.pem",  // Alpine
  ]

  /// The first that is readable now; nil leaves the choice to libcurl.
  static func systemBundle() -> String? { candidates.first { access($0, R_OK) == 0 } }
}
