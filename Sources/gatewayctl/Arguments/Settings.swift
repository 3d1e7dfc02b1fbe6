/// What every command needs to know of the options and the environment.
struct Settings: Sendable {
  var socketPath: String
  /// How a daemon is started that would listen there, as a clause.
  var socketStart: String
  /// Write for a person rather than JSON lines.
  var isReadable: Bool
  /// Standard output is a terminal: what others wrote has to be made safe to show.
  var isShownOnTerminal: Bool
  /// Standard error is a terminal: a person sees what is said there at once.
  var isWatched: Bool
  var palette: Palette
  /// Columns that tables and sentences may fill; nil where no terminal shows them.
  var columns: Int?
  /// As given by `--timeout`, or else the command's own; nil means no limit.
  var timeout: Duration?
  /// Whether `--timeout` was given.
  var timeoutWasGiven: Bool
  var json: Bool
  var verbosity: Diagnostics.Verbosity

  /// - Parameter command: what the command of `arguments` is.
  init(_ arguments: Arguments, of command: CommandSpecification, environment: Environment) throws(Failure) {
    guard !(arguments.has(.quiet) && arguments.has(.verbose)) else {
      throw Failure(.usage, "--quiet and --verbose contradict each other; choose one")
    }
    json = arguments.has(.json)
    verbosity = arguments.has(.quiet) ? .quiet : arguments.has(.verbose) ? .verbose : .normal
    isReadable = environment.outputIsTerminal && !json
    isShownOnTerminal = environment.outputIsTerminal
    isWatched = environment.errorsAreTerminal
    columns = isReadable ? environment.outputColumns.map { max($0, TextWidth.least) } : nil
    palette = Palette(environment: environment, refused: arguments.has(.noColor))
    let option = arguments.value(.socket)
    socketPath = command.asksDaemon ? try SocketPath.choose(option: option, environment: environment) : ""
    socketStart = SocketPath.start(socketPath, option: option, environment: environment)
    timeoutWasGiven = arguments.has(.timeout)
    timeout = try arguments.duration(.timeout) ?? command.defaultTimeout
  }
}

/// Where the daemon listens.
enum SocketPath {
  /// What `sun_path` holds beside its final NUL.
  static let longest = 107

  /// The option, then `$GATEWAYD_SOCKET`, then the user's own daemon if there is one, then the machine's.
  static func choose(option: String?, environment: Environment) throws(Failure) -> String {
    let path = option ?? environment["GATEWAYD_SOCKET"] ?? ofUser(environment) ?? "/run/gatewayd.sock"
    guard !path.isEmpty else { throw Failure(.usage, "the socket path is empty; write --socket PATH") }
    guard path.utf8.count <= longest else {
      throw Failure(.usage, "the socket path is longer than \(longest) bytes; use a shorter one or a symbolic link")
    }
    return path
  }

  /// How a daemon is started that would listen at the path that was chosen: a user's own, the machine's, or either
  /// where nothing says which one is meant.
  static func start(_ path: String, option: String?, environment: Environment) -> String {
    let (machine, user) = ("'systemctl start gatewayd.socket'", "'systemctl --user start gatewayd.socket'")
    let isNamed = option != nil || environment["GATEWAYD_SOCKET"] != nil
    let isOfUser = path.hasPrefix("/run/user/") || path == environment.runtimeDirectory.map { "\($0)/gatewayd.sock" }
    if isOfUser { return "start it with \(user)" }
    guard !isNamed, environment.user != 0 else { return "start it with \(machine)" }
    return "start your own with \(user), or have the machine's started with \(machine)"
  }

  private static func ofUser(_ environment: Environment) -> String? {
    guard let directory = environment.runtimeDirectory else { return nil }
    let path = "\(directory)/gatewayd.sock"
    return environment.fileExists(path) ? path : nil
  }
}
