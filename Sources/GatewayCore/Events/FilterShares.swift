/// What the filters of all subscriptions take, with a share for each user: bytes of names and globs, and different
/// globs on one connection. An event with a new name is compared with every glob that may fit it, whose ever they are,
/// so that their number is time that others wait. So is that of the different messages which are said at every connect.
/// Decisions 0101 and 0119.
final class FilterShares {
  /// Different globs on one connection. Equal ones of a user are compared once, and count once; a long one counts once
  /// for each machine word that comparing it takes.
  static let globs = SharedBounds(share: 1_024)
  /// Different messages on one connection. Equal ones of a user are said once, and count once.
  static let messages = SharedBounds(share: 1_024)
  /// Bytes of names, globs and messages, each with what it takes besides.
  static let bytes = SharedBounds(total: 64 << 20, share: 8 << 20)
  private static let overhead = 64

  /// Whose filters are looked at, for events of which connection.
  fileprivate struct Place: Hashable {
    let connection: String
    let uid: UInt32
  }

  private var taken = SharedLimit(FilterShares.bytes)
  private var globs = DistinctShares<ExactText>(FilterShares.globs) { GlobAutomaton.words(of: $0.text.utf8.count) }
  private var messages = DistinctShares<EnterMessage>(FilterShares.messages) { _ in 1 }

  /// Counts a filter, and what is said for it, for as long as the hold lives. What it takes the place of goes later, and
  /// takes no room from it.
  func hold(
    _ filter: EventFilter, _ enters: [HeldEnter] = [], on connection: String, for uid: UInt32,
    insteadOf replaced: [FilterHold] = []
  ) throws(LocalError) -> FilterHold {
    let part = FilterHold.Part(
      place: Place(connection: connection, uid: uid), bytes: Self.cost(of: filter) + Self.cost(of: enters),
      globs: Set(filter.globs.map { ExactText($0) }), messages: Set(enters.map(\.enter.message)))
    for hold in replaced { giveBack(hold.part) }
    defer { for hold in replaced { count(hold.part) } }
    try check(part)
    count(part)
    return FilterHold(part, in: self)
  }

  /// Counts one of these messages for a user for as long as the hold lives, whatever the limits say: it outlives the
  /// subscription that brought it, which had room for it.
  func hold(leftBehind message: EnterMessage, by user: UInt32) -> FilterHold {
    let part = FilterHold.Part(
      place: Place(connection: "", uid: user), bytes: message.byteCount + Self.overhead, globs: [], messages: [])
    count(part)
    return FilterHold(part, in: self)
  }

  private func check(_ part: FilterHold.Part) throws(LocalError) {
    let account = Account.user(part.place.uid)
    do throws(SharedBounds.Overrun) { try taken.check(part.bytes, for: account) } catch {
      throw .noRoom(forFilter: error)
    }
    do throws(SharedBounds.Overrun) { try globs.check(part.globs, at: part.place) } catch {
      throw .noRoom(forGlobs: error)
    }
    do throws(SharedBounds.Overrun) { try messages.check(part.messages, at: part.place) } catch {
      throw .noRoom(forMessages: error)
    }
  }

  private func count(_ part: FilterHold.Part) {
    taken.count(part.bytes, for: .user(part.place.uid))
    globs.count(part.globs, at: part.place)
    messages.count(part.messages, at: part.place)
  }

  fileprivate func giveBack(_ part: FilterHold.Part) {
    taken.giveBack(part.bytes, for: .user(part.place.uid))
    globs.giveBack(part.globs, at: part.place)
    messages.giveBack(part.messages, at: part.place)
  }

  private static func cost(of enters: [HeldEnter]) -> Int {
    enters.reduce(0) { $0 + $1.byteCount + overhead * $1.requests.count }
  }

  private static func cost(of filter: EventFilter) -> Int {
    filter.exactNames.reduce(filter.globs.reduce(0) { $0 + $1.utf8.count + overhead }) {
      $0 + $1.text.utf8.count + overhead
    }
  }
}

/// Different things of one connection, each counted once for each user that has it, however many subscriptions do.
private struct DistinctShares<Thing: Hashable> {
  private let bounds: SharedBounds
  private let weight: (Thing) -> Int
  /// By the connection.
  private var used: [String: SharedLimit] = [:]
  /// How many subscriptions have a thing.
  private var holders: [FilterShares.Place: [Thing: Int]] = [:]

  init(_ bounds: SharedBounds, weight: @escaping (Thing) -> Int) {
    self.bounds = bounds
    self.weight = weight
  }

  func check(_ things: Set<Thing>, at place: FilterShares.Place) throws(SharedBounds.Overrun) {
    let known = holders[place] ?? [:]
    let more = things.reduce(0) { $0 + (known[$1] == nil ? weight($1) : 0) }
    try (used[place.connection] ?? SharedLimit(bounds)).check(more, for: .user(place.uid))
  }

  mutating func count(_ things: Set<Thing>, at place: FilterShares.Place) {
    for thing in things {
      let before = holders[place]?[thing] ?? 0
      holders[place, default: [:]][thing] = before + 1
      if before == 0 { note(weight(thing), at: place) }
    }
  }

  mutating func giveBack(_ things: Set<Thing>, at place: FilterShares.Place) {
    for thing in things {
      let left = (holders[place]?[thing] ?? 1) - 1
      holders[place]?[thing] = left > 0 ? left : nil
      if left == 0 { note(-weight(thing), at: place) }
    }
    if holders[place]?.isEmpty == true { holders[place] = nil }
  }

  /// So much more is there of a user's, or less.
  private mutating func note(_ difference: Int, at place: FilterShares.Place) {
    used[place.connection, default: SharedLimit(bounds)].count(difference, for: .user(place.uid))
    if used[place.connection]?.used == 0 { used[place.connection] = nil }
  }
}

/// What one subscription's filter takes of its user's share. It goes back with this object.
final class FilterHold {
  /// What is counted.
  fileprivate struct Part {
    let place: FilterShares.Place
    let bytes: Int
    let globs: Set<ExactText>
    let messages: Set<EnterMessage>
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

  /// What is said for a subscription are too many messages.
  static func noRoom(forMessages overrun: SharedBounds.Overrun) -> LocalError {
    LocalError(
      .quotaExceeded,
      "There is no room for what this subscription would enter beside \(overrun.words("different messages")) on a connection; enter less.",
      [.init("quota", .string("enter"))] + overrun.facts(of: FilterShares.messages))
  }

  /// The names and globs of a subscription are too long.
  static func noRoom(forFilter overrun: SharedBounds.Overrun) -> LocalError {
    LocalError(
      .quotaExceeded,
      "There is no room for the names, globs and messages of this subscription beside \(overrun.words("bytes")); name fewer.",
      [.init("quota", .string("filter_bytes"))] + overrun.facts(of: FilterShares.bytes))
  }
}
