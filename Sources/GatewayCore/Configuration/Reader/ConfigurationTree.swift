/// What a configuration file says, before anybody has judged it: its tables, arrays and values, each with its place.
public struct ConfigurationTree: Equatable, Sendable {
  /// The file's path, as it is to stand in messages.
  public var file: String
  /// A table.
  public var root: ConfigurationNode

  public init(file: String, root: ConfigurationNode) {
    self.file = file
    self.root = root
  }

  /// A secret that is written into the file itself.
  public struct Secret: Equatable, Sendable {
    /// The setting that holds it, such as `upstream.chat.auth`.
    public var name: String
    public var position: TextPosition
    /// What keeps it out of the file, such as `auth_file`; nil when nothing does.
    public var instead: String?
  }

  /// The first one of `[defaults]`, or else of the upstreams.
  public var firstSecret: Secret? {
    let tables = root.entries ?? []
    for table in tables where table.key == "defaults" {
      if let secret = Self.firstSecret(in: table.node, named: "defaults.") { return secret }
    }
    for upstream in tables.first(where: { $0.key == "upstream" })?.node.entries ?? [] {
      if let secret = Self.firstSecret(in: upstream.node, named: "upstream.\(upstream.key).") { return secret }
    }
    return nil
  }

  /// In a table of an upstream's settings, or one below it.
  private static func firstSecret(in table: ConfigurationNode, named title: String, below prefix: String = "")
    -> Secret?
  {
    for entry in table.entries ?? [] {
      let name = prefix + entry.key
      if let setting = ConfigurationSchema.upstream.settings.first(where: { $0.name == name }) {
        guard let mark = setting.secret, mark.isHeld(entry.node) else { continue }
        return Secret(name: title + name, position: entry.keyPosition, instead: mark.instead)
      }
      if let secret = firstSecret(in: entry.node, named: title, below: name + ".") { return secret }
    }
    return nil
  }
}
