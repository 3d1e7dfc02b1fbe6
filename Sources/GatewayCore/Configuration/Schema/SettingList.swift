/// The settings of one table of the configuration. Dots in their names stand for sub-tables, which can therefore be
/// overridden member by member.
struct SettingList<Target>: Sendable {
  let settings: [Setting<Target>]
  /// Names that are read elsewhere, as `upstream` and `quota.group`.
  let others: [String]

  init(_ settings: [Setting<Target>], others: [String] = []) {
    self.settings = settings
    self.others = others
  }

  /// Reads a table into the target. What cannot be read is noted and leaves the target as it was.
  /// - Parameter title: the table's name in messages; empty for the root.
  /// - Returns: where each setting that occurs stands.
  func read(
    _ entries: [ConfigurationEntry], title: String, file: Int, into target: inout Target, noting problems: ProblemNotes
  ) -> SettingOrigins {
    var origins = SettingOrigins()
    read(entries, below: "", title: title, file: file, into: &target, noting: problems, &origins)
    return origins
  }

  private func read(
    _ entries: [ConfigurationEntry], below prefix: String, title: String, file: Int, into target: inout Target,
    noting problems: ProblemNotes, _ origins: inout SettingOrigins
  ) {
    for entry in entries where entry.key.contains(".") || !others.contains(prefix + entry.key) {
      let name = prefix + entry.key
      let fullName = title.isEmpty ? name : "\(title).\(name)"
      if !entry.key.contains("."), let setting = settings.first(where: { $0.name == name }) {
        origins[name] = Place(file: file, position: entry.node.position)
        do throws(SettingFindings) {
          try setting.apply(entry.node, &target)
        } catch {
          problems.note(error, about: fullName, file: file)
        }
      } else if !entry.key.contains("."), settings.contains(where: { $0.name.hasPrefix(name + ".") }) {
        guard let members = entry.node.entries else {
          problems.note(SettingFindings(expected: "a table", found: entry.node), about: fullName, file: file)
          continue
        }
        read(members, below: name + ".", title: title, file: file, into: &target, noting: problems, &origins)
      } else {
        let place = Place(file: file, position: entry.keyPosition)
        problems.note(unknown(entry, below: prefix, title: title), at: place)
      }
    }
  }

  /// The names that may stand below a prefix.
  private func names(below prefix: String) -> [String] {
    var names = others.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count).prefix { $0 != "." }) }
    for setting in settings where setting.name.hasPrefix(prefix) {
      let name = String(setting.name.dropFirst(prefix.count).prefix { $0 != "." })
      if !names.contains(name) { names.append(name) }
    }
    return names
  }

  private func unknown(_ entry: ConfigurationEntry, below prefix: String, title: String) -> String {
    let key = entry.key.tomlString
    let table = (title.isEmpty ? "" : title + ".") + prefix
    var message = table.isEmpty ? "there is no setting or table \(key)" : "\(table.dropLast()) has no setting \(key)"
    let homes = ConfigurationSchema.homes(of: entry.key)
    // Such as a password, which stands in a file.
    let longer = names(below: prefix).filter { $0.hasPrefix(entry.key + "_") }
    if title.hasPrefix("upstream."), prefix + entry.key == "namespace" {
      message += ": the path of its url is the namespace, as in url = \"https://chat.example.com/admin\""
    } else if let nearest = NearestName.of(entry.key, among: names(below: prefix)) {
      message += ", did you mean \(nearest.tomlString)?"
    } else if !longer.isEmpty, homes.isEmpty {
      message += ", but " + longer.map(\.tomlString).joined(separator: " and ")
    } else if !homes.isEmpty {
      message += ", it belongs to " + homes.map { "[\($0)]" }.joined(separator: " or ")
    } else if title.hasPrefix("upstream."), prefix.isEmpty, entry.node.entries != nil {
      let name = (title.dropFirst("upstream.".count) + "." + entry.key).tomlString
      message += ", and a name with a dot is written in quotes: [upstream.\(name)]"
    }
    return message
  }
}

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

  /// Where a setting, or the first one of a table, was set; nil if none was.
  func first(of name: String) -> Place? {
    places.filter { $0.key == name || $0.key.hasPrefix(name + ".") }.map(\.value)
      .min { ($0.file, $0.position) < ($1.file, $1.position) }
  }

  /// The settings whose names begin with the prefix, without it.
  func below(_ prefix: String) -> Self {
    var origins = Self()
    for (name, place) in places where name.hasPrefix(prefix) { origins[String(name.dropFirst(prefix.count))] = place }
    return origins
  }
}
