/// One mistake in a configuration, or one warning about it, at its place.
public struct ConfigurationProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file's path.
  public var file: String
  /// From 1; 0 when the problem belongs to the file as a whole.
  public var line: Int
  /// From 1, counted in characters.
  public var column: Int?
  /// One sentence without a full stop. Never holds the value of a secret.
  public var message: String

  public init(file: String, line: Int, column: Int? = nil, message: String) {
    self.file = file
    self.line = line
    self.column = column
    self.message = message
  }

  /// `FILE:LINE: MESSAGE`, or `FILE: MESSAGE`.
  public var description: String { line > 0 ? "\(file):\(line): \(message)" : "\(file): \(message)" }
}
