/// Packets that wait for the next POST, in order, each as it would stand in a WebSocket message.
struct PollingOutbox: Equatable, Sendable {
  struct Packet: Equatable, Sendable {
    var isBinary: Bool
    var bytes: [UInt8]

    init(isBinary: Bool, bytes: [UInt8]) {
      self.isBinary = isBinary
      self.bytes = bytes
    }
  }

  /// Most packets of one POST: some servers drop a larger one whole, and say that all is well.
  static let packetLimit = 16

  /// What a packet takes in memory besides its content, in bytes.
  static let packetCost = 64

  /// Where a POST of several packets ends, in bytes: some servers read only as much of a body as came in one piece.
  static let batchLimit = 32 << 10

  private var packets: [Packet] = []
  /// How many at the front have been taken; they are removed when they are many.
  private var taken = 0
  /// Content of the packets, in bytes.
  private(set) var byteCount = 0
  /// The packets of the last batch, if there were several.
  private var batch: [Packet] = []
  /// The packet of the last batch, if it was one alone.
  private(set) var lone: TransportFailure.RefusedMessage?

  init() {}

  var isEmpty: Bool { taken == packets.count }

  mutating func append(_ packet: Packet) {
    packets.append(packet)
    byteCount += packet.bytes.count
  }

  /// Takes all of it.
  mutating func takeAll() -> [Packet] {
    defer { removeAll() }
    return Array(packets[taken...])
  }

  mutating func removeAll() { self = PollingOutbox() }

  /// Takes the packets of the next POST and returns its body: as many as fit, but at least one, because a packet that
  /// is too large is refused before it gets here. Nil when nothing waits.
  /// - Parameter packetLimit: most packets of it.
  mutating func takeBatch(
    _ revision: EngineIORevision, sizeLimit: Int, packetLimit: Int = PollingOutbox.packetLimit
  ) -> [UInt8]? {
    guard !isEmpty else { return nil }
    var body: [UInt8] = []
    let first = taken
    batch = []
    lone = .init(isBinary: packets[first].isBinary, count: packets[first].bytes.count)
    while taken < packets.count, taken - first < packetLimit {
      let size = Self.size(of: packets[taken], revision)
      guard taken == first || body.count + size + 1 <= min(sizeLimit, Self.batchLimit) else { break }
      Self.write(packets[taken], revision, into: &body)
      byteCount -= packets[taken].bytes.count
      // What is larger is alone.
      if packetLimit > 1, size <= Self.batchLimit { batch.append(packets[taken]) }
      packets[taken].bytes = []
      taken += 1
    }
    if taken == packets.count {
      packets.removeAll()
      taken = 0
    } else if taken >= 1_024 {
      packets.removeFirst(taken)
      taken = 0
    }
    if batch.count > 1 { lone = nil } else { batch = [] }
    return body
  }

  /// The packets of the last batch wait again, before all others. False if it was one alone.
  mutating func putBack() -> Bool {
    guard !batch.isEmpty else { return false }
    packets.replaceSubrange(..<taken, with: batch)
    taken = 0
    byteCount += batch.reduce(0) { $0 + $1.bytes.count }
    batch = []
    return true
  }

  /// `Content-Type` of the bodies. Octets suit every server of revision 3; of the text form they do not agree how
  /// characters are counted.
  static func contentType(_ revision: EngineIORevision) -> String {
    revision == .four ? "text/plain;charset=UTF-8" : "application/octet-stream"
  }

  /// What a message of so many bytes takes in a body of its own.
  static func size(ofMessage count: Int, isBinary: Bool, _ revision: EngineIORevision) -> Int {
    switch (revision, isBinary) {
    case (.four, false): count
    case (.four, true): 1 + (count + 2) / 3 * 4
    case (.three, _): count + 2 + digits(count).count
    }
  }

  private static func size(of packet: Packet, _ revision: EngineIORevision) -> Int {
    size(ofMessage: packet.bytes.count, isBinary: packet.isBinary, revision)
  }

  private static func write(_ packet: Packet, _ revision: EngineIORevision, into body: inout [UInt8]) {
    guard revision == .four else {
      body.append(packet.isBinary ? 1 : 0)
      body += digits(packet.bytes.count)
      body.append(0xff)
      body += packet.bytes
      return
    }
    if !body.isEmpty { body.append(PayloadForm.separator) }
    guard packet.isBinary else { return body += packet.bytes }
    body.append(UInt8(ascii: "b"))
    Base64.encode(packet.bytes.span.bytes, into: &body)
  }

  /// The decimal digits of a number, as bytes 0 to 9.
  private static func digits(_ number: Int) -> [UInt8] { String(number).utf8.map { $0 - 48 } }
}
