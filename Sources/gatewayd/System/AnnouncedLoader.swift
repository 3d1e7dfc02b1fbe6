import GatewayCore

/// Tells the service manager that a reload begins, whoever asked for it. Whoever hears its result must say `ready`.
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
}
