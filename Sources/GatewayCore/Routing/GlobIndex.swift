/// Finds the subscriptions whose globs may fit a name, by what each glob demands of the name's beginning: of a hundred
/// thousand globs only those are tried that begin like the name.
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

  private var places: [Prefix: Set<UInt64>] = [:]

  mutating func insert(_ glob: String, for serial: UInt64) {
    places[Self.prefix(of: glob), default: []].insert(serial)
  }

  /// Takes back what was inserted; a subscription's globs go all together.
  mutating func remove(_ glob: String, for serial: UInt64) {
    let prefix = Self.prefix(of: glob)
    places[prefix]?.remove(serial)
    if places[prefix]?.isEmpty == true { places[prefix] = nil }
  }

  /// Every subscription that has a glob which fits the name, and some that have none.
  func candidates(for name: String) -> Set<UInt64> {
    var prefix = Prefix()
    var found = places[prefix] ?? []
    for byte in name.utf8.prefix(Prefix.limit) {
      prefix.append(byte)
      if let place = places[prefix] { found.formUnion(place) }
    }
    return found
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
