/// Everything that is wrong with a configuration; never empty when it stands for a failure.
public struct ConfigurationProblems: Error, Equatable, Sendable, CustomStringConvertible {
  /// In the order of the files, and in the order of the lines within a file.
  public var all: [ConfigurationProblem]

  init(_ all: [ConfigurationProblem]) { self.all = all }

  /// One line per problem, without a line end after the last.
  public var description: String { all.map(\.description).joined(separator: "\n") }
}
