import GatewayCore

/// What the command line asks for.
struct CommandLineOptions: Equatable {
  /// What the program is to do.
  enum Mode: Equatable {
    case run
    case checkConfiguration
    case version
    case help
  }

  var mode = Mode.run
  /// `--config`: the only configuration file; nil means the usual places.
  var configuration: String?
  /// `--socket`.
  var socket: String?
  /// `--user`: an ordinary user's own daemon.
  var user = false

  /// `--core-dumps`: a crash may leave a core dump, which holds every secret.
  var coreDumps = false

  static let usage =
    "usage: gatewayd [--config FILE] [--socket PATH] [--user] [--core-dumps] [--check-config] [--version] [--help]"

  static let help = """
    \(usage)

    Keeps one shared connection to each upstream and serves local programs over a Unix socket.

      --config FILE    read this configuration alone instead of /etc/gatewayd/gatewayd.toml and gatewayd.d/*.toml
      --socket PATH    listen here (before $GATEWAYD_SOCKET and socket.path; a socket passed by systemd wins)
      --user           an ordinary user's daemon: listen on $XDG_RUNTIME_DIR/gatewayd.sock
      --core-dumps     let a crash leave a core dump, as the system's limits say; it holds every secret
      --check-config   report every problem of the configuration and exit: 0 when it is valid, 78 when it is not
      --version        print the version and exit
      --help           print this and exit

    Signals: TERM and INT stop in order (a second one stops at once), HUP reloads the configuration.

    """

  /// Understands the arguments behind the program's name. Throws with status 64.
  static func parse(_ arguments: [String]) throws(StartFailure) -> CommandLineOptions {
    var options = CommandLineOptions()
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      try options.take(argument, &rest)
    }
    return options
  }

  private mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) throws(StartFailure) {
    guard argument.hasPrefix("-"), argument != "-" else {
      throw Self.wrong("gatewayd takes no argument but options, and \u{201C}\(argument)\u{201D} is none")
    }
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let name = parts[0]
    guard Self.names.contains(name) else { throw Self.unknown(name) }
    if Self.namesWithValue.contains(name) {
      guard let value = parts.count > 1 ? parts[1] : rest.popFirst(), !value.isEmpty else {
        throw Self.wrong("\(name) needs a value")
      }
      if name == "--config" { configuration = value } else { socket = value }
      return
    }
    guard parts.count == 1 else { throw Self.wrong("\(name) takes no value") }
    switch name {
    case "--user": user = true
    case "--core-dumps": coreDumps = true
    case "--check-config": mode = mode == .run ? .checkConfiguration : mode
    case "--version", "-V": mode = .version
    default: mode = .help
    }
  }

  private static let namesWithValue = ["--config", "--socket"]
  private static let names =
    namesWithValue + ["--user", "--core-dumps", "--check-config", "--version", "-V", "--help", "-h"]

  private static func unknown(_ name: String) -> StartFailure {
    guard let near = NearestName.of(name, among: names) else { return wrong("unknown option \(name)") }
    return wrong("unknown option \(name): did you mean \(near)?")
  }

  private static func wrong(_ sentence: String) -> StartFailure {
    StartFailure(.usage, sentence, usage: usage)
  }
}
