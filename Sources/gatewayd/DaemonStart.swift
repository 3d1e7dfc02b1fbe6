import CLinux
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

/// What the process sets up for itself before it does anything else.
enum DaemonSurroundings {
  /// Call first, before any thread exists.
  static func prepare() {
    openStandardDescriptors()
    umask(0o077)
    SystemEvents.takeSignals([SIGTERM, SIGINT, SIGHUP, SIGCHLD])
    // A descriptor for each local client.
    limit(RLIMIT_NOFILE) { $0.rlim_cur = $0.rlim_max }
    WarmMemory.prepare()
  }

  /// Secrets live in memory. The limit alone would not do: the kernel ignores it for dumps that it pipes into a
  /// program.
  static func forbidCoreDumps() {
    limit(RLIMIT_CORE) { $0.rlim_cur = 0 }
    _ = gw_forbid_dumps()
  }

  /// A descriptor below 3 must never be a client's socket: what is meant for the standard error stream would go there.
  private static func openStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number is this one.
      _ = open("/dev/null", O_RDWR)
    }
  }

  /// A limit that cannot be changed stays as it is: every one of them is a precaution.
  private static func limit(_ resource: __rlimit_resource, _ change: (inout rlimit) -> Void) {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return }
    change(&limit)
    _ = setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
  }

  /// A variable of the environment.
  static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
