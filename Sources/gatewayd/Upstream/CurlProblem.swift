import GatewayCore
import Glibc

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
    /// The time was over in which this host may write to the server.
    case late
    /// The server's public key is none of the pinned ones.
    case notPinned
    /// The settings cannot be used; the text is a whole sentence.
    case unusable
    /// A secret for that part of the way could not be read; the text is a whole sentence.
    case noSecret(Phase)
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

extension CurlProblem {
  /// What this means for an upstream, in a sentence for a person.
  func failure(dialing request: DialRequest) -> UpstreamFailure {
    let place = UpstreamURL.bracketed(request.host) + ":\(request.port)"
    switch kind {
    case .nameNotResolved:
      return UpstreamFailure(.unreachable, "the name \(request.host) cannot be resolved")
    case .notConnected(let code):
      let reason = code == 0 ? text : SystemError.text(of: code).lowercased()
      return UpstreamFailure(.unreachable, "no connection to \(place): \(reason)")
    case .timedOut(let phase):
      return UpstreamFailure(.timeout, sentence(for: phase, place, request))
    case .proxy(let kind): return failure(of: kind, to: place, request)
    case .unusable: return UpstreamFailure(.unreachable, text)
    case .noSecret: return UpstreamFailure(.auth, text)
    case .notPinned:
      return UpstreamFailure(.tls, "the public key of \(place) is none of those in tls.pins")
    case .certificateRefused:
      return UpstreamFailure(.tls, "the certificate of \(place) was not accepted: \(reason)")
    case .badCertificateFile:
      return UpstreamFailure(
        .tls, keyFileSentence(request.tls) ?? "a certificate or key file cannot be used: \(fileReason)")
    case .tls where text.contains(text: "protocol version") || text.contains(text: "unsupported protocol"):
      return UpstreamFailure(
        .tls,
        "\(place) speaks no version of TLS that is allowed here, which is \(request.tls.minimum.rawValue) or later")
    case .tls where text.contains(text: "wrong version number") || text.contains(text: "packet length too long"):
      return UpstreamFailure(.tls, "\(place) does not speak TLS: use \(request.schemes.clear) if that is meant")
    case .tls:
      return UpstreamFailure(.tls, "the TLS handshake with \(place) failed: \(reason)")
    case .lost where text.contains(text: " alert "):
      return UpstreamFailure(.tls, "\(place) ended the TLS connection: \(reason)")
    case .lost where text.contains(text: "chunked-encoding"):
      return UpstreamFailure(.protocolError, "the server's HTTP answer is malformed")
    case .lost:
      return UpstreamFailure(.closed, "the connection to \(place) was lost: \(reason)")
    case .hungUp:
      return UpstreamFailure(.closed, "\(place) closed the connection before its answer was complete")
    case .late:
      return UpstreamFailure(.fleet, "this host may not write to the server any more")
    case .notHTTP:
      return UpstreamFailure(.http, "the server's answer is not HTTP")
    case .other where text == "Out of memory":
      // libcurl's word for a header line beyond its own limit, which is above ours.
      return UpstreamFailure(.protocolError, "the server's HTTP header is longer than 16 KiB")
    case .other:
      return UpstreamFailure(.unreachable, "no connection to \(place): \(reason)")
    }
  }

  private func failure(of kind: ProxyKind, to place: String, _ request: DialRequest) -> UpstreamFailure {
    let name = "the proxy \(proxy ?? "")"
    switch kind {
    case .nameNotResolved: return UpstreamFailure(.unreachable, "the name of \(name) cannot be resolved")
    case .notConnected(let code):
      let reason = code == 0 ? text : SystemError.text(of: code).lowercased()
      return UpstreamFailure(.unreachable, "no connection to \(name): \(reason)")
    case .status(407):
      return UpstreamFailure(
        .unreachable, "\(name) wants a user and a password, or others than the configured ones (HTTP 407)", status: 407)
    case .status(let status):
      return UpstreamFailure(
        .unreachable, "\(name) refused to open the way to \(place) (HTTP \(status))", status: status)
    case .wantsLogin: return UpstreamFailure(.unreachable, "\(name) wants a user and a password")
    case .loginRefused: return UpstreamFailure(.unreachable, "\(name) did not accept the user and the password")
    case .refused(let reason):
      return UpstreamFailure(.unreachable, "\(name) did not open the way to \(place): \(reason)")
    case .longHead:
      let limit = CurlExchange.headLimit >> 10
      return UpstreamFailure(.unreachable, "\(name) answered with a header longer than \(limit) KiB")
    case .notSocks: return UpstreamFailure(.unreachable, "\(name) does not speak SOCKS 5")
    case .targetNotResolved: return UpstreamFailure(.unreachable, "the name \(request.host) cannot be resolved")
    case .brokeOff:
      return UpstreamFailure(.unreachable, "\(name) closed the connection before the way to \(place) was open")
    }
  }

  /// libcurl does not tell a wrong password from a file that is no key; the file's own words do.
  private func keyFileSentence(_ tls: TLSSettings) -> String? {
    guard text.hasPrefix("unable to set private key file"), let key = tls.key, KeyFile.isEncrypted(key) else {
      return nil
    }
    let hasPassword = tls.keyPassword != nil || tls.keyPasswordFile != nil
    return hasPassword
      ? "the password does not open the key file \(key)"
      : "the key file \(key) needs a password: tls.key_password or tls.key_password_file"
  }

  /// The part of libcurl's sentence that says why: OpenSSL's own reason stands behind its last double colon, a
  /// certificate's behind the first colon.
  private var reason: String {
    var reason = text[...]
    let certificate = text.firstRange(ofText: "SSL certificate problem: ") ?? text.firstRange(ofText: "SSL: ")
    if reason.contains(text: "::") {
      while let mark = reason.firstRange(ofText: "::") { reason = reason[mark.upperBound...] }
    } else if let certificate {
      reason = reason[certificate.upperBound...]
    }
    if reason.contains(text: "SSL_ERROR_SYSCALL") { return "the server closed the connection" }
    for call in ["Recv failure: ", "Send failure: "] where reason.hasPrefix(call) {
      reason = reason.dropFirst(call.count)
    }
    if let errno = reason.firstRange(ofText: ", errno ") { reason = reason[..<errno.lowerBound] }
    return String(reason)
  }

  /// For a file, libcurl's words name it, and OpenSSL's reason stands in their middle.
  private var fileReason: String {
    guard let mark = text.firstRange(ofText: ", OpenSSL error") else { return text }
    let reason = reason[...]
    let end = reason.firstRange(ofText: ", (")?.lowerBound ?? reason.endIndex
    return text[..<mark.lowerBound] + ": " + reason[..<end]
  }

  private func sentence(for phase: Phase, _ place: String, _ request: DialRequest) -> String {
    let limit = "within \(request.phaseLimit.shortText)"
    switch phase {
    case .name where proxy != nil: return "the name of the proxy \(proxy ?? "") was not resolved \(limit)"
    case .tcp where proxy != nil: return "the proxy \(proxy ?? "") did not accept the connection \(limit)"
    case .name: return "the name \(request.host) was not resolved \(limit)"
    case .tcp: return "\(place) did not accept the connection \(limit)"
    case .proxy: return "the proxy \(proxy ?? "") did not open the way to \(place) \(limit)"
    case .tls: return "\(place) did not finish the TLS handshake \(limit)"
    case .answer: return "\(place) did not answer the HTTP request in time"
    }
  }
}

extension Duration {
  /// Such as `10 s` or `1500 ms`.
  var shortText: String {
    milliseconds.isMultiple(of: 1_000) ? "\(milliseconds / 1_000) s" : "\(milliseconds) ms"
  }
}

/// What can be seen of a key's PEM file without opening the key.
enum KeyFile {
  /// Whether it says of itself that it needs a password: RFC 7468 section 11, or the older form by headers.
  static func isEncrypted(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
      count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
    }
    let text = String(decoding: bytes, as: UTF8.self)
    return text.contains(text: "-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains(text: "Proc-Type: 4,ENCRYPTED")
  }
}
