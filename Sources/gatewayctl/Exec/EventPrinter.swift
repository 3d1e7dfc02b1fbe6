/// Prints events, states and gaps as the options of `subscribe` and `history` say.
struct EventPrinter {
  private let context: Context
  private let format: EventFormat?
  private let layout: JSONLayout?
  private let onlyArguments: Bool
  private let showsTime: Bool

  /// The options that it reads.
  static let options: [OptionSpecification] = [
    .init(.argsOnly, "print only the array of arguments"),
    .init(
      .format, value: "FORMAT",
      "print this text for each event: %e its name, %j its arguments as a JSON array, %a the first argument (a string as "
        + "text), %k its keyword arguments, %J the whole line, %s seq, %E epoch, %t the time as in ISO 8601, %U in seconds "
        + "since 1970, %u URL, %% a percent sign; \\n \\t \\r \\e \\\\ as in C"),
    .init(.pretty, "print JSON on several lines, on a terminal in colours"),
    .init(.time, "print the time of day in front of each event"),
  ]

  init(_ context: Context) throws(Failure) {
    let arguments = context.arguments
    try arguments.refuse(.format, with: .argsOnly)
    try arguments.refuse(.format, with: .pretty)
    try arguments.refuse(.json, with: .pretty)
    for option in [OptionName.format, .pretty, .time] { try arguments.refuse(.exec, with: option) }
    self.context = context
    format = try arguments.value(.format).map { (text) throws(Failure) in try EventFormat(text) }
    layout =
      arguments.has(.pretty)
      ? JSONLayout(palette: context.settings.palette, isEscaped: context.settings.isShownOnTerminal) : nil
    onlyArguments = arguments.has(.argsOnly)
    showsTime = arguments.has(.time)
  }

  func print(_ event: ReceivedEvent) throws(Failure) {
    printTime(Int64(event.time))
    guard let format else { return try print(json: onlyArguments ? event.args : event.line) }
    let text = format.text(event, of: context.target) {
      context.settings.isShownOnTerminal ? TextWidth.escaped($0) : $0
    }
    try context.output.line(Array(text.utf8))
  }

  func print(state: [UInt8]) throws(Failure) {
    printTime(Clock.wallMilliseconds)
    try print(json: state)
  }

  func print(gap: ReceivedGap) throws(Failure) {
    printTime(Clock.wallMilliseconds)
    try print(json: gap.line)
  }

  private func printTime(_ milliseconds: Int64?) {
    guard showsTime, let milliseconds else { return }
    context.output.text(context.settings.palette.paint(Clock.timeOfDay(milliseconds), .faint) + " ")
  }

  private func print(json: [UInt8]) throws(Failure) {
    guard let layout else { return try context.printJSON(json) }
    try context.output.line(Array(layout.text(json).utf8))
  }
}
