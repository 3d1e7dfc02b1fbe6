/// What a command works with: its arguments and settings, the daemon, and the two ways out.
struct Context {
  let arguments: Arguments
  let settings: Settings
  let client: Client
  let output: Output
  let diagnostics: Diagnostics
  /// The upstream that the words name, with what the options say of it.
  let target: Target

  init(_ arguments: Arguments, of command: CommandSpecification, environment: Environment) throws(Failure) {
    self.arguments = arguments
    settings = try Settings(arguments, of: command, environment: environment)
    diagnostics = Diagnostics(verbosity: settings.verbosity)
    output = Output()
    target = try command.target(arguments)
    client = Client(
      path: settings.socketPath, start: settings.socketStart, diagnostics: diagnostics, isWatched: settings.isWatched)
  }

  /// Counted from now.
  var deadline: Deadline { .after(settings.timeout) }

  /// One raw JSON text as a line of data; on a terminal made safe to show.
  func printJSON(_ text: [UInt8]) throws(Failure) {
    guard settings.isShownOnTerminal else { return try output.line(text) }
    try output.line(Array(TextWidth.escaped(String(decoding: text, as: UTF8.self)).utf8))
  }

  /// The confirmation of something that was done: JSON without a terminal, a sentence on a terminal, neither with
  /// `--quiet`.
  func confirm(_ result: [UInt8], _ sentence: @autoclosure () -> String) throws(Failure) {
    if settings.isReadable {
      if settings.verbosity != .quiet { output.text(TextWidth.escaped(sentence()) + "\n") }
    } else if settings.json || settings.verbosity != .quiet {
      try printJSON(result)
    }
  }

  /// Calls the method of the command's own name for its upstream, and says in which state the connection is now.
  func changeState() throws(Failure) -> ExitCode {
    let result = try client.call(arguments.command.rawValue, until: deadline, target.write)
    try confirm(result, "\(target.shown) is \(RawJSONObject(result)?.string("state") ?? "?")")
    return .done
  }
}
