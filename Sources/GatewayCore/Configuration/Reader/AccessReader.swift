/// Reads `[[access]]` of all files, in order, and looks up which accounts and upstreams each rule names.
struct AccessReader {
  /// Names of all upstreams that are mentioned in the configuration.
  let upstreams: [String]
  let lookups: any ConfigurationLookups
  let notes: ProblemNotes

  /// A rule, and where it stands.
  typealias PlacedRule = (rule: AccessRule, place: Place)

  /// The rules of all files in their order; what is wrong with one is noted, and the rule left out.
  func read(_ roots: [(file: Int, entries: [ConfigurationEntry])]) -> [PlacedRule] {
    var rules: [PlacedRule] = []
    var number = 0
    for (file, entries) in roots {
      guard let access = entries.first(where: { $0.key == "access" }) else { continue }
      guard case .array(let elements) = access.node.value else {
        notes.note(
          "access must be an array of tables, each written as [[access]], not \(access.node.kind)",
          at: Place(file: file, position: access.node.position))
        continue
      }
      for element in elements {
        number += 1
        guard let members = element.entries else {
          notes.note(SettingFindings(expected: "a table", found: element), about: "access", file: file)
          continue
        }
        let place = Place(file: file, position: element.position)
        if let rule = rule(members, number: number, at: place) { rules.append((rule, place)) }
      }
    }
    return rules
  }

  private func rule(_ members: [ConfigurationEntry], number: Int, at place: Place) -> AccessRule? {
    var draft = AccessDraft()
    let origins = ConfigurationSchema.access.read(
      members, title: "access", file: place.file, into: &draft, noting: notes)
    for pattern in draft.upstreams ?? [] { check(pattern, file: place.file) }
    if origins["allow"] == nil {
      notes.note("access has no allow, so that the rule allows nothing", at: place)
    }
    guard let subject = subject(draft, origins, at: place), let allow = draft.allow else { return nil }
    var rule = AccessRule(
      subject: subject, upstreams: (draft.upstreams ?? []).map(\.text), namespaces: draft.namespaces ?? [],
      events: draft.events ?? [], allow: Set(allow))
    rule.label = AccessRuleLabel(draft, number: number)
    return rule
  }

  /// Nil, with the reason noted, unless the rule names exactly one account that exists.
  private func subject(_ draft: AccessDraft, _ origins: SettingOrigins, at place: Place) -> AccessSubject? {
    let named = ["user", "uid", "group", "gid"].filter { origins[$0] != nil }
    guard named.count == 1 else {
      notes.note(
        named.isEmpty
          ? "access must say whom it is for, by user or by group"
          : "access must say only once whom it is for, not by \(named.joined(separator: " and "))", at: place)
      return nil
    }
    if let user = draft.user ?? draft.uid {
      let id = id(of: user, lookups.userID)
      if id == nil { noteUnknown(user, "user", origins[named[0]] ?? place, setting: named[0]) }
      return id.map { .user($0) }
    }
    if let group = draft.group ?? draft.gid {
      let id = id(of: group, lookups.groupID)
      if id == nil { noteUnknown(group, "group", origins[named[0]] ?? place, setting: named[0]) }
      return id.map { .group($0) }
    }
    return nil
  }

  private func id(of account: AccessDraft.Account, _ look: (String) -> UInt32?) -> UInt32? {
    switch account {
    case .name(let name): look(name) ?? UInt32(name).flatMap { $0 < .max ? $0 : nil }
    case .number(let id): id
    }
  }

  private func noteUnknown(_ account: AccessDraft.Account, _ kind: String, _ place: Place, setting: String) {
    guard case .name(let name) = account else { return }
    notes.note("access.\(setting) names the \(kind) \(name.tomlString), which does not exist", at: place)
  }

  private func check(_ pattern: AccessDraft.UpstreamPattern, file: Int) {
    guard !Glob.isPattern(pattern.text), !upstreams.contains(Glob.unescape(pattern.text)) else { return }
    var message = "access.upstream names \(pattern.text.tomlString), but there is no such upstream"
    if let nearest = NearestName.of(pattern.text, among: upstreams) {
      message += ", did you mean \(nearest.tomlString)?"
    }
    notes.noteLack(message, at: Place(file: file, position: pattern.position))
  }
}

extension AccessRuleLabel {
  /// The rules of all files are counted together, from 1.
  fileprivate init(_ draft: AccessDraft, number: Int) {
    var words: [String] = []
    func add(_ name: String, _ values: [String]?) {
      if let values { words.append("\(name) \(values.map(\.tomlString).joined(separator: ", "))") }
    }
    func add(_ name: String, _ account: AccessDraft.Account?) {
      switch account {
      case .name(let text): add(name, [text])
      case .number(let id): words.append("\(name) \(id)")
      case nil: break
      }
    }
    add("user", draft.user ?? draft.uid)
    add("group", draft.group ?? draft.gid)
    add("upstream", draft.upstreams?.map(\.text))
    add("namespaces", draft.namespaces)
    add("events", draft.events)
    text = "[[access]] \(number) (\(words.joined(separator: ", ")))".shortened(to: 512)
  }
}
