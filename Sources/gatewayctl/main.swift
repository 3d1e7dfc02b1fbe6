import Glibc

/// From the words of the command line to the exit code.
enum Program {
  /// Runs the command that the words name, and says what went wrong.
  static func run(_ words: () throws(Failure) -> [String], environment: Environment) -> Int32 {
    var isJSON = false
    var typed: [String] = []
    do {
      let words = try words()
      typed = words
      isJSON = words.contains("--json")
      let arguments = try CommandTable.parser.parse(words)
      isJSON = arguments.has(.json)
      let command = CommandTable.command(arguments.command)
      let context = try Context(arguments, of: command.specification, environment: environment)
      do {
        let code = try command.run(context)
        // A reader that has gone changes nothing of what was done and found.
        try context.output.flush()
        return code.rawValue
      } catch {
        // What was received before the failure is data all the same.
        try? context.output.flush()
        throw error
      }
    } catch let failure as Failure {
      Diagnostics().failure(failure.hidingURLs(of: typed), asJSON: isJSON)
      return failure.code.rawValue
    } catch {
      return ExitCode.internalError.rawValue
    }
  }
}

StandardStreams.hold()
Signals.install()
exit(Program.run(ProgramWords.ofProcess, environment: .ofProcess()))
