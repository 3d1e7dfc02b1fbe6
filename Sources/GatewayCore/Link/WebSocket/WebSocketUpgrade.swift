/// The client's side of the HTTP exchange that opens a WebSocket (RFC 6455 section 4.1), without input or output: the
/// transport writes `requestBytes`, hands over whatever arrives and acts on the outcome.
///
/// Those subprotocols are offered that the request names, and as extension at most `permessage-deflate`: a server that
/// names another breaks the protocol. Decision 0005.
public struct WebSocketUpgrade: Sendable {
  /// What the bytes so far amount to.
  public enum Outcome: Equatable, Sendable {
    case needMore
    /// The server agreed. The first `consumed` bytes of this chunk belong to HTTP, the rest are WebSocket frames.
    case upgraded(consumed: Int)
    /// The server did not agree. Terminal.
    case failed(TransportFailure)
  }

  private enum State: Equatable {
    /// Collecting the head. May become `body`, `upgraded` or `failed`.
    case head
    /// The answer is no upgrade; its text is collected for the kind, which may read a reason in it. May become
    /// `failed`.
    case body(TransportFailure, HTTPBodyPrefix)
    case upgraded
    case failed(TransportFailure)
  }

  /// Largest head accepted, in bytes, all interim responses together.
  public static let headLimit = 16 << 10
  /// Most bytes kept of a body that comes instead of an upgrade.
  static let bodyLimit = 4 << 10

  /// What to write first: the whole HTTP request.
  public let requestBytes: [UInt8]
  /// Nil once a 101 would be out of place.
  private let expectedAccept: String?
  /// What the server agreed to of the compression that was offered; nil before that, and when it agreed to none.
  public private(set) var deflate: MessageDeflate?
  private let offersDeflate: Bool
  private let subprotocols: [String]
  /// Which of the offered subprotocols the server chose; nil when it chose none.
  public private(set) var subprotocol: String?
  private var state = State.head
  private var buffer: [UInt8] = []
  private var headBytes = 0
  /// The header lines of the 101 response, names in lower case; empty before it. They may hold secrets.
  public private(set) var headers: [HTTPHeader] = []

  /// `key` is sixteen random bytes in base64, `expectedAccept` what the server must make of it.
  public init(request: DialRequest, key: String, expectedAccept: String) {
    requestBytes = Self.requestText(request, key: key)
    self.expectedAccept = expectedAccept
    offersDeflate = request.compressionThreshold != nil
    subprotocols = request.subprotocols
  }

  private init() {
    requestBytes = []
    expectedAccept = nil
    offersDeflate = false
    subprotocols = []
  }

  /// For the text that some servers write into the stream after they agreed, see `looksLikeHTTP`. Its outcome is never
  /// `upgraded`; `requestBytes` is empty.
  public static func lateResponse() -> WebSocketUpgrade { WebSocketUpgrade() }

  /// Whether the bytes behind the 101 response are no frames but another HTTP response: a Node server that does not
  /// speak the revision asked for first agrees and then writes its refusal as plain text. Nil: too few bytes to tell.
  /// No valid frame begins with `H`.
  public static func looksLikeHTTP(_ firstBytes: RawSpan) -> Bool? {
    let expected = [UInt8]("HTTP/1.".utf8)
    for index in 0..<min(expected.count, firstBytes.byteCount)
    where firstBytes.unsafeLoad(fromByteOffset: index, as: UInt8.self) != expected[index] {
      return false
    }
    return firstBytes.byteCount < expected.count ? nil : true
  }

  /// Takes what arrived. After `upgraded` or `failed` nothing more is to be handed over.
  public mutating func receive(_ chunk: RawSpan) -> Outcome {
    let chunk = chunk.withUnsafeBytes { [UInt8]($0) }
    switch state {
    case .head: return receiveHead(chunk)
    case .body: return receiveBody(chunk)
    case .upgraded: return .upgraded(consumed: 0)
    case .failed(let failure): return .failed(failure)
    }
  }

  /// The server closed the connection before the outcome was known.
  public mutating func ended() -> TransportFailure {
    finish(UpstreamFailure(.closed, "the server closed the connection before it answered the WebSocket handshake"))
  }

  /// The time for the handshake is over. A refusal whose text is still arriving is reported as that refusal.
  public mutating func timedOut() -> TransportFailure {
    finish(UpstreamFailure(.timeout, "the server did not answer the WebSocket handshake in time"))
  }

  private mutating func finish(_ otherwise: UpstreamFailure) -> TransportFailure {
    let failure =
      switch state {
      case .head, .upgraded: TransportFailure(otherwise)
      case .body(let failure, let body): Self.refusal(failure, body)
      case .failed(let failure): failure
      }
    state = .failed(failure)
    return failure
  }

  private mutating func fail(_ failure: UpstreamFailure) -> Outcome { fail(TransportFailure(failure)) }

  private mutating func fail(_ failure: TransportFailure) -> Outcome {
    state = .failed(failure)
    return .failed(failure)
  }

  // MARK: - The head

  private mutating func receiveHead(_ chunk: [UInt8]) -> Outcome {
    let before = buffer.count
    buffer += chunk
    guard let end = Self.endOfHead(buffer, from: max(0, before - 3)) else {
      if headBytes + buffer.count > Self.headLimit { return fail(Self.tooLongHead) }
      if let early = refuseForeignProtocol() { return early }
      return .needMore
    }
    headBytes += end
    guard headBytes <= Self.headLimit else { return fail(Self.tooLongHead) }
    let head: HTTPResponseHead
    do { head = try HTTPResponseHead(parsing: buffer[..<end]) } catch { return fail(error) }
    let rest = [UInt8](buffer[end...])
    buffer = []
    return judge(head, rest: rest, consumed: chunk.count - rest.count)
  }

  private mutating func judge(_ head: HTTPResponseHead, rest: [UInt8], consumed: Int) -> Outcome {
    switch head.status {
    case 101:
      guard let expectedAccept else { return fail(UpstreamFailure.malformedHead) }
      if let problem = problem(of: head, expectedAccept: expectedAccept) {
        return fail(UpstreamFailure(.protocolError, problem, status: 101))
      }
      guard agreeOnDeflate(head) else {
        return fail(UpstreamFailure(.protocolError, Self.unofferedExtension, status: 101))
      }
      state = .upgraded
      subprotocol = head.values("sec-websocket-protocol").first
      headers = head.headers
      return .upgraded(consumed: consumed)
    case 100..<200:
      return continueAfterInterim(rest, consumed: consumed)
    default:
      do {
        let failure = TransportFailure(Self.refusal(head), headers: head.headers)
        state = .body(failure, try HTTPBodyPrefix(of: head, limit: Self.bodyLimit))
      } catch {
        return fail(error)
      }
      return receiveBody(rest)
    }
  }

  /// What follows an interim response is the next head; offsets stay those of the chunk.
  private mutating func continueAfterInterim(_ rest: [UInt8], consumed: Int) -> Outcome {
    guard case .upgraded(let more) = receiveHead(rest) else {
      if case .failed(let failure) = state { return .failed(failure) }
      return .needMore
    }
    return .upgraded(consumed: consumed + more)
  }

  private mutating func refuseForeignProtocol() -> Outcome? {
    guard buffer.span.bytes.byteCount > 0, Self.looksLikeHTTP(buffer.span.bytes) == false else { return nil }
    return fail(UpstreamFailure.notHTTP)
  }

  private mutating func receiveBody(_ chunk: [UInt8]) -> Outcome {
    guard case .body(let failure, var body) = state else { return .needMore }
    body.append(chunk)
    guard body.isComplete else {
      state = .body(failure, body)
      return .needMore
    }
    return fail(Self.refusal(failure, body))
  }

  private static func refusal(_ failure: TransportFailure, _ body: HTTPBodyPrefix) -> TransportFailure {
    TransportFailure(failure.failure, headers: failure.headers, httpBody: body.bytes)
  }

  /// The offset behind the empty line that ends a head; nil when it is not there yet.
  private static func endOfHead(_ bytes: [UInt8], from start: Int) -> Int? {
    var index = start
    while index + 3 < bytes.count {
      if bytes[index] == 13, bytes[index + 1] == 10, bytes[index + 2] == 13, bytes[index + 3] == 10 { return index + 4 }
      index += 1
    }
    return nil
  }

  /// RFC 6455 section 4.1, the checks of the server's response.
  private func problem(of head: HTTPResponseHead, expectedAccept: String) -> String? {
    guard head.elements("upgrade") == ["websocket"], head.elements("connection").contains("upgrade") else {
      return "the server switched to another protocol than WebSocket"
    }
    guard head.values("sec-websocket-accept") == [expectedAccept] else {
      return "the server's Sec-WebSocket-Accept does not match the key"
    }
    let chosen = head.values("sec-websocket-protocol")
    guard chosen.isEmpty || (chosen.count == 1 && subprotocols.contains(chosen[0])) else {
      return "the server chose a WebSocket subprotocol that was not offered"
    }
    return nil
  }

  private static let unofferedExtension = "the server chose a WebSocket extension or a parameter that was not offered"

  /// RFC 6455 section 9.1 and RFC 7692 section 5: nothing, or the one extension that was offered. False for anything
  /// else.
  private mutating func agreeOnDeflate(_ head: HTTPResponseHead) -> Bool {
    let extensions = head.elements("sec-websocket-extensions")
    guard let answer = extensions.first else { return true }
    guard extensions.count == 1, offersDeflate else { return false }
    deflate = MessageDeflate(answer: answer)
    return deflate != nil
  }

  // MARK: - Failures

  private static let tooLongHead = UpstreamFailure(.protocolError, "the server's HTTP header is longer than 16 KiB")

  private static func refusal(_ head: HTTPResponseHead) -> UpstreamFailure {
    var name = "HTTP \(head.status)"
    if !head.phrase.isEmpty { name += " " + head.phrase }
    var detail = HTTPRefusalText.sentence(head, name: name)
    if (300..<400).contains(head.status) {
      let target = head.values("location").first.flatMap(Self.hostOfLocation)
      detail = "the server redirects to \(target ?? "another place") (\(name)), which is not followed"
    }
    return UpstreamFailure(.http, detail, status: head.status)
  }

  /// Scheme and host of an absolute URL; the rest may hold secrets. Nil for a relative one.
  static func hostOfLocation(_ location: String) -> String? {
    let parts = location.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[1].isEmpty, parts[0].hasSuffix(":") || parts[0].isEmpty else { return nil }
    guard let host = parts[2].split(separator: "?").first?.split(separator: "#").first?.split(separator: "@").last,
      !host.isEmpty, host.utf8.count <= 255, host.utf8.allSatisfy({ (33..<127).contains($0) })
    else { return nil }
    let scheme = parts[0].prefix(16)
    return (scheme.utf8.allSatisfy { (33..<127).contains($0) } ? String(scheme) : "") + "//" + host
  }

  // MARK: - The request

  private static func requestText(_ request: DialRequest, key: String) -> [UInt8] {
    let given = Set(request.headers.map { $0.name.lowercased() })
    var text = "GET \(request.target) HTTP/1.1\r\n"
    if !given.contains("host") { text += "Host: \(request.authority)\r\n" }
    text += "Upgrade: websocket\r\nConnection: Upgrade\r\n"
    text += "Sec-WebSocket-Key: \(key)\r\nSec-WebSocket-Version: 13\r\n"
    if !request.subprotocols.isEmpty {
      text += "Sec-WebSocket-Protocol: \(request.subprotocols.joined(separator: ", "))\r\n"
    }
    if request.compressionThreshold != nil { text += "Sec-WebSocket-Extensions: \(MessageDeflate.offer)\r\n" }
    if !given.contains("user-agent") { text += "User-Agent: \(HTTPHeader.defaultUserAgent)\r\n" }
    for header in request.headers { text += "\(header.name): \(header.value)\r\n" }
    return [UInt8]((text + "\r\n").utf8)
  }
}
