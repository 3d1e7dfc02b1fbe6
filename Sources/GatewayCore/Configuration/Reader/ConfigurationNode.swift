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
