/// What every command needs to know of the options and the environment.
struct Settings: Sendable {
  var socketPath: String
  /// Write for a person rather than JSON lines.
  var isReadable: Bool
  /// Standard output is a terminal: what others wrote has to be made safe to show.
  var isShownOnTerminal: Bool
  /// Standard error is a terminal: a person sees what is said there at once.
  var isWatched: Bool
  var palette: Palette
  /// As given by `--timeout`, or else the command's own; nil means no limit.
  var timeout: Duration?
  /// Whether `--timeout` was given.
  var timeoutWasGiven: Bool
  var json: Bool
  var verbosity: Verbosity

  /// How much is said on stderr besides errors.
  enum Verbosity: Equatable, Sendable {
    case quiet, normal, verbose
  }

  init(_ arguments: Arguments, environment: Environment) throws(Failure) {
    guard !(arguments.has(.quiet) && arguments.has(.verbose)) else {
      throw Failure(.usage, "--quiet and --verbose contradict each other; choose one")
    }
    json = arguments.has(.json)
    verbosity = arguments.has(.quiet) ? .quiet : arguments.has(.verbose) ? .verbose : .normal
    isReadable = environment.outputIsTerminal && !json
    isShownOnTerminal = environment.outputIsTerminal
    isWatched = environment.errorsAreTerminal
    palette = Palette(environment: environment, refused: arguments.has(.noColor))
    socketPath =
      arguments.command.asksDaemon
      ? try SocketPath.choose(option: arguments.value(.socket), environment: environment) : ""
    timeoutWasGiven = arguments.has(.timeout)
    timeout =
      try arguments.duration(.timeout) ?? CommandTable.specification(of: arguments.command)?.defaultTimeout
  }
}
