/// What the filters of all subscriptions take, with a share for each user: bytes of names and globs, and different globs on one
/// connection. An event with a new name is compared with every glob that may fit it, so that their number is time that others
/// wait.
final class FilterShares {
  /// Different globs of one user on one connection. Equal ones are compared once, and count once.
  static let globLimit = 1_024
  /// Bytes of names and globs, each with what it takes besides.
  static let bytes = SharedBounds(total: 64 << 20, share: 8 << 20)
  private static let overhead = 64

  private struct Place: Hashable {
    let connection: String
    let uid: UInt32
  }

  private var taken = SharedLimit(FilterShares.bytes)
  /// How many subscriptions have a glob.
  private var globs: [Place: [ExactText: Int]] = [:]

  /// Why a filter is one too many.
  enum Overrun: Error, Equatable {
    case globs
    case bytes(SharedBounds.Overrun)
  }

  /// Counts a filter for as long as the hold lives.
  func hold(_ filter: EventFilter, on connection: String, for uid: UInt32) throws(Overrun) -> FilterHold {
    let place = Place(connection: connection, uid: uid)
    let cost = Self.cost(of: filter)
    do throws(SharedBounds.Overrun) { try taken.check(cost, for: .user(uid)) } catch { throw .bytes(error) }
    let patterns = Set(filter.globs.map { ExactText($0) })
    let known = globs[place] ?? [:]
    guard known.count + patterns.count(where: { known[$0] == nil }) <= Self.globLimit else { throw .globs }
    taken.count(cost, for: .user(uid))
    for pattern in patterns { globs[place, default: [:]][pattern, default: 0] += 1 }
    return FilterHold { [weak self] in self?.giveBack(cost, patterns, place) }
  }

  private func giveBack(_ cost: Int, _ patterns: Set<ExactText>, _ place: Place) {
    taken.giveBack(cost, for: .user(place.uid))
    for pattern in patterns {
      let left = (globs[place]?[pattern] ?? 1) - 1
      globs[place]?[pattern] = left > 0 ? left : nil
    }
    if globs[place]?.isEmpty == true { globs[place] = nil }
  }

  private static func cost(of filter: EventFilter) -> Int {
    filter.exactNames.reduce(filter.globs.reduce(0) { $0 + $1.utf8.count + overhead }) {
      $0 + $1.text.utf8.count + overhead
    }
  }
}

/// What one subscription's filter takes of its user's share. It goes back with this object.
final class FilterHold {
  private let giveBack: () -> Void

  init(_ giveBack: @escaping () -> Void) { self.giveBack = giveBack }

  deinit { giveBack() }
}
