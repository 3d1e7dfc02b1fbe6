/// Finds the subscriptions whose globs fit a name, by what each glob demands of the name's beginning: of a hundred thousand
/// globs only those are tried that begin like the name, and one that many subscriptions have is tried once.
struct GlobIndex {
  /// The text before a glob's first special character, cut to eight bytes.
  private struct Prefix: Hashable {
    var bytes: UInt64 = 0
    var count: UInt8 = 0

    static let limit = 8

    mutating func append(_ byte: UInt8) {
      bytes = bytes << 8 | UInt64(byte)
      count += 1
    }
  }

  /// The subscriptions that have a glob, by the glob.
  private var places: [Prefix: [ExactText: Set<UInt64>]] = [:]

  mutating func insert(_ glob: String, for serial: UInt64) {
    places[Self.prefix(of: glob), default: [:]][ExactText(glob), default: []].insert(serial)
  }

  /// Takes back what was inserted.
  mutating func remove(_ glob: String, for serial: UInt64) {
    let (prefix, key) = (Self.prefix(of: glob), ExactText(glob))
    places[prefix]?[key]?.remove(serial)
    if places[prefix]?[key]?.isEmpty == true { places[prefix]?[key] = nil }
    if places[prefix]?.isEmpty == true { places[prefix] = nil }
  }

  /// Every subscription that has a glob which fits the name, and of how many machine words the globs are that were compared
  /// with it.
  func matches(_ name: String) -> (serials: Set<UInt64>, words: Int) {
    var prefix = Prefix()
    var found: (serials: Set<UInt64>, words: Int) = ([], 0)
    add(prefix, name, to: &found)
    for byte in name.utf8.prefix(Prefix.limit) {
      prefix.append(byte)
      add(prefix, name, to: &found)
    }
    return found
  }

  private func add(_ prefix: Prefix, _ name: String, to found: inout (serials: Set<UInt64>, words: Int)) {
    guard let globs = places[prefix] else { return }
    for (glob, serials) in globs {
      found.words += GlobAutomaton.words(of: glob.text.utf8.count)
      guard Glob.matches(glob.text, name) else { continue }
      if found.serials.isEmpty { found.serials = serials } else { found.serials.formUnion(serials) }
    }
  }

  private static func prefix(of glob: String) -> Prefix {
    var prefix = Prefix()
    for byte in glob.utf8.prefix(Prefix.limit) {
      guard byte != UInt8(ascii: "*"), byte != UInt8(ascii: "?"), byte != UInt8(ascii: "\\") else { break }
      prefix.append(byte)
    }
    return prefix
  }
}
