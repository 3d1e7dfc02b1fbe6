/// What a transport is asked to do and what it reports: plain values that cross the `TransportDialer` seam.

/// How a transport to a server is to be made. All of it takes part in the identity of a link.
public struct DialRequest: Hashable, Sendable {
  /// `true` for TLS.
  public var secure: Bool
  /// Host name or address; an IPv6 address without brackets.
  public var host: String
  public var port: UInt16
  /// Path and query of the HTTP request, percent-encoded, such as `/socket.io/?EIO=4&transport=websocket`.
  public var target: String
  /// Headers beyond those that the WebSocket handshake itself needs.
  public var headers: [HTTPHeader]
  public var tls: TLSSettings
  public var proxy: ProxySettings
  /// Limit of each phase: name, TCP, proxy, TLS.
  public var phaseLimit: Duration
  /// Limit of what the server itself answers, where there is something to fall back on; nil: it is a phase as any
  /// other.
  var fallbackLimit: Duration?
  /// Limit of the HTTP upgrade, and of the opening of the protocol behind it.
  public var openingLimit: Duration { fallbackLimit ?? phaseLimit }
  /// Largest message accepted from the server, in bytes; a larger one ends the transport with `tooLarge`.
  public var messageLimit: Int
  /// Most bytes of answers that wait for a server which asks for them and does not read; beyond it the transport ends.
  public var answerLimit = 256 << 10
  /// From the first byte of a message to its last.
  public var messageTimeLimit: Duration = .seconds(120)
  /// On whose account it holds memory.
  public var account = Account.configuration
  /// WebSocket subprotocols that are offered, the preferred one first; empty offers none.
  var subprotocols: [String] = []
  /// Smallest message that leaves compressed, in bytes, where the transport can compress and the server agrees; nil
  /// offers no compression.
  public var compressionThreshold: Int?
  /// How the URL of such a server may begin, for advice.
  public var schemes = URLSchemes.web

  init(
    secure: Bool, host: String, port: UInt16, target: String, headers: [HTTPHeader], tls: TLSSettings,
    proxy: ProxySettings = ProxySettings(), phaseLimit: Duration, messageLimit: Int
  ) {
    self.secure = secure
    self.host = host
    self.port = port
    self.target = target
    self.headers = headers
    self.tls = tls
    self.proxy = proxy
    self.phaseLimit = phaseLimit
    self.messageLimit = messageLimit
  }
}

extension DialRequest {
  /// What the `Host` header says: the port only where it is not the scheme's own.
  public var authority: String {
    let host = UpstreamURL.bracketed(host)
    return port == (secure ? 443 : 80) ? host : "\(host):\(port)"
  }
}

/// What is known of an open transport, for `status`.
public struct TransportFacts: Equatable, Sendable {
  /// `websocket`, `polling`, `lines` or `resp`.
  var name: String
  /// The negotiated TLS version, such as `TLSv1.3`; nil without TLS.
  var tlsVersion: String?
  /// Whether the server's certificate was verified (`true` without TLS too: there is nothing that was skipped).
  var verified: Bool
  /// The WebSocket subprotocol that the server chose; nil when it chose none.
  public var subprotocol: String?
  /// Whether the server agreed to compressed messages.
  public var compression: Bool
  /// The numeric address at the other end of the socket, the server's or its proxy's; nil where it is not known.
  var address: String?
  /// Host and port of the proxy that the connection goes through; nil without one.
  var proxy: String?

  public init(
    name: String, tlsVersion: String?, verified: Bool, compression: Bool = false, address: String? = nil,
    proxy: String? = nil
  ) {
    self.name = name
    self.tlsVersion = tlsVersion
    self.verified = verified
    self.compression = compression
    self.proxy = proxy
    self.address = address
  }
}

/// What changed about an open transport.
public enum TransportNotice: Equatable, Sendable {
  /// The form of the server's answers shows the version of the protocol that they are framed by, as its own number;
  /// told before the first message.
  case version(Int)
  /// The session goes on over another transport. Nothing was lost and nothing changed its place.
  case switched(TransportFacts)
}

/// Why a transport could not be opened, or ended.
public struct TransportFailure: Error, Equatable, Sendable {
  public var failure: UpstreamFailure
  /// The header lines of an HTTP response that came instead of an upgrade, names in lower case; empty otherwise. They
  /// may hold secrets.
  var headers: [HTTPHeader]
  /// The beginning of an HTTP response body that came instead of an upgrade (at most 4 KiB): the Engine.IO layer
  /// recognises a version mismatch in it. Empty otherwise.
  var httpBody: [UInt8]
  /// Whether it failed at name, TCP, TLS or proxy, so that the server was never asked anything.
  var isBeforeHTTP: Bool
  /// What the server refused as too large, where it was one message alone.
  var refused: RefusedMessage?

  /// One message of a transport, which the server refused.
  struct RefusedMessage: Equatable, Sendable {
    var isBinary: Bool
    /// Bytes of the whole message, with everything that stands before its content.
    var count: Int
  }

  public init(
    _ failure: UpstreamFailure, headers: [HTTPHeader] = [], httpBody: [UInt8] = [], isBeforeHTTP: Bool = false
  ) {
    self.failure = failure
    self.headers = headers
    self.httpBody = httpBody
    self.isBeforeHTTP = isBeforeHTTP
  }
}
