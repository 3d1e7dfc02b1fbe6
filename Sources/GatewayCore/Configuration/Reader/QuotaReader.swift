/// Reads `[quota.group.NAME]` of all files and looks up the groups. `[quota]` itself is a table like others.
struct QuotaReader {
  let lookups: any ConfigurationLookups
  let notes: ProblemNotes

  /// By the groups' ids; what later files say replaces it setting by setting.
  func read(_ roots: [(file: Int, entries: [ConfigurationEntry])]) -> [UInt32: Quota] {
    var groups: [UInt32: Quota] = [:]
    for (file, entries) in roots {
      guard let quota = entries.first(where: { $0.key == "quota" })?.node.entries,
        let group = quota.first(where: { $0.key == "group" })
      else { continue }
      guard let members = group.node.entries else {
        notes.note(SettingFindings(expected: "a table", found: group.node), about: "quota.group", file: file)
        continue
      }
      for member in members { read(member, file: file, into: &groups) }
    }
    return groups
  }

  private func read(_ member: ConfigurationEntry, file: Int, into groups: inout [UInt32: Quota]) {
    let place = Place(file: file, position: member.keyPosition)
    guard let id = lookups.groupID(named: member.key) ?? UInt32(member.key).flatMap({ $0 < .max ? $0 : nil }) else {
      return notes.note("quota.group names the group \(member.key.tomlString), which does not exist", at: place)
    }
    let title = "quota.group.\(member.key)"
    guard let settings = member.node.entries else {
      return notes.note(SettingFindings(expected: "a table", found: member.node), about: title, file: file)
    }
    _ = ConfigurationSchema.quota.read(
      settings, title: title, file: file, into: &groups[id, default: Quota()], noting: notes)
  }
}
