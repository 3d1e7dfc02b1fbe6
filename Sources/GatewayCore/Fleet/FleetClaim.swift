/// When a host that does not hold looks at the lease, and when it may ask for it: by what it sees of it, and by its turn among
/// the hosts that would take it.
struct FleetClaim: Equatable, Sendable {
  /// What it has seen.
  struct Watch: Equatable, Sendable {
    /// Nil before the first look at the present server.
    var seen: FleetSight?
    /// When it was seen first, and when it may be taken if it has not changed by then.
    var since: MonotonicInstant
    var due: MonotonicInstant
  }

  /// One look at the lease, as `FleetLease.Event.saw` tells it.
  struct Look: Equatable, Sendable {
    var sight: FleetSight
    var holder: String?
    var next: String
    var disagrees: Bool
    var fraction: Double
  }

  enum Verdict: Equatable, Sendable {
    /// It is not to be taken now, but perhaps then, where that is before the next look.
    case wait(until: MonotonicInstant?)
    /// It may be asked for; `isLate`: even if another host is to have it next.
    case take(isLate: Bool)
  }

  /// By how much later each of the first `watchers` hosts asks than the one before it, and all others than the last of these.
  static let rankDelay: Duration = .milliseconds(200)
  /// So many hosts look often, whatever the size of the fleet.
  static let watchers = 8
  /// From the end of a link on the lease is looked at after this time, then after twice as long, and so on.
  static let haste: Duration = .milliseconds(10)

  private let settings: FleetLease.Settings
  var rank = FleetRank.first
  /// What it held was taken: a holder of its own name is no earlier life of it, but another daemon.
  var wasFenced: Bool
  /// Until then a lease that was given back is left to others.
  var reluctantUntil: MonotonicInstant?
  /// When it was first seen that the lease is free.
  private var freeSince: MonotonicInstant?
  /// After what time it looks next, where that is sooner than usual.
  private var haste: Duration?

  init(_ settings: FleetLease.Settings, wasFenced: Bool) {
    self.settings = settings
    self.wasFenced = wasFenced
  }

  /// How long it usually does not look at the lease.
  var pause: Duration { rank.place < Self.watchers ? settings.lease / 8 : settings.lease }
  /// How long it does not look at it now.
  var interval: Duration { haste ?? pause }

  /// The lease may be given back in the next moment.
  mutating func hasten() { haste = Self.haste }

  /// A hasty look is due; the next one comes later.
  mutating func slowDown() {
    if let last = haste { haste = last * 2 < pause ? last * 2 : nil }
  }

  /// What a look means, and what is known of the lease then.
  mutating func judge(_ look: Look, _ watch: inout Watch, at now: MonotonicInstant) -> Verdict {
    // Another host has what this one left to others.
    if let holder = look.holder, !holder.isEmpty, holder != settings.host { reluctantUntil = nil }
    if watch.seen != look.sight {
      let jitter =
        settings.lease / 10 * look.fraction + Self.rankDelay * min(rank.place, Self.watchers)
        + (rank.yields ? settings.courtesy : .zero)
      watch = Watch(seen: look.sight, since: now, due: now + (settings.patience + jitter))
    }
    let isNamed = look.next == settings.host
    let isReluctant = reluctantUntil.map { now < $0 } ?? false
    var due = look.disagrees ? max(watch.due, watch.since + settings.adopt) : watch.due
    freeSince = isFree(look) ? freeSince ?? now : nil
    if let freeSince, isNamed || !isReluctant, !look.disagrees {
      due = min(due, freeSince + (rank.yields && !isNamed ? settings.courtesy : .zero))
    }
    guard due <= now else { return .wait(until: due < now + interval ? due : nil) }
    (haste, freeSince) = (nil, nil)
    return .take(isLate: watch.due <= now)
  }

  /// Whether no host has it, or an earlier life of this one, and no other is to have it next. That nothing is there at all is
  /// no release: a server that has forgotten everything says the same.
  private func isFree(_ look: Look) -> Bool {
    let isOwn = look.holder == settings.host && !wasFenced
    return (look.holder == "" || isOwn) && ["", "*", settings.host].contains(look.next)
  }
}

/// The turn of a host among those that live and would take a lease that nobody holds any more.
struct FleetRank: Equatable, Sendable {
  /// How many are to ask before it.
  var place: Int
  /// It leaves a lease that was given back to one that prefers to hold, for a moment.
  var yields: Bool

  static let first = FleetRank(place: 0, yields: false)
}
