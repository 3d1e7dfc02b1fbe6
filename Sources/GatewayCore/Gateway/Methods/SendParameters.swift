/// Parameters of `send` and `request`. Many, and on the path of most calls: passed along, never copied.
struct SendParameters: Sendable {
  let target: CallTarget
  let event: String
  /// Raw JSON array text; `[]` when absent.
  let args: [UInt8]
  /// Raw JSON object text; nil when absent.
  let kwargs: [UInt8]?
  let delivery: DeliveryLevel
  let ttl: Duration?
  let timeout: Duration?
  let noQueue: Bool
  let volatile: Bool
  let compress: Bool
  let key: String?
  /// Takes the place of a queued send with the same value.
  let coalesce: String?
  /// How often it is written again without an acknowledgement; not with `volatile`, `noQueue` or `delivery: sent`.
  let retries: Int?
  /// How long one write waits for its acknowledgement.
  let ackTimeout: Duration?
  /// No key in `args` begins like `$…bin`. Not known when false.
  let argsArePlain: Bool
  /// What stands for `args` in a call that brings a piece of them.
  let part: MessagePart?

  init(
    target: CallTarget, event: String, args: [UInt8], kwargs: [UInt8]? = nil, delivery: DeliveryLevel,
    ttl: Duration? = nil, timeout: Duration? = nil, noQueue: Bool = false, volatile: Bool = false,
    compress: Bool = true, key: String? = nil, coalesce: String? = nil, retries: Int? = nil,
    ackTimeout: Duration? = nil, argsArePlain: Bool = false, part: MessagePart? = nil
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
    self.part = part
  }

  /// How long a call waits that does not say it.
  static let usualTimeout: Duration = .seconds(10)

  /// From this length on, in bytes, what came in parts leaves uncompressed: compressing is done in one go.
  static let compressionLimit = 1 << 20

  /// The same call with what came in parts.
  func with(_ message: MessageAssembly.Message) -> SendParameters {
    SendParameters(
      target: target, event: event, args: message.args, kwargs: kwargs, delivery: delivery, ttl: ttl, timeout: timeout,
      noQueue: noQueue, volatile: volatile, compress: compress && message.args.count < Self.compressionLimit, key: key,
      coalesce: coalesce, retries: retries, ackTimeout: ackTimeout, argsArePlain: message.isPlain)
  }

  /// Tells equal contents from different ones, however an upstream is to be told them.
  var fingerprint: UInt64 { Fingerprint.of([Array(event.utf8), args, kwargs ?? []]) }

  /// What says everything about an event, but when the call is answered.
  static let ofEvent: [LocalParameter] = [
    .required(.event, .eventName, "The event's name."),
    .optional(.args, .array, "The event's arguments, carried verbatim; none unless given."),
    .optional(.kwargs, .object, "Its keyword arguments, carried verbatim, where the upstream has such."),
    .optional(
      .part, .part,
      "A piece of the text of `args`, in place of them: for what is longer than a line. Only the last one has an `id`."),
    .optional(.ttl, .duration(default: nil), "How long the event may wait to be written, in milliseconds."),
    .optional(.noQueue, .boolean, "Fail at once rather than wait for the connection."),
    .optional(.volatile, .boolean, "Drop the event rather than keep it when it cannot be written at once."),
    .optional(
      .compress, .boolean,
      "With false the event leaves uncompressed; otherwise large ones are compressed where the server agreed to it."),
    .optional(
      .key, .string(1...256),
      "The same content with the same key is sent once in \(Limits.keyHours) hours; other content with it is a Conflict."
    ),
    .optional(
      .coalesce, .string(1...256), "Takes the place of a send with the same value that still waits in the queue."),
    .optional(
      .retries, .integer(0...Retry.limit),
      "How often to write the event again when the server does not acknowledge it; once only unless given."),
    .optional(
      .ackTimeout, .duration(default: nil),
      "How long to wait for the acknowledgement of one write, in milliseconds; 3000 with `retries` unless given."),
  ]

  init(
    _ params: borrowing ParameterValues, _ line: RawSpan, _ delivery: DeliveryLevel
  ) throws(LocalError) {
    self.init(
      target: try params.target(line), event: try params.required(.event, params.string(.event, line)),
      args: try params.raw(.args, line) ?? RespondCall.noArguments, kwargs: try params.raw(.kwargs, line),
      delivery: delivery,
      ttl: try params.duration(.ttl, line), timeout: try params.duration(.timeout, line),
      noQueue: try params.boolean(.noQueue, line) ?? false, volatile: try params.boolean(.volatile, line) ?? false,
      compress: try params.boolean(.compress, line) ?? true, key: try params.string(.key, line),
      coalesce: try params.string(.coalesce, line), retries: try params.integer(.retries, line),
      ackTimeout: try params.duration(.ackTimeout, line), argsArePlain: params.argsArePlain,
      part: try params.part(line))
    if part != nil, params.range(.args) != nil {
      throw .invalid(ParameterName.part.text, "The param \"part\" stands for \"args\": leave one of them out.")
    }
    try checkRetries()
  }

  /// Refuses what would contradict itself.
  private func checkRetries() throws(LocalError) {
    guard retries != nil else { return }
    if volatile { throw .invalid("retries", "The param \"retries\" keeps the event, \"volatile\" drops it.") }
    if noQueue { throw .invalid("retries", "The param \"retries\" needs the queue: leave \"no_queue\" out.") }
    guard delivery != .sent else {
      throw .invalid(
        "retries", "The param \"retries\" does not go with the delivery \"sent\", which waits for no acknowledgement.")
    }
  }
}

extension SendParameters: Equatable {
  /// What is known of the arguments is no part of the call.
  static func == (a: SendParameters, b: SendParameters) -> Bool {
    a.target == b.target && a.event == b.event && a.args == b.args && a.kwargs == b.kwargs && a.delivery == b.delivery
      && a.ttl == b.ttl && a.timeout == b.timeout && a.noQueue == b.noQueue && a.volatile == b.volatile
      && a.compress == b.compress && a.key == b.key && a.coalesce == b.coalesce && a.retries == b.retries
      && a.ackTimeout == b.ackTimeout && a.part == b.part
  }
}
