/// The options of the command line. The raw value is the long name without its dashes.
enum OptionName: String, CaseIterable, Sendable {
  // Every command's.
  case socket, json, timeout, quiet, verbose
  case noColor = "no-color"
  case help
  // Those of some.
  case namespace, delivery, ttl, key
  case noQueue = "no-queue"
  case noCompress = "no-compress"
  case retries, upstream
  case ackTimeout = "ack-timeout"
  case coalesce, kwargs, error
  case raw, binary, lines
  case count
  case `for`, since, last, state
  case argsOnly = "args-only"
  case exec
  case onGap = "on-gap"
  case noReconnect = "no-reconnect"
  case args, parallel
  case payloads
}

/// One option as a command offers it.
struct OptionSpecification: Equatable, Sendable {
  var name: OptionName
  /// The one-letter form, without its dash.
  var short: Character?
  /// What stands for the option's value in the help text; nil for an option without a value.
  var value: String?
  /// One or two sentences in lower case, without a final full stop.
  var summary: String
  /// What the value may be, where that is known.
  var choices: [String]

  init(
    _ name: OptionName, short: Character? = nil, value: String? = nil, choices: [String] = [], _ summary: String
  ) {
    self.name = name
    self.short = short
    self.value = value
    self.choices = choices
    self.summary = summary
  }

  /// As somebody types it: `-n, --count COUNT`.
  var synopsis: String {
    (short.map { "-\($0), " } ?? "") + "--\(name.rawValue)" + (value.map { " \($0)" } ?? "")
  }

  /// The options that every command takes.
  static let common: [OptionSpecification] = [
    .init(
      .socket, value: "PATH",
      "the daemon's socket; otherwise $GATEWAYD_SOCKET, $XDG_RUNTIME_DIR/gatewayd.sock if it exists, /run/gatewayd.sock"
    ),
    .init(.json, "print JSON lines even on a terminal"),
    .init(
      .timeout, value: "DUR",
      "give up after so long, reaching the daemon included; written 500ms, 10s, 5m or 2h"),
    .init(.quiet, short: "q", "say nothing but errors and data"),
    .init(.verbose, short: "v", "say on stderr what is being done"),
    .init(.noColor, "no colour, as with NO_COLOR in the environment"),
    .init(.help, short: "h", "explain the command"),
  ]
}
