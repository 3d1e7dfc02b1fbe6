import GatewayCore

/// The event that `send` or `request` hands to the daemon, with the options that both take.
struct OutgoingEvent {
  private let context: Context
  private let event: String
  private let delivery: DeliveryLevel
  private let ttl: Duration?
  private let retries: Int?
  private let ackTimeout: Duration?
  /// A raw JSON object.
  private let kwargs: [UInt8]?
  private let inputs = InputFiles()

  init(_ context: Context) throws(Failure) {
    self.context = context
    let arguments = context.arguments
    event = arguments.operands.count > 1 ? arguments.operands[1] : ""
    delivery = try arguments.choice(.delivery, of: DeliveryLevel.self) ?? .accepted
    ttl = try arguments.duration(.ttl)
    retries = try arguments.count(.retries, in: 0...Retry.limit)
    ackTimeout = try arguments.duration(.ackTimeout)
    kwargs = try arguments.value(.kwargs).map { [inputs] (word) throws(Failure) in
      try PayloadArguments.object(word, read: inputs.read)
    }
  }

  /// The arguments that the command line gives, as a raw JSON array.
  func arrayFromWords() throws(Failure) -> [UInt8] {
    let arguments = context.arguments
    return try PayloadArguments.array(
      of: Array(arguments.operands.dropFirst(2)), asText: arguments.has(.raw), texts: arguments.values(.text),
      binaries: arguments.values(.binary), read: inputs.read)
  }

  /// Sends one array of arguments. Where the daemon waits for the server it is told for how long, so that its precise
  /// error comes before our own. `progress` gets each part that is told before the result.
  func call(
    _ method: String, _ payload: [UInt8], progress: ([UInt8]) throws(Failure) -> Void = { _ in }
  ) throws(Failure) -> [UInt8] {
    let deadline = context.deadline
    let waits = method == "request" || delivery != .accepted
    try context.client.connect(until: deadline)
    let params = Client.object { writer in
      context.target.write(into: &writer)
      writer.key("event")
      writer.string(event)
      writer.key("args")
      writer.raw(payload)
      if let kwargs {
        writer.key("kwargs")
        writer.raw(kwargs)
      }
      writeOptions(into: &writer, isRequest: method == "request")
      guard waits, let remaining = deadline.remaining else { return }
      writer.key("timeout")
      writer.integer(max(1, remaining.milliseconds))
    }
    let end = waits ? deadline.extended(by: Client.grace) : deadline
    // Of many lines none is made of the files.
    let inputs = context.arguments.has(.lines) ? nil : inputs
    return try context.client.call(method, params, from: inputs, until: end, progress: progress)
  }

  private func writeOptions(into writer: inout JSONWriter, isRequest: Bool) {
    if !isRequest {
      writer.key("delivery")
      writer.string(delivery.rawValue)
    }
    if let ttl {
      writer.key("ttl")
      writer.integer(ttl.milliseconds)
    }
    if let retries {
      writer.key("retries")
      writer.integer(Int64(retries))
    }
    if let ackTimeout {
      writer.key("ack_timeout")
      writer.integer(ackTimeout.milliseconds)
    }
    if let coalesce = context.arguments.value(.coalesce) {
      writer.key("coalesce")
      writer.string(coalesce)
    }
    if context.arguments.has(.noQueue) {
      writer.key("no_queue")
      writer.bool(true)
    }
    if context.arguments.has(.noCompress) {
      writer.key("compress")
      writer.bool(false)
    }
    if let key = context.arguments.value(.key) {
      writer.key("key")
      writer.string(key)
    }
  }
}

/// What the daemon answers to a `--key` that it has seen before: what became of the first send with it.
struct DuplicateSend: Equatable {
  let id: String
  /// As `send` names it.
  let state: String

  /// Nil: this is the first send with its key, or it has none.
  init?(_ answer: RawJSONObject) {
    guard answer["duplicate"] == Array("true".utf8) else { return nil }
    id = answer.string("id") ?? "?"
    state = answer.string("state") ?? "unknown"
  }

  /// Why the first send is no success; nil: it is, or still may become one.
  var failure: Failure? {
    let (code, meaning): (ExitCode, String)
    switch state {
    case "lost": (code, meaning) = (.dataLost, "was not acknowledged: whether the server has it is unknown")
    case "expired": (code, meaning) = (.timedOut, "waited too long and was given up")
    case "refused": (code, meaning) = (.upstreamRefused, "was refused")
    case "cancelled", "dropped": (code, meaning) = (.refusedByDaemon, "was \(state)")
    default: return nil
    }
    return Failure(
      code, "the send with this key, \(id), \(meaning); send it with another key if it is to be sent again")
  }

  /// A request has no answer the second time: the daemon does not keep what servers answer.
  var failureOfRequest: Failure {
    failure
      ?? Failure(
        .refusedByDaemon,
        "this key was used before, and answers are not kept: request \(id) is '\(state)'; use another key to ask again")
  }
}
