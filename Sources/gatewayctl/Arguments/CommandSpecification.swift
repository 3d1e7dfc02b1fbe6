/// The commands, in the order of the help text. The raw value is the word on the command line.
enum CommandName: String, CaseIterable, Sendable {
  case send, request, subscribe, history, replay, serve
  case status, top, metrics, connections, clients, wait, doctor, trace
  case outbox
  case reconnect, disconnect, release
  case fleet
  case access, reload, drain, ping, call, introspect, completion, version, help

  /// The command with this word. `init(rawValue:)` makes a table of so many words first, which takes a sixth of what a
  /// short run takes.
  static func named(_ word: String) -> CommandName? { allCases.first { $0.rawValue == word } }
}

/// What `outbox` does with durable sends. The raw value is the word on the command line, and the end of the method's
/// name.
enum OutboxVerb: String, CaseIterable {
  case list, cancel, retry, purge
}

/// What `fleet` does beside showing it. The raw value is the word on the command line, and the end of the method's name.
enum FleetVerb: String, CaseIterable {
  case move, leave, forget
}

/// One command as data: what the parser accepts, what the help text and the manual page say.
struct CommandSpecification: Sendable {
  var name: CommandName
  /// The operands as the help text shows them.
  var operands: String
  /// What the first operand may be, where that is known.
  var choices: [String] = []
  /// How many operands there may be.
  var operandCount: ClosedRange<Int>
  /// What to say where there are more, if not only the usage.
  var insteadOfMore: String?
  /// One line, in lower case, without a final full stop.
  var summary: String
  /// Paragraphs for a person who sees the command for the first time.
  var details: [String]
  /// The options beyond those of every command.
  var options: [OptionSpecification] = []
  var examples: [Example]
  /// Nil: the command goes on until it is told to stop.
  var defaultTimeout: Duration? = .seconds(5)
  /// Whether the command asks the daemon anything. One that does not has nothing to wait for.
  var asksDaemon = true

  /// A line to copy, and what it is for.
  struct Example: Equatable, Sendable {
    var purpose: String
    var line: String
    init(_ purpose: String, _ line: String) {
      self.purpose = purpose
      self.line = line
    }
  }

  /// The word that names the upstream; nil where none does.
  func upstream(_ arguments: Arguments) -> String? {
    switch name {
    case .outbox: arguments.value(.upstream)
    case .fleet: arguments.operands.first == FleetVerb.move.rawValue ? arguments.operands.dropFirst().first : nil
    case .replay: arguments.operands.last
    default: arguments.operands.first
    }
  }

  /// What a user adds to name one.
  private var upstreamHint: String {
    switch name {
    case .outbox: "add --upstream URL"
    case .fleet: "write 'gatewayctl fleet move UPSTREAM'"
    default: "add its URL"
    }
  }

  /// The upstream that the words name, with what the options say of it. What says something of an upstream is not left
  /// out because none is named: without it the command would be about all of them.
  func target(_ arguments: Arguments) throws(Failure) -> Target {
    if let upstream = upstream(arguments) { return try Target(upstream, arguments) }
    if let given = Target.options.first(where: arguments.has) {
      throw Failure(.usage, "--\(given.rawValue) goes with an upstream, and none is named; \(upstreamHint)")
    }
    return Target("")
  }

  /// Every option the command takes.
  var allOptions: [OptionSpecification] { options + OptionSpecification.common }

  /// `gatewayctl send [OPTION…] URL EVENT [ARG…]`.
  var usage: String {
    "gatewayctl \(name.rawValue) [OPTION…]" + (operands.isEmpty ? "" : " \(operands)")
  }
}

/// Paragraphs that explain operands of several commands.
extension CommandSpecification {
  static let argExplained =
    "Each ARG is sent as JSON if it is JSON, otherwise as text: 3 is a number, '\"3\"' and hello are text. One that "
    + "begins with {, [ or \" has to be JSON. @FILE reads JSON from a file, - from standard input."
  static let urlExplained =
    "URL is the server's address, whose path is the Socket.IO namespace (https://chat.example/admin is namespace "
    + "/admin), or the name of an upstream in the daemon's configuration."
}
