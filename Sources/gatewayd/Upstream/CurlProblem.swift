/// Why libcurl could not make a connection or lost it, in libcurl's own terms but without its numbers.
struct CurlProblem: Error, Equatable, Sendable {
  enum Kind: Equatable, Sendable {
    case nameNotResolved
    /// With the `errno` value, 0 when unknown.
    case notConnected(Int32)
    case timedOut(Phase)
    /// The server's certificate.
    case certificateRefused
    /// A file of certificates or keys of ours.
    case badCertificateFile
    case tls
    /// The peer went away on an open connection.
    case lost
    case other
  }

  /// What was under way when the time was over.
  enum Phase: Equatable, Sendable {
    case name
    case tcp
    case tls
  }

  var kind: Kind
  /// libcurl's own sentence.
  var text: String
}
