import CCurl
import GatewayCore
import Glibc

/// Options of a handle, typed. Those that mean a proxy, TLS or a socket are set by `configure`.
extension CurlEasy {
  /// An option whose value is a text.
  enum TextOption {
    case url, target, proxy, noProxy, proxyUser, proxyPassword, caDirectory, caFile, certificate, key, keyPassword, pins

    fileprivate var code: CURLoption {
      switch self {
      case .url: CURLOPT_URL
      case .target: CURLOPT_REQUEST_TARGET
      case .proxy: CURLOPT_PROXY
      case .noProxy: CURLOPT_NOPROXY
      case .proxyUser: CURLOPT_PROXYUSERNAME
      case .proxyPassword: CURLOPT_PROXYPASSWORD
      case .caDirectory: CURLOPT_CAPATH
      case .caFile: CURLOPT_CAINFO
      case .certificate: CURLOPT_SSLCERT
      case .key: CURLOPT_SSLKEY
      case .keyPassword: CURLOPT_KEYPASSWD
      case .pins: CURLOPT_PINNEDPUBLICKEY
      }
    }
  }

  /// An option whose value is a number, or yes (1) and no (0).
  enum NumberOption {
    case connectOnly, noSignal, freshConnection, forbidsReuse, quickExit, oldHTTP, idleAge, verifyPeer, verifyHost,
      caCacheTime, keepsCertificates
    /// Most bytes that are written at once, from 16 KiB on.
    case pieceLimit
    /// With the values `oneDotOne`, and `tlsOneDotTwo` or `tlsOneDotThree`.
    case httpVersion, tlsVersion, proxyTunnel
    /// With the value `loginByPassword`.
    case socksLogin

    fileprivate var code: CURLoption {
      switch self {
      case .connectOnly: CURLOPT_CONNECT_ONLY
      case .noSignal: CURLOPT_NOSIGNAL
      case .freshConnection: CURLOPT_FRESH_CONNECT
      case .forbidsReuse: CURLOPT_FORBID_REUSE
      case .quickExit: CURLOPT_QUICK_EXIT
      case .oldHTTP: CURLOPT_HTTP09_ALLOWED
      case .idleAge: CURLOPT_MAXAGE_CONN
      case .verifyPeer: CURLOPT_SSL_VERIFYPEER
      case .verifyHost: CURLOPT_SSL_VERIFYHOST
      case .caCacheTime: CURLOPT_CA_CACHE_TIMEOUT
      case .keepsCertificates: CURLOPT_CERTINFO
      case .pieceLimit: CURLOPT_UPLOAD_BUFFERSIZE
      case .httpVersion: CURLOPT_HTTP_VERSION
      case .tlsVersion: CURLOPT_SSLVERSION
      case .proxyTunnel: CURLOPT_HTTPPROXYTUNNEL
      case .socksLogin: CURLOPT_SOCKS5_AUTH
      }
    }
  }

  /// An option that takes several values.
  enum ListOption {
    case headers, connectTo

    fileprivate var code: CURLoption {
      switch self {
      case .headers: CURLOPT_HTTPHEADER
      case .connectTo: CURLOPT_CONNECT_TO
      }
    }
  }

  static let oneDotOne = Int(CURL_HTTP_VERSION_1_1)
  static let tlsOneDotTwo = Int(CURL_SSLVERSION_TLSv1_2)
  static let tlsOneDotThree = Int(CURL_SSLVERSION_TLSv1_3)
  /// `CURLAUTH_BASIC`, which is a cast in C.
  static let loginByPassword = 1

  /// Sets an option whose value is a text; nil for libcurl's default.
  func set(_ option: TextOption, _ value: String?) throws(CurlProblem) {
    try check(gw_easy_set_text(handle, option.code, value))
  }

  /// Sets an option whose value is a number.
  func set(_ option: NumberOption, _ value: Int) throws(CurlProblem) {
    try check(gw_easy_set_long(handle, option.code, value))
  }

  /// Sets an option of several values.
  func set(_ option: ListOption, _ values: [String]) throws(CurlProblem) {
    var list: UnsafeMutablePointer<curl_slist>?
    for value in values {
      guard let longer = curl_slist_append(list, value) else {
        curl_slist_free_all(list)
        throw CurlProblem(kind: .other, text: "out of memory")
      }
      list = longer
    }
    if let list { lists.append(list) }
    try check(gw_easy_set_list(handle, option.code, list))
  }

  /// Makes the exchange a POST; the bytes are copied.
  func set(body: [UInt8]) throws(CurlProblem) {
    try check(gw_easy_set_long(handle, CURLOPT_POST, 1))
    try check(body.withUnsafeBytes { gw_easy_set_body(handle, $0.baseAddress ?? UnsafeRawPointer(text), $0.count) })
  }
}

/// How a server is reached: the same for WebSockets and for HTTP exchanges.
extension CurlEasy {
  /// Sets everything that leads to a connection which can carry a request.
  func configure(_ request: DialRequest) throws(CurlProblem) {
    try set(.noSignal, 1)
    // Whatever begins looks for idle connections that are too old.
    try set(.idleAge, CurlSweep.idleLimit)
    // Otherwise ALPN offers HTTP/2, on which no WebSocket can be opened by an upgrade.
    try set(.httpVersion, Self.oneDotOne)
    // Otherwise the loop would wait for a name server that does not answer when a dial is given up.
    try set(.quickExit, 1)
    try configureTarget(request)
    try configureProxy(request)
    if request.secure { try configureTLS(request.tls) }
  }

  /// Where to connect, and as which name to ask for it.
  private func configureTarget(_ request: DialRequest) throws(CurlProblem) {
    let name = request.secure ? request.tls.serverName ?? request.host : request.host
    try set(.url, "\(request.secure ? "https" : "http")://\(UpstreamURL.bracketed(name)):\(request.port)/")
    guard name != request.host else { return }
    try set(.connectTo, ["::\(UpstreamURL.bracketed(request.host)):\(request.port)"])
  }

  /// Both are always set: left alone, libcurl would look into the environment by itself.
  private func configureProxy(_ request: DialRequest) throws(CurlProblem) {
    let server: ProxyServer?
    do throws(URLProblem) { server = try multi.proxies.proxy(for: request) } catch {
      throw CurlProblem(kind: .unusable, text: error.message)
    }
    try set(.noProxy, "")
    guard let server else { return try set(.proxy, "") }
    proxy = server.place
    try set(.proxy, "\(server.kind.rawValue)://\(server.place)")
    // Without it, servers without TLS would be asked for by a plain GET, which cannot become a WebSocket.
    if server.kind == .http {
      try set(.proxyTunnel, 1)
      try listenToHeads()
    }
    try set(.socksLogin, Self.loginByPassword)
    guard let user = server.user else { return }
    try set(.proxyUser, user)
    let password = try request.proxy.passwordFile.map { (path) throws(CurlProblem) in
      try Self.secret(in: path, for: .proxy)
    }
    try set(.proxyPassword, password ?? server.password ?? "")
  }

  private func configureTLS(_ tls: TLSSettings) throws(CurlProblem) {
    for file in [tls.ca?.path, tls.certificate, tls.key] {
      try file.map { (path) throws(CurlProblem) in try Self.check(path) }
    }
    try set(.tlsVersion, tls.minimum == .oneDotThree ? Self.tlsOneDotThree : Self.tlsOneDotTwo)
    try set(.verifyPeer, tls.verify ? 1 : 0)
    try set(.verifyHost, tls.verify ? 2 : 0)
    // With a directory libcurl would parse all of it for each connection.
    try set(.caDirectory, nil)
    if let text = tls.ca?.text {
      try set(authorities: text)
    } else if let file = tls.ca?.path ?? TrustStore.systemBundle() {
      try set(.caFile, file)
    }
    // A file of one upstream is small and may be renewed; it must not push the system's out of the cache.
    if tls.ca != nil { try set(.caCacheTime, 0) }
    if !tls.pins.isEmpty { try set(.pins, tls.pins.joined(separator: ";")) }
    guard let certificate = tls.certificate, let key = tls.key else { return }
    try set(.certificate, certificate)
    try set(.key, key)
    let password = try tls.keyPasswordFile.map { (path) throws(CurlProblem) in try Self.secret(in: path, for: .tls) }
    // Without any, OpenSSL would ask for it at the terminal, and wait.
    try set(.keyPassword, password ?? tls.keyPassword ?? "")
  }

  /// The text is copied.
  private func set(authorities text: String) throws(CurlProblem) {
    let result = Array(text.utf8).withUnsafeBytes { gw_easy_set_authorities(handle, $0.baseAddress, $0.count) }
    try check(result)
  }

  /// libcurl opens files on the loop: a pipe would stop the daemon until a program writes to it.
  private static func check(_ path: String) throws(CurlProblem) {
    var facts = stat()
    // What is missing is libcurl's to tell.
    guard stat(path, &facts) == 0, facts.st_mode & S_IFMT != S_IFREG else { return }
    throw CurlProblem(kind: .badCertificateFile, text: "\(path) is not a regular file")
  }

  /// The content of a file without its line end.
  private static func secret(in path: String, for phase: CurlProblem.Phase) throws(CurlProblem) -> String {
    var bytes: [UInt8]
    do throws(CredentialProblem) {
      bytes = try SecretFile(subject: "the password file \(path)", path: path).read().bytes
    } catch {
      throw CurlProblem(kind: .noSecret(phase), text: error.message)
    }
    if bytes.last == 10 { bytes.removeLast() }
    if bytes.last == 13 { bytes.removeLast() }
    guard !bytes.contains(0) else {
      throw CurlProblem(kind: .noSecret(phase), text: "the file \(path) holds a zero byte")
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Where the system keeps the certificates it trusts, as one PEM file: with a file, and only with a file, libcurl
/// parses them once for all connections instead of once for each.
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
