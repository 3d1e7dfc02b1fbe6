/// The server's open packet. Engine.IO protocol, section "Handshake".
struct EngineIOHandshake: Equatable, Sendable {
  /// The session's id. Secret: a program that has it can take the session over.
  var sid: String
  /// From ping to ping.
  var pingInterval: Duration
  /// How long an answer to a ping may take.
  var pingTimeout: Duration
  /// Largest message that the server accepts, in bytes; nil when it names none (servers before 4.5).
  var maxPayload: Int?
  /// Whether a session that began with long-polling may go on as a WebSocket.
  var offersWebSocket: Bool

  /// Longest open packet accepted, in bytes.
  static let textLimit = 16 << 10
  /// Longest session id accepted, in bytes.
  static let sidLimit = 1 << 10
  /// Ping times below are raised to this, so that no server makes us ping it in a busy loop.
  static let shortestPing: Duration = .milliseconds(100)
  /// Ping times above are lowered to this, unless the caller says otherwise.
  static let longestPing: Duration = .seconds(600)

  init(
    sid: String, pingInterval: Duration, pingTimeout: Duration, maxPayload: Int?, offersWebSocket: Bool = false
  ) {
    self.sid = sid
    self.pingInterval = pingInterval
    self.pingTimeout = pingTimeout
    self.maxPayload = maxPayload
    self.offersWebSocket = offersWebSocket
  }

  /// Parses the JSON behind the packet type. Unknown members are ignored; times must be positive numbers of
  /// milliseconds.
  init(parsing text: RawSpan, pingLimit: Duration = longestPing) throws(EngineIOProblem) {
    guard text.byteCount <= Self.textLimit else { throw .handshakeTooLong }
    let json: JSONValue
    do { json = try JSONValue.parse(text) } catch { throw .handshakeNotJSON }
    guard let sid = json["sid"]?.stringValue, !sid.isEmpty, sid.utf8.count <= Self.sidLimit else {
      throw .malformedHandshake("sid")
    }
    self.sid = sid
    guard let interval = Self.time(json["pingInterval"], pingLimit) else { throw .malformedHandshake("pingInterval") }
    guard let timeout = Self.time(json["pingTimeout"], pingLimit) else { throw .malformedHandshake("pingTimeout") }
    pingInterval = interval
    pingTimeout = timeout
    maxPayload = Self.size(json["maxPayload"])
    offersWebSocket = json["upgrades"]?.elements?.contains { $0.stringValue == "websocket" } ?? false
  }

  private static func number(_ value: JSONValue?) -> Double? {
    guard case .number(let text) = value, let number = Double(text), number.isFinite else { return nil }
    return number
  }

  private static func time(_ value: JSONValue?, _ limit: Duration) -> Duration? {
    guard let milliseconds = number(value), milliseconds > 0 else { return nil }
    guard milliseconds < Double(limit.milliseconds) else { return limit }
    return max(.milliseconds(Int64(milliseconds)), shortestPing)
  }

  /// Nothing, or nothing usable, means no known limit.
  private static func size(_ value: JSONValue?) -> Int? {
    guard let bytes = number(value), bytes >= 1, bytes < 0x1p53 else { return nil }
    return Int(bytes)
  }
}
