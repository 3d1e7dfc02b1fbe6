/// A message in its wire form, as far as it does not depend on the moment of writing. Opaque to the connection.
public struct PreparedMessage: Equatable, Sendable {
  /// What few messages have: apart, because messages are handed on often, and four words pass in registers.
  private final class Rest: Equatable, Sendable {
    let tail: ArraySlice<UInt8>
    let attachments: [[UInt8]]
    let compress: Bool

    init(tail: ArraySlice<UInt8>, attachments: [[UInt8]], compress: Bool) {
      self.tail = tail
      self.attachments = attachments
      self.compress = compress
    }

    static func == (a: Rest, b: Rest) -> Bool {
      a.tail == b.tail && a.attachments == b.attachments && a.compress == b.compress
    }
  }

  /// The event's name; empty for an answer.
  public var event: String
  /// The body, or what stands before its tail.
  private(set) var head: [UInt8]
  /// Nil where a message has no more than the two and may be compressed.
  private var rest: Rest?

  public init(event: String, body: [UInt8], attachments: [[UInt8]] = []) {
    self.event = event
    head = body
    if !attachments.isEmpty { keep(tail: [], attachments, compress: true) }
  }

  /// A message with a long tail.
  init(event: String, head: [UInt8], tail: ArraySlice<UInt8>) {
    self.event = event
    self.head = head
    if !tail.isEmpty { keep(tail: tail, [], compress: true) }
  }

  /// For Socket.IO the JSON array text with placeholders instead of binary. Put together each time where the message
  /// has a long tail.
  public var body: [UInt8] {
    get { tail.isEmpty ? head : head + tail }
    set {
      head = newValue
      keep(tail: [], attachments, compress: compress)
    }
  }

  /// What follows of a long body; it lies in the memory in which it came in.
  var tail: ArraySlice<UInt8> { rest?.tail ?? [] }

  /// Binary parts, in the order of their placeholders.
  public var attachments: [[UInt8]] {
    get { rest?.attachments ?? [] }
    set { keep(tail: tail, newValue, compress: compress) }
  }

  /// Whether the transport may compress it; it decides itself whether that is worth it.
  public var compress: Bool {
    get { rest?.compress ?? true }
    set { if newValue != compress { keep(tail: tail, attachments, compress: newValue) } }
  }

  private mutating func keep(tail: ArraySlice<UInt8>, _ attachments: [[UInt8]], compress: Bool) {
    let isPlain = tail.isEmpty && attachments.isEmpty && compress
    rest = isPlain ? nil : Rest(tail: tail, attachments: attachments, compress: compress)
  }

  /// It is its event and its `head`, and may be compressed.
  var isPlain: Bool { rest == nil }

  var attachmentCount: Int { rest?.attachments.count ?? 0 }

  /// Bytes of the largest attachment; 0 where there is none.
  var largestAttachment: Int {
    guard let rest else { return 0 }
    return rest.attachments.reduce(0) { max($0, $1.count) }
  }

  /// Keeps only its event's name and how it would be written.
  mutating func dropContent() {
    head = []
    if rest != nil { keep(tail: [], [], compress: compress) }
  }

  /// Bytes of the body.
  var bodyCount: Int { head.count + (rest?.tail.count ?? 0) }

  /// What it costs in memory and counts in queues.
  public var byteCount: Int {
    guard let rest else { return head.count + event.utf8.count }
    return rest.attachments.reduce(bodyCount + event.utf8.count) { $0 + $1.count }
  }
}

/// A message that undoes an entering one.
struct PreparedLeave: Equatable, Sendable {
  var message: PreparedMessage
  /// The server is asked for an acknowledgement, which concerns no program.
  var wantsAck: Bool
}
