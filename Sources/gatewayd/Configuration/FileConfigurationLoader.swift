import GatewayCore

/// Reads the configuration from its files, at start and at every reload.
final class FileConfigurationLoader: ConfigurationLoader {
  private let files: ConfigurationFiles
  private let lookups: any ConfigurationLookups
  private let urls: any URLReader
  private(set) var warnings: [ConfigurationProblem] = []
  /// The files that the last `load` read, in order.
  private(set) var read: [String] = []

  init(files: ConfigurationFiles, lookups: any ConfigurationLookups, urls: any URLReader) {
    self.files = files
    self.lookups = lookups
    self.urls = urls
  }

  func load() -> Result<Configuration, ConfigurationProblems> {
    warnings = []
    read = []
    var builder = ConfigurationBuilder(lookups: lookups, urls: urls, kinds: .all)
    if let main = files.main { add(main, isRequired: files.isRequired, to: &builder) }
    switch files.folderPaths() {
    case .success(let paths): for path in paths { add(path, isRequired: true, to: &builder) }
    case .failure(let problem): builder.add(problem)
    }
    return builder.build { warnings.append($0) }
  }

  private func add(_ path: String, isRequired: Bool, to builder: inout ConfigurationBuilder) {
    do throws(ConfigurationFile.Failure) {
      let file = try ConfigurationFile.read(path)
      read.append(path)
      switch TomlText.parse(file.bytes, file: path) {
      case .success(let tree):
        warnAboutSecrets(tree, mode: file.mode)
        builder.add(tree)
      case .failure(let problem): builder.add(problem)
      }
    } catch {
      switch error {
      case .missing where !isRequired: break
      case .missing: builder.add(ConfigurationProblem(file: path, line: 0, message: "does not exist"))
      case .unreadable(let predicate): builder.add(ConfigurationProblem(file: path, line: 0, message: predicate))
      }
    }
  }

  private func warnAboutSecrets(_ tree: ConfigurationTree, mode: UInt32) {
    guard mode & 0o004 != 0, let secret = tree.firstSecret else { return }
    let remedy = secret.instead.map { "use \($0) or chmod o-r" } ?? "use chmod o-r"
    warnings.append(
      ConfigurationProblem(
        file: tree.file, line: secret.position.line, column: secret.position.column,
        message: "\(secret.name) is a secret, but everybody on this machine can read this file; \(remedy)"))
  }
}

/// Tells the service manager that a reload begins, by a signal or a call. The daemon says `ready` when it is over.
final class AnnouncedLoader: ConfigurationLoader {
  private let loader: any ConfigurationLoader
  private let notifier: ServiceNotifier

  init(_ loader: any ConfigurationLoader, notifier: ServiceNotifier) {
    self.loader = loader
    self.notifier = notifier
  }

  func load() -> Result<Configuration, ConfigurationProblems> {
    notifier.reloading()
    return loader.load()
  }

  var warnings: [ConfigurationProblem] { loader.warnings }
}
