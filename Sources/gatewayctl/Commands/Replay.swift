import GatewayCore
import Glibc

/// `replay`: sends the events of a recording again.
struct ReplayCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .replay, operands: "FILE URL", operandCount: 2...2,
    summary: "send the events of a recording again",
    details: [
      "Sends each event of FILE, which 'subscribe --record' has written or 'subscribe' has printed, to the server at URL, "
        + "with the pauses that were between them; - is standard input. Every event is answered by the daemon before the "
        + "next one goes out. The first line that is no recorded event, or that the daemon does not take, ends the "
        + "command, with its number.",
      CommandSpecification.urlExplained,
    ],
    options: OptionSpecification.ofURL + [
      .init(.speed, value: "N", "divide the pauses by N, 1 unless given; 0 leaves them out")
    ],
    examples: [
      .init("As it was", "gatewayctl replay yesterday.jsonl https://test.example"),
      .init("Ten times as fast", "gatewayctl replay --speed 10 yesterday.jsonl https://test.example"),
      .init("All at once", "gatewayctl replay --speed 0 yesterday.jsonl https://test.example"),
    ])

  private let context: Context
  private let target: Target
  private let speed: Double
  private var sent = 0
  /// The time of the first event in the recording, and when it was sent.
  private var start: (recorded: Int64, sent: MonotonicInstant)?

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let operands = context.arguments.operands
    guard !operands[0].contains(text: "://") || operands[1].contains(text: "://") else {
      let address = ShownAddress.word(operands[0])
      throw Failure(.usage, "replay: '\(address)' is the address of a server; FILE comes first, then URL")
    }
    var command = try ReplayCommand(context)
    var lines = try InputLines(operands[0])
    var number = 0
    while let line = try lines.next() {
      number += 1
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { continue }
      do {
        try command.send(line)
      } catch {
        throw error.ofLine(number, sent: command.sent)
      }
    }
    let result = Client.object { writer in
      writer.key("sent")
      writer.integer(command.sent)
    }
    try context.confirm(result, "sent \(command.sent) event\(command.sent == 1 ? "" : "s")")
    return .done
  }

  private init(_ context: Context) throws(Failure) {
    self.context = context
    target = context.target
    let word = context.arguments.value(.speed) ?? "1"
    guard let speed = Double(word), speed.isFinite, speed >= 0 else {
      throw Failure(.usage, "--speed: '\(word)' is not accepted; write a number, at least 0")
    }
    self.speed = speed
  }

  private mutating func send(_ line: [UInt8]) throws(Failure) {
    let text = try PayloadArguments.json(line, named: "it", advice: "repair it and go on from there")
    guard let recorded = RawJSONObject(text), let event = recorded.string("event"), let args = recorded["args"],
      args.first == UInt8(ascii: "["), let time = recorded.integer("time").flatMap({ Int64($0) })
    else {
      throw Failure(.badInput, "it is no recorded event; it needs event, args and time, as 'subscribe' prints them")
    }
    wait(for: time)
    try context.client.noticeLoss()
    _ = try context.client.call("send", until: context.deadline) { writer in
      target.write(into: &writer)
      writer.key("event")
      writer.string(event)
      writer.key("args")
      writer.raw(args)
      guard let kwargs = recorded["kwargs"] else { return }
      writer.key("kwargs")
      writer.raw(kwargs)
    }
    sent += 1
  }

  /// Until the event is as far behind the first one as it was, so that delays do not add up.
  private mutating func wait(for time: Int64) {
    guard speed > 0 else { return }
    guard let start else {
      self.start = (time, Clock.now)
      return
    }
    let pause = min(max(0, Double(time) - Double(start.recorded)) / speed, Double(DurationText.longest.milliseconds))
    let due = Deadline(instant: start.sent + .milliseconds(Int64(pause)))
    while !due.hasPassed { _ = poll(nil, 0, due.pollTimeout) }
  }
}
