/// Sending to an upstream.
extension MethodTable {
  static let sendMethods: [LocalMethod] = [
    LocalMethod(
      "send", "Sends an event to an upstream; what cannot be written now waits in a queue.", right: .send,
      parameters: LocalParameter.target + eventParameters + [
        .optional(
          .delivery, .choice(DeliveryLevel.allCases.map(\.rawValue)),
          "When the call is answered; `accepted` unless given."),
        .optional(.timeout, .duration(default: nil), "How long to wait for the answer, in milliseconds."),
      ],
      result: ResultSchemas.send
    ) { params, line throws(LocalError) in
      .send(try readSend(params, line, delivery(params, line) ?? .accepted))
    },
    LocalMethod(
      "request",
      "Sends an event to an upstream and waits for the server's acknowledgement; `progress` tells what comes before it.",
      right: .send,
      parameters: LocalParameter.target + eventParameters + [
        .optional(
          .timeout, .duration(default: 10_000), "How long to wait for the answer, in milliseconds; 10000 unless given.")
      ],
      result: .object([
        .always("args", .list(.any), "What the server answered, verbatim."),
        .sometimes("kwargs", .object([]), "Its keyword arguments, where the upstream has such."),
      ])
    ) { params, line throws(LocalError) in
      .request(try readSend(params, line, .acked))
    },
    LocalMethod(
      "respond", "Answers an event whose server wants an acknowledgement; the first answer wins.", right: .send,
      parameters: [
        .required(.ack, .name, "The `ack` token of the event."),
        .optional(.args, .array, "The arguments of the answer; none unless given."),
        .optional(.kwargs, .object, "Its keyword arguments, where the upstream has such."),
        .optional(.error, .eventName, "The answer is an error of this name, where the upstream has such."),
      ]
    ) { params, line throws(LocalError) in
      .respond(
        RespondCall(
          ack: try params.required(.ack, params.string(.ack, line)), args: try params.raw(.args, line) ?? noArguments,
          kwargs: try params.raw(.kwargs, line), error: try params.string(.error, line)))
    },
  ]

  private static let noArguments = Array("[]".utf8)

  private static let eventParameters: [LocalParameter] = [
    .required(.event, .eventName, "The event's name."),
    .optional(.args, .array, "The event's arguments, carried verbatim; none unless given."),
    .optional(.kwargs, .object, "Its keyword arguments, carried verbatim, where the upstream has such."),
    .optional(.ttl, .duration(default: nil), "How long the event may wait to be written, in milliseconds."),
    .optional(.noQueue, .boolean, "Fail at once rather than wait for the connection."),
    .optional(.volatile, .boolean, "Drop the event rather than keep it when it cannot be written at once."),
    .optional(
      .compress, .boolean,
      "With false the event leaves uncompressed; otherwise large ones are compressed where the server agreed to it."),
    .optional(
      .key, .string(1...256),
      "The same content with the same key is sent once in 24 hours; other content with it is a Conflict."),
    .optional(
      .coalesce, .string(1...256), "Takes the place of a send with the same value that still waits in the queue."),
    .optional(
      .retries, .integer(0...Retry.limit),
      "How often to write the event again when the server does not acknowledge it; once only unless given."),
    .optional(
      .ackTimeout, .duration(default: nil),
      "How long to wait for the acknowledgement of one write, in milliseconds; 3000 with `retries` unless given."),
  ]

  private static let levels = DeliveryLevel.allCases
  private static let levelIndex = NameIndex(levels.map(\.rawValue))

  /// What most sends name is found without building a text.
  private static func delivery(
    _ params: borrowing ParameterValues, _ line: RawSpan
  ) throws(LocalError) -> DeliveryLevel? {
    guard let range = params.range(.delivery) else { return nil }
    guard JSONScanner.byte(line, range.lowerBound) == UInt8(ascii: "\""), let level = levelIndex.find(line, range)
    else {
      throw .wrongParameter(.delivery, of: params.method)
    }
    return levels[level]
  }

  private static func readSend(
    _ params: borrowing ParameterValues, _ line: RawSpan, _ delivery: DeliveryLevel
  ) throws(LocalError) -> SendCall {
    let call = SendCall(
      target: try params.target(line), event: try params.required(.event, params.string(.event, line)),
      args: try params.raw(.args, line) ?? noArguments, kwargs: try params.raw(.kwargs, line), delivery: delivery,
      ttl: try params.duration(.ttl, line), timeout: try params.duration(.timeout, line),
      noQueue: try params.boolean(.noQueue, line) ?? false, volatile: try params.boolean(.volatile, line) ?? false,
      compress: try params.boolean(.compress, line) ?? true, key: try params.string(.key, line),
      coalesce: try params.string(.coalesce, line), retries: try params.integer(.retries, line),
      ackTimeout: try params.duration(.ackTimeout, line), argsArePlain: params.argsArePlain)
    try checkRetries(call)
    return call
  }

  /// Refuses what would contradict itself.
  private static func checkRetries(_ call: SendCall) throws(LocalError) {
    guard call.retries != nil else { return }
    if call.volatile { throw .invalid("retries", "The param \"retries\" keeps the event, \"volatile\" drops it.") }
    if call.noQueue { throw .invalid("retries", "The param \"retries\" needs the queue: leave \"no_queue\" out.") }
    guard call.delivery != .sent else {
      throw .invalid(
        "retries", "The param \"retries\" does not go with the delivery \"sent\", which waits for no acknowledgement.")
    }
  }
}
