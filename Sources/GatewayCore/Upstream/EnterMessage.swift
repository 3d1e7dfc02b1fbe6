/// A message that enters something at a server, such as a room or a feed, or leaves it. Equal where all bytes are: what
/// programs name has one spelling already. Hashed once, as `ExactText` is.
struct EnterMessage: Hashable, Sendable {
  let event: ExactText
  /// Raw JSON array text.
  let args: [UInt8]
  /// Raw JSON object text; nil when absent.
  let kwargs: [UInt8]?
  /// Of all of it, worked out once: a message may be long, and goes through many tables.
  private let hash: Int

  init(_ event: String, args: [UInt8], kwargs: [UInt8]? = nil) {
    self.event = ExactText(event)
    self.args = args
    self.kwargs = kwargs
    var hasher = Hasher()
    hasher.combine(self.event)
    args.withUnsafeBytes { hasher.combine(bytes: $0) }
    kwargs?.withUnsafeBytes { hasher.combine(bytes: $0) }
    hash = hasher.finalize()
  }

  static func == (a: Self, b: Self) -> Bool {
    a.hash == b.hash && a.event == b.event && areEqual(a.args, b.args) && areEqual(a.kwargs, b.kwargs)
  }

  private static func areEqual(_ a: [UInt8]?, _ b: [UInt8]?) -> Bool {
    guard let a, let b else { return (a == nil) == (b == nil) }
    let (one, other) = (a.span.bytes, b.span.bytes)
    return one.isIdentical(to: other) || one.isEqual(to: other)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  /// What it costs in memory.
  var byteCount: Int { event.text.utf8.count + args.count + (kwargs?.count ?? 0) }

  /// As a kind of upstream prepares it.
  func draft(isAcknowledged: Bool) -> MessageDraft {
    MessageDraft(event: event.text, args: args, kwargs: kwargs, isAcknowledged: isAcknowledged)
  }
}

/// An `EnterMessage` as a local program asks for it: an element of `enter` or `leave`.
struct EnterRequest: Equatable, Sendable {
  var message: EnterMessage
  /// The server is asked for an acknowledgement.
  var wantsAck = false
}

/// What one subscription holds: a message that is said at every connect, and the one that undoes it.
struct HeldEnter: Equatable, Sendable {
  var enter: EnterRequest
  /// Said when the last holder of `enter` ends; nil: nothing is.
  var leave: EnterRequest?

  /// The messages in it.
  var requests: [EnterRequest] { [enter] + (leave.map { [$0] } ?? []) }
  var byteCount: Int { requests.reduce(0) { $0 + $1.message.byteCount } }

  /// Pairs each `enter` of a call with the `leave` at the same place. There are no more of these.
  static func pairs(_ enters: [EnterRequest], _ leaves: [EnterRequest?]) -> [HeldEnter] {
    enters.enumerated().map { HeldEnter(enter: $1, leave: $0 < leaves.count ? leaves[$0] : nil) }
  }

  /// Most messages of one subscription in each of the two lists, and bytes in both.
  static let countLimit = 100
  static let byteLimit = 256 << 10
}

/// What a subscription waits for an answer about, and is told of: something that a server was asked to send, or a
/// message that was said to it.
enum Wanted: Hashable, Sendable, CustomStringConvertible {
  case interest(Interest)
  case enter(EnterMessage)

  /// For people.
  var description: String {
    switch self {
    case .interest(let interest): interest.description
    case .enter(let message): "the message '\(message.event.text)'"
    }
  }
}
