/// What an HTTP answer means that is not what a poll wants.
enum PollingRefusal {
  /// Most of a body that is kept to read a reason in it, in bytes.
  private static let bodyLimit = 4 << 10

  /// An answer to the handshake with another status than 200.
  static func opening(_ response: HTTPResponse) -> TransportFailure {
    let sentence = way(response) ?? "the server answered HTTP \(response.status) instead of an Engine.IO handshake"
    return failure(UpstreamFailure(.http, sentence, status: response.status), response)
  }

  /// An answer to the handshake with status 200 that is no payload.
  static func foreign(_ response: HTTPResponse) -> TransportFailure {
    let sentence =
      if response.body.isEmpty {
        "the server answered the Engine.IO handshake with nothing: this is no Socket.IO server, or not its path"
      } else if isPage(response) {
        "the server answered the Engine.IO handshake with a web page: this is no Socket.IO server, or a login page or a "
          + "captive portal stands before it"
      } else {
        "the server answered the Engine.IO handshake with something else: this is no Socket.IO server, or not its path"
      }
    return failure(UpstreamFailure(.http, sentence, status: response.status), response)
  }

  /// An answer to a later request; nil when it is all right.
  static func later(_ response: HTTPResponse) -> TransportFailure? {
    guard response.status == 200 else { return failure(refusal(response), response) }
    guard isPage(response) else { return nil }
    let sentence =
      "something answered a poll with a web page: a login page or a captive portal stands before the server"
    return failure(UpstreamFailure(.http, sentence, status: response.status), response)
  }

  private static func refusal(_ response: HTTPResponse) -> UpstreamFailure {
    let status = response.status
    switch EngineIORefusal(body: response.body) {
    case .unknownSession: return UpstreamFailure(.closed, EngineIORefusal.lostSession, status: status)
    case .badRequest:
      return UpstreamFailure(.protocolError, "the server rejected a poll as a bad request", status: status)
    case .forbidden(let message):
      return UpstreamFailure(.http, "the server forbade a poll: \(message)", status: status, serverMessage: message)
    case .unknownTransport:
      return UpstreamFailure(.http, "the server does not offer long-polling any more", status: status)
    case .unsupportedRevision:
      return UpstreamFailure(
        .incompatible, "the server does not speak this revision of Engine.IO any more", status: status)
    case nil: break
    }
    if status == 413 {
      return UpstreamFailure(.tooLarge, "the server refused what was sent as too large (HTTP 413)", status: status)
    }
    if status == 400, response.body.isEmpty {
      let sentence = "the server ended the session without a word (HTTP 400): it saw two polls at once, or gave it up"
      return UpstreamFailure(.closed, sentence, status: status)
    }
    return UpstreamFailure(
      .http, way(response) ?? "the server answered a poll with HTTP \(status)", status: status)
  }

  /// What stands on the way to the server says so, whatever was asked for.
  private static func way(_ response: HTTPResponse) -> String? {
    redirect(response) ?? HTTPRefusalText.login(response.status, name: "HTTP \(response.status)")
  }

  private static func redirect(_ response: HTTPResponse) -> String? {
    guard (300..<400).contains(response.status) else { return nil }
    let location = response.headers.first { $0.name == "location" }?.value
    let target = location.flatMap(WebSocketUpgrade.hostOfLocation) ?? "another place"
    return "the server redirects to \(target) (HTTP \(response.status)), which is not followed"
  }

  /// No payload begins like markup. Only white space and a byte order mark are passed over: octets hold anything.
  private static func isPage(_ response: HTTPResponse) -> Bool {
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    let text = response.body.starts(with: mark) ? response.body.dropFirst(mark.count) : response.body[...]
    let spaces: [UInt8] = [0x09, 0x0a, 0x0d, 0x20]
    return text.first { !spaces.contains($0) } == UInt8(ascii: "<")
  }

  private static func failure(_ failure: UpstreamFailure, _ response: HTTPResponse) -> TransportFailure {
    TransportFailure(failure, headers: response.headers, httpBody: [UInt8](response.body.prefix(bodyLimit)))
  }
}
