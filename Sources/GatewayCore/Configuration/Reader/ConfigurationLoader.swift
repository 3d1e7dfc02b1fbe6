/// Reads the configuration anew, at start and at every reload. The daemon reads files; tests hand out values.
public protocol ConfigurationLoader: AnyObject {
  /// A complete configuration, or everything that is wrong with it. May block for as long as reading files and looking
  /// up accounts takes.
  func load() -> Result<Configuration, ConfigurationProblems>
}
