/// Where everybody who reads a part of the configuration notes what is wrong, so that all of it is reported at once.
final class ProblemNotes {
  private let files: [String]
  private var notes: [(place: Place, message: String)] = []

  init(files: [String]) { self.files = files }

  func note(_ message: String, at place: Place) { notes.append((place, message)) }

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
