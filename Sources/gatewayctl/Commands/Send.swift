import GatewayCore

/// `send`: hands over one event, or one per line of standard input, and returns as soon as the daemon says what
/// `--delivery` asks for.
struct SendCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .send, operands: "URL EVENT [ARG…]", operandCount: 2...(.max),
    summary: "send an event to a server",
    details: [
      "Hands one event to the daemon and returns as soon as the daemon has it. While the server is not reachable the "
        + "daemon keeps the event and sends it later. Prints the send's id and state, with -q nothing.",
      CommandSpecification.urlExplained, CommandSpecification.argExplained,
    ],
    options: OptionSpecification.ofURL + [
      .init(
        .delivery, value: "LEVEL", choices: DeliveryLevel.allCases.map(\.rawValue),
        "when to return: accepted (the daemon has it; the default), durable (it is on the disk), sent (written to the server), acked (the server "
          + "acknowledged it)"),
      .ttl, .key, .noQueue, .noCompress, .retries, .ackTimeout, .coalesce, .kwargs, .text, .binary, .raw,
      .init(.lines, "read standard input and send one event per line; each line is a JSON array of arguments"),
    ],
    examples: [
      .init("Send a chat message", #"gatewayctl send https://chat.example message "hello there""#),
      .init("Send with a token", "gatewayctl send --auth @token.json https://chat.example/admin message hi"),
      .init("Send the text of a file", "gatewayctl send --text notes.txt chat note"),
      .init("Send an object", #"gatewayctl send https://chat.example move '{"x":3,"y":4}'"#),
      .init("Wait until the server has acknowledged", "gatewayctl send --delivery acked chat save @draft.json"),
      .init("Let it survive a crash", "gatewayctl send --delivery durable chat paid 4711"),
      .init("Be sure that it arrives, perhaps twice", "gatewayctl send --retries 5 chat paid 4711"),
      .init("Send many", "generate | gatewayctl send --lines chat sample"),
    ])

  private let context: Context
  private let event: OutgoingEvent
  private var outages = UpstreamOutages()

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    var command = SendCommand(context: context, event: try OutgoingEvent(context))
    if context.arguments.has(.lines) {
      try command.sendLines()
    } else {
      try command.report(try command.event.call("send", try command.event.arrayFromWords()))
    }
    return .done
  }

  private init(context: Context, event: OutgoingEvent) {
    self.context = context
    self.event = event
  }

  private mutating func report(_ result: [UInt8]) throws(Failure) {
    let members = RawJSONObject(result)
    if let failure = members.flatMap(DuplicateSend.init)?.failure { throw failure }
    if let upstream = members?["upstream"].flatMap({ RawJSONObject($0) }),
      let outage = outages.note(upstream, of: context.target), outage.isNew
    {
      context.diagnostics.notice(outage.text)
    }
    let sentence = "\(members?.string("state") ?? "sent") as \(members?.string("id") ?? "?")"
    try context.confirm(result, sentence)
    if !context.settings.isReadable { context.diagnostics.detail(sentence) }
  }

  // MARK: Lines

  /// One event per line, each answered before the next is sent, so that the first failure leaves nothing behind it.
  private mutating func sendLines() throws(Failure) {
    let arguments = context.arguments
    guard arguments.operands.count == 2, !arguments.has(.raw), !arguments.has(.text), !arguments.has(.binary),
      !arguments.has(.key)
    else {
      throw Failure(
        .usage, "with --lines every argument comes from standard input; leave out ARG, --raw, --text, --binary, --key")
    }
    var lines = try InputLines("-")
    var number = 0
    var sent = 0
    while let line = try lines.next() {
      number += 1
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { continue }
      do {
        try sendLine(line, number)
      } catch {
        throw error.ofLine(number, sent: sent)
      }
      do {
        try printReport()
      } catch {
        throw error.ofLine(number, sent: sent, isSent: true)
      }
      sent += 1
    }
    context.diagnostics.detail("\(sent) sent")
  }

  /// What the daemon has said to the line. A program that reads it, and has gone, may have to know what was sent.
  private func printReport() throws(Failure) {
    try context.output.flush()
    if context.output.isUnread { throw context.output.unread }
  }

  private mutating func sendLine(_ line: [UInt8], _ number: Int) throws(Failure) {
    let payload = try PayloadArguments.json(line, named: "it", advice: "repair it and go on from there")
    guard payload.first == UInt8(ascii: "[") else {
      throw Failure(.badInput, "it is no JSON array; write [ and ] around the arguments")
    }
    try context.client.noticeLoss()
    try report(try event.call("send", payload))
  }
}
