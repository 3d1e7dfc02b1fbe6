/// The lives of hosts in one conversation of the holder, and with them which calls count: those of a host's present life, each
/// once and in the order of their numbers.
struct FleetCallers {
  private struct Host {
    var life: UInt64
    /// The number that is next from it.
    var next: UInt64 = 1
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
  /// another is missing: its host says that again.
  mutating func admits(_ entry: FleetUpEntry) -> Bool {
    guard let host = hosts[entry.host], host.life == entry.life, host.next == entry.number else { return false }
    hosts[entry.host]?.next += 1
    return true
  }

  /// Whether a call is of a life that is over by now.
  func isOver(_ sender: FleetSender) -> Bool {
    guard case .host(let host, let life, _, _) = sender else { return false }
    return hosts[host]?.life != life
  }
}
