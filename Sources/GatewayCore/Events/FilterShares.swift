/// What the filters of all subscriptions take, with a share for each user: bytes of names and globs, and different
/// globs on one connection. An event with a new name is compared with every glob that may fit it, whose ever they are,
/// so that their number is time that others wait. Decision 0101.
final class FilterShares {
  /// Different globs on one connection. Equal ones of a user are compared once, and count once; a long one counts once
  /// for each machine word that comparing it takes.
  static let globs = SharedBounds(share: 1_024)
  /// Bytes of names and globs, each with what it takes besides.
  static let bytes = SharedBounds(total: 64 << 20, share: 8 << 20)
  private static let overhead = 64

  /// Whose filters are looked at, for events of which connection.
  fileprivate struct Place: Hashable {
    let connection: String
    let uid: UInt32
  }

  private var taken = SharedLimit(FilterShares.bytes)
  /// By the connection.
  private var compared: [String: SharedLimit] = [:]
  /// How many subscriptions have a glob.
  private var holders: [Place: [ExactText: Int]] = [:]

  /// Counts a filter for as long as the hold lives. What it takes the place of goes later, and takes no room from it.
  func hold(
    _ filter: EventFilter, on connection: String, for uid: UInt32, insteadOf replaced: [FilterHold] = []
  ) throws(LocalError) -> FilterHold {
    let part = FilterHold.Part(
      place: Place(connection: connection, uid: uid), bytes: Self.cost(of: filter),
      globs: Set(filter.globs.map { ExactText($0) }))
    for hold in replaced { giveBack(hold.part) }
    defer { for hold in replaced { count(hold.part) } }
    try check(part)
    count(part)
    return FilterHold(part, in: self)
  }

  private func check(_ part: FilterHold.Part) throws(LocalError) {
    let account = Account.user(part.place.uid)
    do throws(SharedBounds.Overrun) { try taken.check(part.bytes, for: account) } catch {
      throw .noRoom(forFilter: error)
    }
    let known = holders[part.place] ?? [:]
    let more = part.globs.reduce(0) { $0 + (known[$1] == nil ? Self.weight(of: $1) : 0) }
    let compared = compared[part.place.connection] ?? SharedLimit(Self.globs)
    do throws(SharedBounds.Overrun) { try compared.check(more, for: account) } catch { throw .noRoom(forGlobs: error) }
  }

  private func count(_ part: FilterHold.Part) {
    taken.count(part.bytes, for: .user(part.place.uid))
    for glob in part.globs {
      let before = holders[part.place]?[glob] ?? 0
      holders[part.place, default: [:]][glob] = before + 1
      if before == 0 { note(Self.weight(of: glob), at: part.place) }
    }
  }

  fileprivate func giveBack(_ part: FilterHold.Part) {
    taken.giveBack(part.bytes, for: .user(part.place.uid))
    for glob in part.globs {
      let left = (holders[part.place]?[glob] ?? 1) - 1
      holders[part.place]?[glob] = left > 0 ? left : nil
      if left == 0 { note(-Self.weight(of: glob), at: part.place) }
    }
    if holders[part.place]?.isEmpty == true { holders[part.place] = nil }
  }

  /// So many globs more are compared for a user, or less.
  private func note(_ difference: Int, at place: Place) {
    compared[place.connection, default: SharedLimit(Self.globs)].count(difference, for: .user(place.uid))
    if compared[place.connection]?.used == 0 { compared[place.connection] = nil }
  }

  private static func weight(of glob: ExactText) -> Int { GlobAutomaton.words(of: glob.text.utf8.count) }

  private static func cost(of filter: EventFilter) -> Int {
    filter.exactNames.reduce(filter.globs.reduce(0) { $0 + $1.utf8.count + overhead }) {
      $0 + $1.text.utf8.count + overhead
    }
  }
}

/// What one subscription's filter takes of its user's share. It goes back with this object.
final class FilterHold {
  /// What is counted.
  fileprivate struct Part {
    let place: FilterShares.Place
    let bytes: Int
    let globs: Set<ExactText>
  }

  fileprivate let part: Part
  private weak var shares: FilterShares?

  fileprivate init(_ part: Part, in shares: FilterShares) {
    self.part = part
    self.shares = shares
  }

  deinit { shares?.giveBack(part) }
}

extension LocalError {
  /// The globs of a subscription are too many.
  static func noRoom(forGlobs overrun: SharedBounds.Overrun) -> LocalError {
    LocalError(
      .quotaExceeded,
      "There is no room for the globs of this subscription beside \(overrun.words("different globs")) on a connection, of which long ones count several times; use fewer, or names.",
      [.init("quota", .string("globs"))] + overrun.facts(of: FilterShares.globs))
  }

  /// The names and globs of a subscription are too long.
  static func noRoom(forFilter overrun: SharedBounds.Overrun) -> LocalError {
    LocalError(
      .quotaExceeded,
      "There is no room for the names and globs of this subscription beside \(overrun.words("bytes")); name fewer.",
      [.init("quota", .string("filter_bytes"))] + overrun.facts(of: FilterShares.bytes))
  }
}
