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

  /// The first secret that is written into the file itself, by the name of its setting: an upstream's `auth`.
  public var firstSecret: (name: String, position: TextPosition)? {
    for upstream in root.entries?.first(where: { $0.key == "upstream" })?.node.entries ?? [] {
      guard let auth = upstream.node.entries?.first(where: { $0.key == "auth" }) else { continue }
      return ("upstream.\(upstream.key).auth", auth.keyPosition)
    }
    return nil
  }
}
