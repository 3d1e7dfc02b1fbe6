/// Parameters of `send` and `request`. An object, because most calls are sends and their parameters are many: handing them
/// on must not mean to copy them.
public final class SendCall: Sendable {
  public let target: CallTarget
  public let event: String
  /// Raw JSON array text; `[]` when absent.
  public let args: [UInt8]
  /// Raw JSON object text; nil when absent.
  public let kwargs: [UInt8]?
  public let delivery: DeliveryLevel
  public let ttl: Duration?
  public let timeout: Duration?
  public let noQueue: Bool
  public let volatile: Bool
  public let compress: Bool
  public let key: String?
  /// Takes the place of a queued send with the same value.
  public let coalesce: String?
  /// How often it is written again without an acknowledgement; not with `volatile`, `noQueue` or `delivery: sent`.
  public let retries: Int?
  /// How long one write waits for its acknowledgement.
  public let ackTimeout: Duration?
  /// No string in `args` begins like a `$…bin` key. Not known when false.
  let argsArePlain: Bool

  public init(
    target: CallTarget, event: String, args: [UInt8], kwargs: [UInt8]? = nil, delivery: DeliveryLevel,
    ttl: Duration? = nil, timeout: Duration? = nil, noQueue: Bool = false, volatile: Bool = false,
    compress: Bool = true, key: String? = nil, coalesce: String? = nil, retries: Int? = nil,
    ackTimeout: Duration? = nil, argsArePlain: Bool = false
  ) {
    self.target = target
    self.event = event
    self.args = args
    self.kwargs = kwargs
    self.delivery = delivery
    self.ttl = ttl
    self.timeout = timeout
    self.noQueue = noQueue
    self.volatile = volatile
    self.compress = compress
    self.key = key
    self.coalesce = coalesce
    self.retries = retries
    self.ackTimeout = ackTimeout
    self.argsArePlain = argsArePlain
  }
}

extension SendCall: Equatable {
  /// What is known of the arguments is no part of the call.
  public static func == (a: SendCall, b: SendCall) -> Bool {
    a.target == b.target && a.event == b.event && a.args == b.args && a.kwargs == b.kwargs && a.delivery == b.delivery
      && a.ttl == b.ttl && a.timeout == b.timeout && a.noQueue == b.noQueue && a.volatile == b.volatile
      && a.compress == b.compress && a.key == b.key && a.coalesce == b.coalesce && a.retries == b.retries
      && a.ackTimeout == b.ackTimeout
  }
}
