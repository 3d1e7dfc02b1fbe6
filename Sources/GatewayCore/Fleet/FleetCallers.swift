/// The lives of hosts in one conversation of the holder, and with them which calls count: those of a host's present life, each
/// once and in the order of their numbers.
struct FleetCallers {
  private struct Host {
    var life: UInt64
    /// The number that is next from it.
    var next: UInt64 = 1
    /// When it was told last that something is missing.
    var told: MonotonicInstant?
  }

  /// Most hosts of which something counts.
  static let limit = 50_000

  private var hosts: [String: Host] = [:]

  /// A host has this life, or had it. Returns whether the one that was known is over with it.
  mutating func note(_ life: UInt64, of host: String) -> Bool {
    let last = hosts[host]?.life
    guard life > last ?? 0, last != nil || hosts.count < Self.limit else { return false }
    hosts[host] = Host(life: life)
    return last != nil
  }

  /// Whether a call is the next one of its host. One of an earlier life is not, nor what is said twice, nor one before which
  /// another is missing.
  mutating func admits(_ entry: FleetUpEntry) -> Bool {
    guard let host = hosts[entry.host], host.life == entry.life, host.next == entry.number else { return false }
    hosts[entry.host] = Host(life: host.life, next: host.next + 1)
    return true
  }

  /// The number of the first call that is missing before one of a host's present life, for which its host is to be asked; nil
  /// where none is, or where it was asked a moment ago. An engine that fails over or is full loses calls, and so does
  /// whoever may delete its keys; most hosts know, and say again by themselves what they have not been told to be written.
  mutating func missing(before entry: FleetUpEntry, at now: MonotonicInstant) -> UInt64? {
    guard let host = hosts[entry.host], host.life == entry.life, host.next < entry.number,
      host.told.map({ $0 + FleetRefusal.pause <= now }) ?? true
    else { return nil }
    hosts[entry.host]?.told = now
    return host.next
  }

  /// Whether a call is of a life that is over by now.
  func isOver(_ sender: FleetSender) -> Bool {
    guard case .host(let host, let life, _, _) = sender else { return false }
    return hosts[host]?.life != life
  }
}
