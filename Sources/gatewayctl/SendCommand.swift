import GatewayCore

/// `send` and `request`: one event for a server, or one per line of standard input.
final class SendCommand {
  private let context: Context
  private let event: String
  private let delivery: DeliveryLevel
  private let ttl: Duration?
  private let retries: Int?
  private let ackTimeout: Duration?
  /// A raw JSON object.
  private let kwargs: [UInt8]?
  private var outages = UpstreamOutages()

  init(_ context: Context) throws(Failure) {
    self.context = context
    let arguments = context.arguments
    event = arguments.operands.count > 1 ? arguments.operands[1] : ""
    delivery = try arguments.choice(.delivery, of: DeliveryLevel.self) ?? .accepted
    ttl = try arguments.duration(.ttl)
    retries = try arguments.count(.retries, in: 0...Retry.limit)
    ackTimeout = try arguments.duration(.ackTimeout)
    kwargs = try arguments.value(.kwargs).map { (word) throws(Failure) in try PayloadArguments.object(word) }
  }

  /// `send`: returns as soon as the daemon says what `--delivery` asks for.
  func send() throws(Failure) -> ExitCode {
    guard context.arguments.has(.lines) else {
      try report(try call("send", try arrayFromWords(), until: context.deadline))
      return .done
    }
    try sendLines()
    return .done
  }

  /// `request`: prints the arguments of the acknowledgement, one per line; before them those of its parts, as they come.
  func request() throws(Failure) -> ExitCode {
    let answer = try call("request", try arrayFromWords(), until: context.deadline)
    let members = RawMembers(answer)
    if let earlier = members.flatMap(EarlierSend.init) { throw earlier.failureOfRequest }
    try show(members)
    return .done
  }

  private func show(_ members: RawMembers?) throws(Failure) {
    guard let members, let values = members.elements("args") else {
      throw Failure(.protocolMismatch, "the daemon's answer has no arguments; install the same version of both")
    }
    for value in values { try context.printJSON(value) }
    if let kwargs = members["kwargs"] { try context.printJSON(kwargs) }
    try context.output.flush()
  }

  // MARK: One event

  private func arrayFromWords() throws(Failure) -> [UInt8] {
    let arguments = context.arguments
    return try PayloadArguments.array(
      of: Array(arguments.operands.dropFirst(2)), asText: arguments.has(.raw), binaries: arguments.values(.binary))
  }

  /// Sends one array of arguments. Where the daemon waits for the server it is told for how long, so that its precise
  /// error comes before our own.
  private func call(_ method: String, _ payload: [UInt8], until deadline: Deadline) throws(Failure) -> [UInt8] {
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
    return try context.client.call(
      method, params, until: waits ? deadline.extended(by: Client.grace) : deadline
    ) { (part) throws(Failure) in try show(RawMembers(part)) }
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

  private func report(_ result: [UInt8]) throws(Failure) {
    let members = RawMembers(result)
    if let failure = members.flatMap(EarlierSend.init)?.failure { throw failure }
    if let upstream = members?["upstream"].flatMap({ RawMembers($0) }),
      let outage = outages.note(upstream, of: context.target.name), outage.isNew
    {
      context.notices.notice(outage.text)
    }
    let sentence = "\(members?.string("state") ?? "sent") as \(members?.string("id") ?? "?")"
    try context.confirm(result, sentence)
    if !context.settings.isReadable { context.notices.detail(sentence) }
  }

  // MARK: Lines

  /// One event per line, each answered before the next is sent, so that the first failure leaves nothing behind it.
  private func sendLines() throws(Failure) {
    let arguments = context.arguments
    guard arguments.operands.count == 2, !arguments.has(.raw), !arguments.has(.binary), !arguments.has(.key) else {
      throw Failure(
        .usage, "with --lines every argument comes from standard input; leave out ARG, --raw, --binary, --key")
    }
    var lines = InputLines()
    var number = 0
    var sent = 0
    while let line = try lines.next() {
      number += 1
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { continue }
      do {
        try sendLine(line, number)
      } catch {
        throw Failure(error.code, error.message.map { "line \(number): \($0) (\(sent) sent before it)" } ?? "")
      }
      sent += 1
      try context.output.flush()
    }
    context.notices.detail("\(sent) sent")
  }

  private func sendLine(_ line: [UInt8], _ number: Int) throws(Failure) {
    let payload = try PayloadArguments.json(line, named: "it", advice: "repair it and go on from there")
    guard payload.first == UInt8(ascii: "[") else {
      throw Failure(.badInput, "it is no JSON array; write [ and ] around the arguments")
    }
    try context.client.noticeLoss()
    try report(try call("send", payload, until: context.deadline))
  }
}
