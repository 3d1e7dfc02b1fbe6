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
    /// The server hung up before its answer was complete.
    case hungUp
    /// The server's answer to a request is something else than HTTP.
    case notHTTP
    case other
  }

  /// What was under way when the time was over.
  enum Phase: Equatable, Sendable {
    case name
    case tcp
    /// What the proxy does before it passes bytes on.
    case proxy
    case tls
    /// The request is on its way or awaits the rest of its answer.
    case answer
  }

  var kind: Kind
  /// libcurl's own sentence.
  var text: String
}
