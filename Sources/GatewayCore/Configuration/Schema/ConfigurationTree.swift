/// What a configuration file says, before it is judged: its tables, arrays and values, each with its place.
public struct ConfigurationTree: Equatable, Sendable {
  /// The file's path, as it is to stand in messages.
  public var file: String
  /// A table.
  var root: ConfigurationNode

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

/// One value of a configuration file.
public struct ConfigurationNode: Equatable, Sendable {
  /// The types of TOML 1.0. The value of a date or a time is not kept: no setting takes one.
  public indirect enum Value: Equatable, Sendable {
    case string(String)
    case integer(Int64)
    /// A number as JSON text, or `inf`, `-inf`, `nan`.
    case float(String)
    case boolean(Bool)
    case date
    case time
    case dateAndTime
    case array([ConfigurationNode])
    /// In the order of the file; every key once.
    case table([ConfigurationEntry])
  }

  var position: TextPosition
  var value: Value

  public init(at position: TextPosition, _ value: Value) {
    self.position = position
    self.value = value
  }

  /// The value's type with its article, for `must be …, not a date`.
  var kind: String {
    switch value {
    case .string: "a string"
    case .integer: "an integer"
    case .float: "a floating-point number"
    case .boolean: "a boolean"
    case .date: "a date"
    case .time: "a time"
    case .dateAndTime: "a date and time"
    case .array: "an array"
    case .table: "a table"
    }
  }

  /// The entries of a table; nil for everything else.
  var entries: [ConfigurationEntry]? { if case .table(let entries) = value { entries } else { nil } }
}

/// One `key = value` of a table, or one sub-table.
public struct ConfigurationEntry: Equatable, Sendable {
  var key: String
  public var keyPosition: TextPosition
  var node: ConfigurationNode

  public init(_ key: String, at keyPosition: TextPosition, _ node: ConfigurationNode) {
    self.key = key
    self.keyPosition = keyPosition
    self.node = node
  }
}

/// A place in a text. Both count from 1, columns in characters.
public struct TextPosition: Hashable, Comparable, Sendable {
  public var line: Int
  public var column: Int

  public init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  public static func < (a: Self, b: Self) -> Bool { (a.line, a.column) < (b.line, b.column) }
}
