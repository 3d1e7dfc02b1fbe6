/// One durable send, as it is kept on disk. One that ended well keeps what `outbox.list` shows, without its arguments.
public struct OutboxEntry: Equatable, Sendable {
  /// Orders all sends of the daemon by their acceptance, over restarts. Unique.
  public var number: UInt64
  /// The id by which local programs know it. Globally unique.
  public var id: String
  /// The uid of the program that sent it.
  public var owner: UInt32
  /// The groups that this program had, the primary one among them: access rules ask for them when it is sent.
  public var groups: [UInt32]
  public var target: OutboxTarget
  /// Ready to be written; without arguments once the entry was sent.
  public var message: PreparedMessage
  /// The level that the caller asked for.
  public var delivery: DeliveryLevel
  /// Writes after the first one while the server does not acknowledge; nil asks for no acknowledgement.
  public var retries: Int?
  /// How long one write waits for its acknowledgement, in milliseconds.
  public var ackTimeout: Int64?
  public var coalesce: String?
  /// The caller's idempotency key, and what tells equal contents under it.
  public var key: String?
  public var fingerprint: UInt64
  /// Milliseconds since 1970.
  public var created: Int64
  /// Absolute, in milliseconds since 1970; nil never expires.
  public var expires: Int64?
  /// How often it was written, as far as the disk knows: the one before a crash may be missing.
  public var attempts: Int
  public var state = OutboxState.queued
  /// Why it is in this state, in one or two words; nil where there is nothing to say. Of one that is queued only
  /// `suspected`: all else may be another reason with the next connection.
  public var reason: String?
  /// When it was finished, in milliseconds since 1970.
  public var ended: Int64?
  /// What the server acknowledged with: comma-separated JSON text, at most `resultLimit` bytes.
  public var result: [UInt8]?

  /// The reason of what waits, or ended, because links broke while it was under way.
  static let suspected = "suspected"

  /// The reason of what gave way to a newer one with the same `coalesce`.
  static let coalesced = "coalesced"

  /// A longer acknowledgement is not kept.
  static let resultLimit = 16 << 10

  /// In whose name it is sent.
  var sender: AccessIdentity { AccessIdentity(uid: owner, groups: groups) }

  /// The same with all its instants so many milliseconds later.
  public func moved(by step: Int64) -> OutboxEntry {
    var entry = self
    entry.move(by: step)
    return entry
  }

  /// Makes all instants so many milliseconds later.
  public mutating func move(by step: Int64) {
    created &+= step
    expires = expires.map { $0 &+ step }
    ended = ended.map { $0 &+ step }
  }

  /// What it counts in the limits of the outbox, in bytes: its message, the answer, and what is stored beside them.
  public var cost: Int { Self.cost(of: message, to: target) + (result?.count ?? 0) }

  /// What a send would count, to a target whose options stand beside it.
  static func cost(of message: PreparedMessage, to target: OutboxTarget) -> Int {
    message.byteCount + target.byteCount + overhead
  }

  /// Bytes that an entry counts beyond its message.
  static let overhead = 512
}

extension OutboxEntry {
  public init(
    number: UInt64, id: String, owner: UInt32, target: OutboxTarget, message: PreparedMessage,
    delivery: DeliveryLevel, fingerprint: UInt64, created: Int64, expires: Int64?, groups: [UInt32] = [],
    retries: Int? = nil, ackTimeout: Int64? = nil, coalesce: String? = nil, key: String? = nil, attempts: Int = 0
  ) {
    self.init(
      number: number, id: id, owner: owner, groups: groups, target: target, message: message, delivery: delivery,
      retries: retries, ackTimeout: ackTimeout, coalesce: coalesce, key: key, fingerprint: fingerprint,
      created: created, expires: expires, attempts: attempts)
  }
}

extension OutboxEntry {
  /// Whether a finished entry keeps its message, so that it can be sent again: it never arrived for certain, and no
  /// newer one has taken its place.
  var isRepeatable: Bool {
    switch state {
    case .dropped where reason == Self.coalesced: false
    // What stayed because its key counts has no message any more; all others have one, if only its kind's mark.
    case .expired, .cancelled, .refused, .dropped, .lost: message.bodyCount > 0
    case .queued, .sent, .acked: false
    }
  }
}
