/// The settings of one table of the configuration. Dots in their names stand for sub-tables, which can therefore be
/// overridden member by member.
struct SettingList<Target>: Sendable {
  let settings: [Setting<Target>]
  /// Names at the top of the table that are read elsewhere.
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
    for entry in entries where !(prefix.isEmpty && others.contains(entry.key)) {
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
    var names = prefix.isEmpty ? others : []
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
    if title.hasPrefix("upstream."), prefix + entry.key == "namespace" {
      message += ": the path of its url is the namespace, as in url = \"https://chat.example.com/admin\""
    } else if let nearest = NearestName.of(entry.key, among: names(below: prefix)) {
      message += ", did you mean \(nearest.tomlString)?"
    } else if !homes.isEmpty {
      message += ", it belongs to " + homes.map { "[\($0)]" }.joined(separator: " or ")
    } else if title.hasPrefix("upstream."), prefix.isEmpty, entry.node.entries != nil {
      let name = (title.dropFirst("upstream.".count) + "." + entry.key).tomlString
      message += ", and a name with a dot is written in quotes: [upstream.\(name)]"
    }
    return message
  }
}
