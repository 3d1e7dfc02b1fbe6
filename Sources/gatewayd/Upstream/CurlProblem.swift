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
    /// The server's public key is none of the pinned ones.
    case notPinned
    /// The settings cannot be used; the text is a whole sentence.
    case unusable
    /// A secret could not be read; the text is a whole sentence.
    case noSecret
    case proxy(ProxyKind)
  }

  /// What went wrong with the proxy, or what it said.
  enum ProxyKind: Equatable, Sendable {
    case nameNotResolved
    /// With the `errno` value, 0 when unknown.
    case notConnected(Int32)
    /// The HTTP status instead of a tunnel.
    case status(Int)
    /// A SOCKS proxy that is content with none of our ways to log in.
    case wantsLogin
    case loginRefused
    /// With the reason of a SOCKS proxy.
    case refused(String)
    /// The answer is not that of a SOCKS proxy.
    case notSocks
    /// We, not the proxy, had to look up the server's name.
    case targetNotResolved
    /// Its answer to CONNECT had a head without end.
    case longHead
    /// It hung up before the way was open.
    case brokeOff
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
  /// Host and port of the proxy on the way; nil without one.
  var proxy: String?
}
