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

  public var position: TextPosition
  public var value: Value

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
  public var key: String
  public var keyPosition: TextPosition
  public var node: ConfigurationNode

  public init(_ key: String, at keyPosition: TextPosition, _ node: ConfigurationNode) {
    self.key = key
    self.keyPosition = keyPosition
    self.node = node
  }
}
