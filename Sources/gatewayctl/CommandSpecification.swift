/// The commands. The raw value is the word on the command line.
enum CommandName: String, CaseIterable, Sendable {
  case send, request, subscribe, serve
  case status, connections, clients, wait, doctor, trace
  case reconnect, disconnect, release
  case outbox, drain
  case reload, ping, call, introspect, completion, version, help
}

extension CommandName {
  /// Whether the command asks the daemon anything. One that does not has nothing to wait for.
  var asksDaemon: Bool { self != .completion && self != .version && self != .help }
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
  /// One line, in lower case, without a final full stop.
  var summary: String
  /// Paragraphs for somebody who sees the command for the first time.
  var details: [String]
  /// The options beyond those of every command.
  var options: [OptionSpecification] = []
  var examples: [Example]
  /// Nil: the command goes on until it is told to stop.
  var defaultTimeout: Duration? = .seconds(5)

  /// A line to copy, and what it is for.
  struct Example: Equatable, Sendable {
    var purpose: String
    var line: String
    init(_ purpose: String, _ line: String) {
      self.purpose = purpose
      self.line = line
    }
  }

  /// Every option the command takes.
  var allOptions: [OptionSpecification] { options + OptionSpecification.common }

  /// `gatewayctl send [OPTION…] URL EVENT [ARG…]`.
  var usage: String {
    "gatewayctl \(name.rawValue) [OPTION…]" + (operands.isEmpty ? "" : " \(operands)")
  }
}

/// Looks commands up by name.
enum CommandTable {
  /// All commands, in the order of the help text.
  static let all: [CommandSpecification] = traffic + operations

  /// Commands whose names are taken, and what to use until they exist.
  static let later: [(name: String, instead: String)] = [
    ("top", "use 'gatewayctl status'"),
    ("metrics", "use 'gatewayctl status --json'"),
    ("config", "use 'gatewayd --check-config'"),
  ]

  static func specification(of name: CommandName) -> CommandSpecification? { all.first { $0.name == name } }
}
