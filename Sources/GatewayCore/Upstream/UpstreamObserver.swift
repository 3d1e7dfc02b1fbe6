/// Told what goes over one connection, packet by packet, by the kind that speaks its protocol. Nothing is made for it
/// while there is none, so that a trace costs nothing until a client asks for one.
protocol UpstreamObserver: AnyObject {
  /// Whether facts are to carry payloads.
  var wantsPayloads: Bool { get }
  /// One packet, or the beginning or the end of a link.
  func observed(_ fact: TraceFact)
}

/// One thing that happened on the wire, in words.
struct TraceFact: Equatable, Sendable {
  /// The raw values are the `direction` of a `trace` notification.
  enum Direction: String, CaseIterable, Sendable {
    case incoming = "in"
    case outgoing = "out"
  }

  /// The raw values are the `layer` of a `trace` notification. A kind of upstream names its own.
  struct Layer: RawRepresentable, Hashable, Sendable {
    var rawValue: String
    init(rawValue: String) { self.rawValue = rawValue }

    /// Dialling, the HTTP request and its answer, the end of a transport.
    static let http = Layer(rawValue: "http")
    /// Engine.IO: handshake and heartbeat.
    static let engine = Layer(rawValue: "engine")
    /// Socket.IO: the packets of the connection's own namespace.
    static let socketio = Layer(rawValue: "socketio")
  }

  /// What it tells of: who may see it, where rights are bound to events.
  enum Subject: Equatable, Sendable {
    /// The link itself, or a packet that carries nothing of an event.
    case link
    /// An event of that name.
    case event(String)
    /// Something whose event is not known here, such as an acknowledgement.
    case message
  }

  var direction: Direction
  var layer: Layer
  let subject: Subject
  /// Such as `EVENT chat (2 args, 58 bytes) ack 7`; without payloads and secrets, at most `textLimit` bytes and a mark.
  var text: String
  /// The payload's text with secrets replaced, at most `payloadLimit` bytes of it; nil unless it was wanted.
  var payload: String?

  /// Longest text that is shown whole, in bytes.
  static let textLimit = 4 << 10
  /// Longest payload that is shown, in bytes.
  static let payloadLimit = 16 << 10

  init(
    _ direction: Direction, _ layer: Layer, _ text: String, of subject: Subject = .link, payload: String? = nil
  ) {
    self.direction = direction
    self.subject = subject
    self.layer = layer
    self.text = text.shortened(to: Self.textLimit)
    self.payload = payload
  }
}
