import GatewayCore

/// How a server is reached: the same for WebSockets and for HTTP exchanges.
extension CurlEasy {
  /// Sets everything that leads to a connection which can carry a request.
  func configure(_ request: DialRequest) throws(CurlProblem) {
    try set(.noSignal, 1)
    // Otherwise ALPN offers HTTP/2, on which no WebSocket can be opened by an upgrade.
    try set(.httpVersion, Self.oneDotOne)
    // Otherwise the loop would wait for a name server that does not answer when a dial is given up.
    try set(.quickExit, 1)
    try configureRoute(request)
    if request.secure { try configureTLS(request.tls) }
  }

  /// Where to connect, and as which name to ask for it. The environment's proxies are not used.
  private func configureRoute(_ request: DialRequest) throws(CurlProblem) {
    let name = request.secure ? request.tls.serverName ?? request.host : request.host
    try set(.url, "\(request.secure ? "https" : "http")://\(Self.bracketed(name)):\(request.port)/")
    try set(.proxy, "")
    guard name != request.host else { return }
    try set(.connectTo, ["::\(Self.bracketed(request.host)):\(request.port)"])
  }

  private func configureTLS(_ tls: TLSSettings) throws(CurlProblem) {
    try set(.tlsVersion, Self.tlsOneDotTwo)
    try set(.verifyPeer, tls.verify ? 1 : 0)
    try set(.verifyHost, tls.verify ? 2 : 0)
    // With a directory libcurl would parse all of it for each connection.
    try set(.caDirectory, nil)
    if let file = tls.ca ?? TrustStore.systemBundle() { try set(.caFile, file) }
    // A file of one upstream is small and may be renewed; it must not push the system's out of the cache.
    if tls.ca != nil { try set(.caCacheTime, 0) }
    if let certificate = tls.certificate { try set(.certificate, certificate) }
    if let key = tls.key { try set(.key, key) }
  }

  private static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}
