/// A place in one of the files of a configuration.
struct Place: Equatable {
  /// Index of the file in the order of reading.
  var file: Int
  var position: TextPosition
}

/// Where each setting of a table was set, the last time if several files set it.
struct SettingOrigins {
  private var places: [String: Place] = [:]

  subscript(_ name: String) -> Place? {
    get { places[name] }
    set { places[name] = newValue }
  }

  /// Later places replace earlier ones.
  mutating func merge(_ later: Self) { places.merge(later.places) { $1 } }

  /// The settings whose names begin with the prefix, without it.
  func below(_ prefix: String) -> Self {
    var origins = Self()
    for (name, place) in places where name.hasPrefix(prefix) { origins[String(name.dropFirst(prefix.count))] = place }
    return origins
  }
}

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
      let position = note.place.position
      return (
        note.place.file,
        ConfigurationProblem(
          file: files.indices.contains(note.place.file) ? files[note.place.file] : "", line: position.line,
          column: position.column, message: note.message)
      )
    }
  }
}
