/// One local program's hold on a connection, the flyweight's extrinsic state. The set of leases, by number and not a
/// counter, says whether a connection is occupied, so that giving one back twice is harmless.
struct Lease: Hashable, Sendable {
  /// Unique within the connection.
  let number: UInt64
  let purpose: Purpose

  /// What the hold is for.
  enum Purpose: Hashable, Sendable {
    case subscription
    case call
  }
}

/// The leases of one connection, and since when it is unused.
struct Leases {
  /// By their numbers: there may be hundreds of thousands.
  private var held = IncrementalTable<UInt64, Lease.Purpose>()
  private var next: UInt64 = 1
  /// When the last use ended, or something was last written for one; nil while it is used.
  private(set) var unusedSince: MonotonicInstant?

  var count: Int { held.count }
  var isEmpty: Bool { held.isEmpty }

  mutating func take(_ purpose: Lease.Purpose) -> Lease {
    let lease = Lease(number: next, purpose: purpose)
    next += 1
    held[lease.number] = purpose
    return lease
  }

  /// False for one that was given back before.
  mutating func giveBack(_ lease: Lease) -> Bool { held.removeValue(forKey: lease.number) != nil }

  /// It is used for a moment: if nothing else uses it, it is unused from now on.
  mutating func noteUse(at now: MonotonicInstant) { unusedSince = now }

  /// Looks whether it is used.
  mutating func look(isUsed: Bool, at now: MonotonicInstant) {
    unusedSince = isUsed ? nil : unusedSince ?? now
  }
}
