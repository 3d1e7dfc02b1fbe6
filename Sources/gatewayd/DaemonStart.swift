import GatewayCore
import Glibc

/// From the command line to the exit status.
enum DaemonStart {
  /// Does what the arguments behind the program's name ask for.
  static func run(_ arguments: [String]) -> ExitStatus {
    DaemonSurroundings.prepare()
    do throws(StartFailure) {
      let options = try CommandLineOptions.parse(arguments)
      if !options.coreDumps { DaemonSurroundings.forbidCoreDumps() }
      switch options.mode {
      case .help: print(CommandLineOptions.help, terminator: "")
      case .version: print("gatewayd \(GatewayVersion.current)")
      case .checkConfiguration: return check(options)
      case .run: return try serve(options)
      }
      return .success
    } catch {
      complain("gatewayd: \(error.message)\n")
      return error.status
    }
  }

  private static func check(_ options: CommandLineOptions) -> ExitStatus {
    let check = ConfigurationCheck(loader(options, urls: CurlURLReader(), demandsFiles: true))
    complain(check.complaints)
    print(check.summary, terminator: "")
    return check.isValid ? .success : .configuration
  }

  private static func serve(_ options: CommandLineOptions) throws(StartFailure) -> ExitStatus {
    let urls = CurlURLReader()
    let loader = loader(options, urls: urls)
    switch loader.load() {
    case .failure(let problems):
      complain("\(problems)\n")
      return .configuration
    case .success(let configuration):
      let daemon = try Daemon(
        options, configuration, loader: loader, urls: urls, environment: DaemonSurroundings.variable)
      return try daemon.run()
    }
  }

  private static func loader(
    _ options: CommandLineOptions, urls: any URLReader, demandsFiles: Bool = false
  ) -> FileConfigurationLoader {
    let files: ConfigurationFiles
    if let path = options.configuration {
      files = .only(path)
    } else {
      files = options.user ? .user(environment: DaemonSurroundings.variable) : .system
    }
    return FileConfigurationLoader(files: files, lookups: SystemLookups(demandsFiles: demandsFiles), urls: urls)
  }

  private static func complain(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
  }
}
