/// A command of the command line, in a file of its own: what it takes, what its help says, and what it does.
protocol Subcommand: SendableMetatype {
  static var specification: CommandSpecification { get }
  static func run(_ context: Context) throws(Failure) -> ExitCode
}

/// Every command.
enum CommandTable {
  /// Those that move messages.
  static let traffic: [any Subcommand.Type] = [
    SendCommand.self, RequestCommand.self, SubscribeCommand.self, HistoryCommand.self,
    ReplayCommand.self, ServeCommand.self,
  ]

  /// Those that look at the daemon and steer it.
  static let operations: [any Subcommand.Type] = [
    StatusCommand.self, TopCommand.self, MetricsCommand.self, ConnectionsCommand.self, ClientsCommand.self,
    WaitCommand.self, DoctorCommand.self, TraceCommand.self, OutboxCommand.self, ReconnectCommand.self,
    DisconnectCommand.self, ReleaseCommand.self, FleetCommand.self, AccessCommand.self, ReloadCommand.self,
    DrainCommand.self,
    PingCommand.self, CallCommand.self, IntrospectCommand.self, CompletionCommand.self, VersionCommand.self,
    HelpCommand.self,
  ]

  /// What all of them take, in the order of the help text.
  static let specifications = (traffic + operations).map { $0.specification }

  /// Commands whose names are taken, and what to use until they exist.
  static let later: [(name: String, instead: String)] = [("config", "use 'gatewayd --check-config'")]

  static let parser = CommandLineParser(commands: specifications, later: later)

  /// The command of that name; a test holds that each name has one.
  static func command(_ name: CommandName) -> any Subcommand.Type {
    (traffic + operations).first { $0.specification.name == name } ?? HelpCommand.self
  }
}
