/// Finds the subscriptions whose globs fit a name, by what each glob demands of the name's beginning: of a hundred
/// thousand globs only those are tried that begin like the name, and one that many subscriptions have is tried once.
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

  /// The subscriptions that have a glob, by the glob. Different globs are few (`FilterShares.globs`).
  private var places: [Prefix: [ExactText: SortedSet<UInt64>]] = [:]

  /// Takes in that a subscription has a glob.
  mutating func insert(_ glob: String, for serial: UInt64) {
    places[Self.prefix(of: glob), default: [:]][ExactText(glob), default: SortedSet()].insert(serial)
  }

  /// Takes back what was inserted.
  mutating func remove(_ glob: String, for serial: UInt64) {
    let (prefix, key) = (Self.prefix(of: glob), ExactText(glob))
    places[prefix]?[key]?.remove(serial)
    if places[prefix]?[key]?.isEmpty == true { places[prefix]?[key] = nil }
    if places[prefix]?.isEmpty == true { places[prefix] = nil }
  }

  /// Those that have this very glob.
  func holders(of glob: String) -> SortedSet<UInt64>? { places[Self.prefix(of: glob)]?[ExactText(glob)] }

  /// Every subscription that has a glob which fits the name, in their order, and of how many machine words the globs are
  /// that were compared with it. `named`: those that have the name itself, which are among them then.
  func matches(_ name: String, named: SortedSet<UInt64>? = nil) -> (serials: [UInt64], words: Int) {
    var prefix = Prefix()
    var found: (holders: [SortedSet<UInt64>], words: Int) = (named.map { [$0] } ?? [], 0)
    add(prefix, name, to: &found)
    for byte in name.utf8.prefix(Prefix.limit) {
      prefix.append(byte)
      add(prefix, name, to: &found)
    }
    return (SortedSet.union(found.holders), found.words)
  }

  private func add(_ prefix: Prefix, _ name: String, to found: inout (holders: [SortedSet<UInt64>], words: Int)) {
    guard let globs = places[prefix] else { return }
    for (glob, holders) in globs {
      found.words += GlobAutomaton.words(of: glob.text.utf8.count)
      guard Glob.matches(glob.text, name) else { continue }
      found.holders.append(holders)
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

/// What it costs to find the subscriptions of one message, and to give it to them: mostly little, with a thousand globs
/// or a thousand subscriptions much. The transport that reads the server's bytes looks at the clock behind a message
/// that cost much, instead of behind a few more. Decision 0101.
public final class MatchingCost {
  /// Whether so much was done since the clock was looked at that it is worth a look.
  public private(set) var isMuch = false
  private var bytes = 0
  /// About a tenth of a millisecond.
  private static let limit = 64 << 10

  public init() {}

  /// So many bytes were looked at.
  func note(_ count: Int) {
    bytes += count
    if bytes >= Self.limit { isMuch = true }
  }

  /// The clock was looked at.
  public func begin() { (isMuch, bytes) = (false, 0) }
}
