/// Reads `[upstream.NAME]` of all files. The same upstream in several files is merged member by member.
struct UpstreamsReader {
  /// An upstream as far as it has been read.
  private struct Entry {
    let name: String
    /// Where it was mentioned first.
    let place: Place
    var draft: UpstreamDraft
    var origins = SettingOrigins()
  }

  private static let nameLimit = 64

  let defaults: UpstreamSettings
  let lookups: any ConfigurationLookups
  let urls: any URLReader
  let kinds: UpstreamKinds
  /// Whether there is a `[fleet]`.
  let hasFleet: Bool
  let notes: ProblemNotes

  /// Stores the upstreams that are complete. Returns the names of all that are mentioned, sorted.
  func read(_ roots: [(file: Int, entries: [ConfigurationEntry])], into configuration: inout Configuration) -> [String]
  {
    var upstreams: [String: Entry] = [:]
    for (file, entries) in roots {
      guard let table = entries.first(where: { $0.key == "upstream" }) else { continue }
      guard let members = table.node.entries else {
        notes.note(SettingFindings(expected: "a table", found: table.node), about: "upstream", file: file)
        continue
      }
      for member in members { read(member, file: file, into: &upstreams) }
    }
    for upstream in upstreams.values {
      if let complete = finish(upstream) { configuration.upstreams[upstream.name] = complete }
    }
    return upstreams.keys.sorted()
  }

  private func read(_ member: ConfigurationEntry, file: Int, into upstreams: inout [String: Entry]) {
    let place = Place(file: file, position: member.keyPosition)
    let title = "upstream.\(member.key)"
    guard let entries = member.node.entries else {
      return notes.note(
        "\(title) must be a table, [upstream.NAME], not \(member.node.kind)",
        at: Place(file: file, position: member.node.position))
    }
    if !Self.isName(member.key) {
      notes.note(
        "the name \(member.key.tomlString) of an upstream must be 1 to \(Self.nameLimit) letters of A-Z a-z 0-9 . _ -",
        at: place)
    }
    var upstream =
      upstreams[member.key]
      ?? Entry(name: member.key, place: place, draft: UpstreamDraft(url: nil, settings: defaults))
    let origins = ConfigurationSchema.upstream.read(
      entries, title: title, file: file, into: &upstream.draft, noting: notes)
    noteSecondSource(title, origins)
    upstream.origins.merge(origins)
    upstreams[member.key] = upstream
  }

  /// Several files may override one another, but one table says it once.
  private func noteSecondSource(_ title: String, _ origins: SettingOrigins) {
    let given = ["auth", "auth_file", "auth_credential", "auth_command"].compactMap { name in
      origins[name].map { (name: name, place: $0) }
    }
    guard given.count > 1, let later = given.map(\.place).max(by: { $0.position < $1.position }) else { return }
    let names = given.map(\.name)
    let list = names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
    notes.note("\(title) has \(given.count == 2 ? "both " : "")\(list), but only one of them can be used", at: later)
  }

  private static func isName(_ name: String) -> Bool {
    (1...nameLimit).contains(name.utf8.count)
      && name.utf8.allSatisfy { $0.isASCIILetterOrDigit || "._-".utf8.contains($0) }
  }

  /// Nil, with the reason noted, when the URL is missing or cannot be used.
  private func finish(_ upstream: Entry) -> ConfiguredUpstream? {
    let title = "upstream.\(upstream.name)"
    UpstreamSettingsCheck(title: title, origins: upstream.origins, lookups: lookups, notes: notes)
      .check(upstream.draft.settings)
    checkFleet(upstream, title)
    guard let place = upstream.origins["url"] else {
      notes.noteLack("\(title) has no url", at: upstream.place)
      return nil
    }
    guard let texts = upstream.draft.url else { return nil }
    var urls: [UpstreamURL] = []
    for text in texts { if let url = read(text, of: upstream, place) { urls.append(url) } }
    guard let first = urls.first, urls.count == texts.count else { return nil }
    for (index, url) in urls.enumerated().dropFirst() {
      if url.canonical.path != first.canonical.path {
        notes.note("\(title).url must have the same path, which is the namespace, in each of its URLs", at: place)
      } else if urls[..<index].contains(where: url.isSameUpstream) {
        notes.note("\(title).url must not name the same URL twice", at: place)
      }
    }
    checkKind(of: urls, upstream)
    checkMessages(to: first, upstream)
    var settings = upstream.draft.settings
    settings.alternatives = Array(urls.dropFirst())
    let complete = ConfiguredUpstream(url: first, settings: settings)
    // Each of them was judged alone.
    if urls.count > 1, case .invalid(let sentence) = kinds.problem(with: complete.specification(upstream.name, kinds)) {
      notes.noteLack("\(title) cannot be used: \(sentence)", at: place)
    }
    return complete
  }

  /// Nil, with the reason noted, when it cannot be used.
  private func read(_ text: String, of upstream: Entry, _ place: Place) -> UpstreamURL? {
    let title = "upstream.\(upstream.name)"
    do throws(URLProblem) {
      let url = try urls.read(text)
      let complete = ConfiguredUpstream(url: url, settings: upstream.draft.settings)
      if let predicate = problem(with: url) {
        notes.note("\(title).url \(predicate)", at: place)
      } else if case .invalid(let sentence) = kinds.problem(with: complete.specification(upstream.name, kinds)) {
        notes.noteLack("\(title) cannot be used: \(sentence)", at: place)
      } else {
        return url
      }
    } catch {
      notes.note("\(title).url cannot be used: \(error.message)", at: place)
    }
    return nil
  }

  /// What forbids a well-formed URL, as the predicate of a sentence; nil when nothing does.
  private func problem(with url: UpstreamURL) -> String? {
    guard let traits = kinds.traits(of: url.scheme) else {
      let schemes = kinds.traits.flatMap(\.schemes).joined(separator: ", ")
      return "has the scheme \(url.scheme.tomlString), but must have one of \(schemes)"
    }
    if url.fragment != nil, !traits.usesFragment { return "must not have a fragment, the part behind #" }
    if url.path.contains(","), traits.path == .namespace {
      return "must not have a comma in its path, which is the namespace"
    }
    return nil
  }

  /// All URLs of an upstream are of one kind, and what only another kind has is a mistake.
  private func checkKind(of urls: [UpstreamURL], _ upstream: Entry) {
    let title = "upstream.\(upstream.name)"
    guard let url = urls.first, let traits = kinds.traits(of: url.scheme) else { return }
    if let place = upstream.origins["url"], !urls.allSatisfy({ traits.schemes.contains($0.scheme) }) {
      notes.note("\(title).url must have URLs of one kind: \(traits.schemes.joined(separator: ", "))", at: place)
    }
    let tables = kinds.traits.compactMap { $0.table == traits.table ? nil : $0.table }
    for name in Set(tables + traits.foreign).sorted() {
      guard let place = upstream.origins.first(of: name) else { continue }
      notes.note("\(title).\(name) means nothing for an upstream of \(url.scheme)://; leave it out", at: place)
    }
  }
}

extension UpstreamsReader {
  private func checkFleet(_ upstream: Entry, _ title: String) {
    guard upstream.draft.settings.fleet, let place = upstream.origins["fleet"] else { return }
    if !hasFleet { notes.noteLack("\(title).fleet needs [fleet], with name and redis", at: place) }
    if upstream.draft.settings.history.disk == true {
      notes.note(
        "\(title).history.disk means nothing beside \(title).fleet: the fleet keeps the past",
        at: upstream.origins["history.disk"] ?? place)
    }
  }
}

/// What is said at every connect.
extension UpstreamsReader {
  /// A message that no server of the kind could be told is a mistake here, and not one of each connect.
  private func checkMessages(to url: UpstreamURL, _ upstream: Entry) {
    guard let traits = kinds.traits(of: url.scheme), let place = upstream.origins["on_connect"] else { return }
    let settings = upstream.draft.settings
    for message in settings.onConnect {
      guard let problem = traits.unsayable(message.draft(isAcknowledged: false), settings) else { continue }
      notes.note(
        "upstream.\(upstream.name).on_connect has the message \(message.event.text.tomlString), which cannot be said: "
          + problem.clause, at: place)
    }
  }
}
