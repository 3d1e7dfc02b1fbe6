/// What the answer to the first request of long-polling says about the server. Engine.IO protocol, section "Handshake".
enum HTTPReading: Equatable {
  /// An Engine.IO server that speaks the revision; it ignored ours if that was another one.
  case handshake(EngineIORevision, EngineIOHandshake, upgrades: [String])
  /// An Engine.IO server that speaks another revision.
  case otherRevision
  /// An Engine.IO server without long-polling.
  case pollingOff
  /// Anything else: code, what was seen, advice.
  case problem(String, String, String)

  init(_ response: HTTPResponse, to request: DialRequest) {
    if response.status == 200, let handshake = Self.handshake(response.body) {
      self = handshake
      return
    }
    switch EngineIORefusal(body: response.body) {
    case .unsupportedRevision where response.status == 400: self = .otherRevision
    case .unknownTransport where response.status == 400: self = .pollingOff
    case .forbidden(let message):
      self = .problem(
        "http.forbidden", "The server forbade the handshake: \(message).",
        "The server's own rules turned us away before Socket.IO began: check the headers, cookies and the query that it "
          + "expects (`headers`, `query`), and its list of origins.")
    case .unsupportedRevision, .unknownTransport, .unknownSession, .badRequest, nil:
      self = Self.problem(response, request)
    }
  }

  // MARK: - Handshakes

  private static func handshake(_ body: [UInt8]) -> HTTPReading? {
    let (packet, revision): (ArraySlice<UInt8>, EngineIORevision)
    if body.first == UInt8(ascii: "0") {
      (packet, revision) = (body.prefix { $0 != 0x1e }, .four)
    } else if let old = firstOldPacket(body) {
      (packet, revision) = (old, .three)
    } else {
      return nil
    }
    let text = Array(packet.dropFirst())
    guard packet.first == UInt8(ascii: "0"), let handshake = try? EngineIOHandshake(parsing: text.span.bytes) else {
      return nil
    }
    let upgrades = (try? JSONValue.parse(text.span.bytes))?["upgrades"]?.elements ?? []
    return .handshake(revision, handshake, upgrades: upgrades.compactMap(\.stringValue))
  }

  /// The first packet of a payload of revision 3: `97:0{…}`, or in the binary form 0, the digits as bytes, 255, `0{…}`.
  private static func firstOldPacket(_ body: [UInt8]) -> ArraySlice<UInt8>? {
    let isBinary = body.first == 0
    let head = (isBinary ? body.dropFirst() : body[...]).prefix(10)
    let digits = head.prefix { isBinary ? $0 < 10 : (0x30...0x39).contains($0) }
    guard !digits.isEmpty, digits.endIndex < body.count, body[digits.endIndex] == (isBinary ? 0xff : UInt8(ascii: ":"))
    else { return nil }
    let length = digits.reduce(0) { $0 * 10 + Int(isBinary ? $1 : $1 - 0x30) }
    // A handshake is ASCII, so that bytes and characters are the same.
    return body[(digits.endIndex + 1)...].prefix(length)
  }

  // MARK: - Everything else

  private static func problem(_ response: HTTPResponse, _ request: DialRequest) -> HTTPReading {
    let path = request.target.prefix { $0 != "?" }
    let status = response.status
    switch status {
    case 300..<400:
      let place = response.headers.first { $0.name == "location" }.map { ", to \(shown($0.value))" } ?? ""
      return .problem(
        "http.redirect", "The server redirects \(path) elsewhere (\(status)\(place)).",
        "Use the address that it redirects to, or look for a login page, a captive portal or a forced https in between."
      )
    case 401, 403, 407:
      return .problem(
        "http.forbidden", "The server answered \(path) with \(status).",
        "Something before Socket.IO asks for credentials: give them by `headers` (Authorization, Cookie) or `query`.")
    case 404:
      return .problem(
        "http.path", "There is nothing at \(path) (404).",
        "Socket.IO lives under another path there: set `path`, with its slash at the end. The path of the URL is the "
          + "namespace, not the HTTP path.")
    case 429, 503:
      return .problem(
        "http.busy", "The server answered \(path) with \(status): it is overloaded or limits us.",
        "Wait, and try again later; the gateway does so by itself.")
    case 500...:
      return .problem(
        "http.server_error", "The server answered \(path) with \(status).",
        "A proxy in between finds no server behind it, or the server fails: look into the logs over there.")
    case 200 where isPage(response):
      return .problem(
        "http.web_page", "\(path) answers with a web page.",
        "This is a web server, but no Socket.IO server listens at \(path): check host and port, and set `path` if "
          + "Socket.IO lives elsewhere.")
    default:
      return .problem(
        "http.unexpected", "\(path) answers with \(status) and \(response.body.count) bytes that are no Engine.IO.",
        "What listens there speaks HTTP, but no Socket.IO: check host, port and `path`. For a plain WebSocket write "
          + "raw+ws:// in the URL, with TLS raw+wss://.")
    }
  }

  private static func isPage(_ response: HTTPResponse) -> Bool {
    if response.headers.contains(where: { $0.name == "content-type" && $0.value.hasPrefix("text/html") }) {
      return true
    }
    return response.body.first { $0 > 0x20 } == UInt8(ascii: "<")
  }

  /// A place without what may be secret in it.
  private static func shown(_ location: String) -> String {
    let bare = String(location.prefix { $0 != "?" && $0 != "#" }).shortened(to: 200)
    let text = bare.unicodeScalars.map { $0.isInvisibleControl ? "?" : String($0) }.joined()
    guard let at = text.lastIndex(of: "@"), let scheme = text.firstRange(ofText: "://") else { return text }
    return at > scheme.lowerBound ? text[..<scheme.upperBound] + "…" + text[at...] : text
  }
}
