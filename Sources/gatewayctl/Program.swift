/// From the words of the command line to the exit code.
enum Program {
  static func run(_ words: () throws(Failure) -> [String], environment: Environment) -> Int32 {
    do {
      let arguments = try Arguments.parse(try words())
      let context = try Context(arguments, environment: environment)
      do {
        let code = try run(context)
        try context.output.flush()
        return code.rawValue
      } catch {
        // What was received before the failure is data all the same.
        try? context.output.flush()
        throw error
      }
    } catch let failure as Failure {
      if let message = failure.message { Notices().error(message) }
      return failure.code.rawValue
    } catch {
      return ExitCode.internalError.rawValue
    }
  }

  private static func runTrace(_ context: Context) throws(Failure) -> ExitCode {
    var command = try TraceCommand(context)
    return try command.run()
  }

  private static func run(_ context: Context) throws(Failure) -> ExitCode {
    switch context.arguments.command {
    case .send: try SendCommand(context).send()
    case .request: try SendCommand(context).request()
    case .subscribe: try SubscribeCommand.run(context)
    case .serve: try ServeCommand.run(context)
    case .status: try StatusCommand.status(context)
    case .connections: try StatusCommand.connections(context)
    case .clients: try StatusCommand.clients(context)
    case .wait: try OperationCommands.wait(context)
    case .doctor: try DoctorCommand(context).run()
    case .trace: try runTrace(context)
    case .reconnect, .disconnect, .release: try OperationCommands.steer(context)
    case .outbox: try OutboxCommand.run(context)
    case .drain: try OutboxCommand.drain(context)
    case .reload: try OperationCommands.reload(context)
    case .ping: try OperationCommands.ping(context)
    case .call: try OperationCommands.call(context)
    case .introspect: try IntrospectCommand.run(context)
    case .completion: try OperationCommands.completion(context)
    case .version: try OperationCommands.version(context)
    case .help: try HelpCommand.run(context)
    }
  }
}
