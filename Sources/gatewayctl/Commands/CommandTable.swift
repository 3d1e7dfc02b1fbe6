/// A command of the command line, in a file of its own: what it takes, what its help says, and what it does.
protocol Subcommand: SendableMetatype {
  static var specification: CommandSpecification { get }
  static func run(_ context: Context) throws(Failure) -> ExitCode
}

/// Every command.
enum CommandTable {
  /// Those that move messages.
  static let traffic: [CommandName] = [.send, .request, .subscribe, .history, .replay, .serve]

  /// Those that look at the daemon and steer it.
  static let operations = CommandName.allCases.filter { !traffic.contains($0) }

  /// What all of them take, in the order of the help text.
  static let specifications = CommandName.allCases.map { command($0).specification }

  /// Commands whose names are taken, and what to use until they exist.
  static let later: [(name: String, instead: String)] = [("config", "use 'gatewayd --check-config'")]

  static let parser = CommandLineParser(specification: { command($0).specification }, later: later)

  /// The command of that name. A short run makes the specification of one command alone.
  static func command(_ name: CommandName) -> any Subcommand.Type {
    switch name {
    case .send: SendCommand.self
    case .request: RequestCommand.self
    case .subscribe: SubscribeCommand.self
    case .history: HistoryCommand.self
    case .replay: ReplayCommand.self
    case .serve: ServeCommand.self
    case .status: StatusCommand.self
    case .top: TopCommand.self
    case .metrics: MetricsCommand.self
    case .connections: ConnectionsCommand.self
    case .clients: ClientsCommand.self
    case .wait: WaitCommand.self
    case .doctor: DoctorCommand.self
    case .trace: TraceCommand.self
    case .outbox: OutboxCommand.self
    case .reconnect: ReconnectCommand.self
    case .disconnect: DisconnectCommand.self
    case .release: ReleaseCommand.self
    case .fleet: FleetCommand.self
    case .access: AccessCommand.self
    case .reload: ReloadCommand.self
    case .drain: DrainCommand.self
    case .ping: PingCommand.self
    case .call: CallCommand.self
    case .introspect: IntrospectCommand.self
    case .completion: CompletionCommand.self
    case .version: VersionCommand.self
    case .help: HelpCommand.self
    }
  }
}
