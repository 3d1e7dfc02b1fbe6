/// One mistake in a configuration, or one warning about it, at its place.
public struct ConfigurationProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file's path.
  public var file: String
  /// From 1; 0 when the problem belongs to the file as a whole.
  public var line: Int
  /// From 1, counted in characters.
  var column: Int?
  /// One sentence without a full stop. Never holds the value of a secret.
  public var message: String

  public init(file: String, line: Int, column: Int? = nil, message: String) {
    self.file = file
    self.line = line
    self.column = column
    self.message = message
  }

  /// In the place of those that are not listed.
  static func rest(_ count: Int, _ what: String, of file: String) -> ConfigurationProblem {
    ConfigurationProblem(file: file, line: 0, message: "\(count) more \(what) are not listed")
  }

  /// `FILE:LINE: MESSAGE`, or `FILE: MESSAGE`: one line, whatever stands in the file's name and in names that it holds.
  public var description: String {
    (line > 0 ? "\(file):\(line): \(message)" : "\(file): \(message)").escapingControls()
  }
}

/// Everything that is wrong with a configuration; never empty when it stands for a failure.
public struct ConfigurationProblems: Error, Equatable, Sendable, CustomStringConvertible {
  /// In the order of the files, and in the order of the lines within a file.
  let listed: [ConfigurationProblem]
  /// How many more there are.
  let leftOut: Int
  /// The last of the files; empty where all are listed.
  private let file: String

  init(_ listed: [ConfigurationProblem], leftOut: Int = 0, of file: String = "") {
    self.listed = listed
    self.leftOut = leftOut
    self.file = leftOut > 0 ? file : ""
  }

  /// How many there are.
  var count: Int { listed.count + leftOut }

  /// Those that are listed, and then how many are not.
  public var all: [ConfigurationProblem] { listed + (leftOut > 0 ? [.rest(leftOut, "mistakes", of: file)] : []) }

  /// One line per problem, without a line end after the last.
  public var description: String { all.map(\.description).joined(separator: "\n") }
}

/// Where every reader of a part of the configuration notes what is wrong, so that all of it is reported at once.
final class ProblemNotes {
  private let files: [String]
  /// Every file could be read.
  private let isComplete: Bool
  private var notes: [(place: Place, message: String)] = []
  /// Those that were noted and are not reported.
  private(set) var leftOut = 0

  /// More at once are of no help, and a file with nothing but mistakes must not cost more than another one.
  private static let limit = 200

  init(files: [String], isComplete: Bool = true) {
    self.files = files
    self.isComplete = isComplete
  }

  /// Notes one sentence about a place.
  func note(_ message: @autoclosure () -> String, at place: Place) {
    guard notes.count < Self.limit else { return leftOut += 1 }
    notes.append((place, message().shortened(to: Self.textLimit)))
  }

  /// Notes that what stands at a place lacks something, or does not go together with what holds where nothing is set.
  /// It may stand in a file that could not be read.
  func noteLack(_ message: @autoclosure () -> String, at place: Place) {
    if isComplete { note(message(), at: place) }
  }

  /// Longest sentence about one mistake, in bytes: keys may be as long as the file.
  private static let textLimit = 1 << 10

  /// One note per finding, each a sentence that begins with the setting's full name.
  func note(_ findings: SettingFindings, about name: String, file: Int) {
    for finding in findings.all {
      let subject = finding.member.map { "\(name).\($0)" } ?? name
      note("\(subject) \(finding.predicate)", at: Place(file: file, position: finding.position))
    }
  }

  /// In the order of files and lines; what stands at the same place stays in the order in which it was noted.
  var problems: [(file: Int, problem: ConfigurationProblem)] {
    let sorted = notes.enumerated().sorted {
      ($0.element.place.file, $0.element.place.position, $0.offset)
        < ($1.element.place.file, $1.element.place.position, $1.offset)
    }
    return sorted.map { _, note in
      let (file, position) = (note.place.file, note.place.position)
      let problem = ConfigurationProblem(
        file: files[file], line: position.line, column: position.column, message: note.message)
      return (file, problem)
    }
  }
}
