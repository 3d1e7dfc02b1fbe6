import GatewayCore

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
  case raw, text, binary, lines
  case count
  case `for`, since, last, state
  case enter, leave
  case argsOnly = "args-only"
  case pretty, time, record
  case exec
  case speed
  case onGap = "on-gap"
  case noReconnect = "no-reconnect"
  case args, parallel
  case payloads
  case check
  case maxDown = "max-down"
  case format
  case asUser = "as"
  case auth, path, header, query, cacert, insecure, connection
  case right
  case table
  case noError = "no-error"
}

/// `--on-gap`.
enum GapPolicy: String, CaseIterable, Sendable {
  case warn, fail
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

  /// As a user types it: `-n, --count COUNT`.
  var synopsis: String {
    (short.map { "-\($0), " } ?? "") + "--\(name.rawValue)" + (value.map { " \($0)" } ?? "")
  }

  /// The options that every command takes.
  static let common: [OptionSpecification] = [
    .init(
      .socket, value: "PATH",
      "the daemon's socket; otherwise $GATEWAYD_SOCKET, $XDG_RUNTIME_DIR/gatewayd.sock (without the variable /run/user/UID) if it exists, /run/gatewayd.sock"
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

/// Options that several commands take.
extension OptionSpecification {
  static let namespace = OptionSpecification(
    .namespace, value: "NS", "the Socket.IO namespace, where the URL has no path")
  /// What goes with a URL: `--namespace`, and what the daemon's configuration says of other upstreams.
  static let ofURL: [OptionSpecification] = [
    .namespace,
    .init(
      .auth, value: "OBJECT",
      "credentials for the server, a JSON object; @FILE keeps them from who lists processes. This and the next five go with URLs that the configuration does not have"
    ),
    .init(.path, value: "PATH", "the HTTP path of the Socket.IO server, /socket.io/ unless given"),
    .init(.header, value: "'NAME: VALUE'", "add a header to every HTTP request; may be repeated"),
    .init(.query, value: "NAME=VALUE", "add a parameter to the query of every HTTP request; may be repeated"),
    .init(.cacert, value: "FILE", "trust the certificates in this PEM file instead of the system's"),
    .init(.insecure, "accept any certificate of the server"),
  ]
  /// What looks at a connection takes these.
  static let ofLook: [OptionSpecification] =
    ofURL + [
      .init(
        .connection, value: "ID",
        "look at the connection with this id, as 'status --json' has it, with the options that it was made with; URL is "
          + "what it is called")
    ]
  static let raw = OptionSpecification(
    .raw, "take every ARG as text, never as JSON; - reads standard input as one text")
  static let text = OptionSpecification(
    .text, value: "FILE", "append the text of FILE, in UTF-8, as one argument; may be repeated")
  static let binary = OptionSpecification(
    .binary, value: "FILE", "append the bytes of FILE as one binary argument; may be repeated")
  static let key = OptionSpecification(
    .key, value: "K",
    "a name of your own for this send: repeated within \(Limits.keyHours) hours, it is not sent twice")
  static let noQueue = OptionSpecification(
    .noQueue, "fail at once with exit 69 unless the upstream is connected")
  static let noCompress = OptionSpecification(
    .noCompress, "leave the event uncompressed, as for what is compressed or random already")
  static let ttl = OptionSpecification(
    .ttl, value: "DUR", "give up sending after so long; 1h unless the daemon is configured otherwise")
  static let retries = OptionSpecification(
    .retries, value: "N", "write it up to N times more until the server acknowledges it, also over reconnects")
  static let ackTimeout = OptionSpecification(
    .ackTimeout, value: "DUR", "how long each write waits for its acknowledgement; 3s with --retries unless given")
  static let coalesce = OptionSpecification(
    .coalesce, value: "K", "take the place of an earlier send with the same K that still waits in the queue")
  static let kwargs = OptionSpecification(
    .kwargs, value: "OBJECT", "keyword arguments, a JSON object, for upstreams that have such; @FILE and - as for ARG")
  static let onGap = OptionSpecification(
    .onGap, value: "warn|fail", choices: GapPolicy.allCases.map(\.rawValue),
    "what to do when events were missed: say so (the default), or end with exit 74")
  static let noReconnect = OptionSpecification(
    .noReconnect, "end with exit 69 when the daemon closes the connection")
}
