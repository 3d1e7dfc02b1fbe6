/// Which hosts live and which have been silent for too long, as a host sees them on its own clock.
struct FleetSilence: Equatable, Sendable {
  private struct Sight: Equatable {
    var life: UInt64
    var beat: UInt64?
    var since: MonotonicInstant
    /// When it was looked at last.
    var seen: MonotonicInstant
    /// It has said something then, or later: when it was looked at last before it was seen to change. Nil where it never was.
    var heard: MonotonicInstant?
  }

  let adopt: Duration
  private var sights: [String: Sight] = [:]

  init(adopt: Duration) { self.adopt = adopt }

  /// Takes a look at hosts; returns those whose beat has not changed for `adopt`, in the order of their names. One that was
  /// adopted, by whichever holder, is none of them before it has come back: it has nothing to be adopted.
  mutating func look(_ hosts: [String: FleetHostRow], at now: MonotonicInstant) -> [String] {
    var silent: [String] = []
    for (host, row) in hosts {
      let last = sights[host]
      if let last, last.life == row.life, last.beat == row.beat {
        if !row.isAdopted, last.since + adopt <= now { silent.append(host) }
        sights[host]?.seen = now
      } else {
        let heard = row.isAdopted ? last?.heard : last.map { max($0.seen, $0.heard ?? $0.seen) }
        sights[host] = Sight(life: row.life, beat: row.beat, since: now, seen: now, heard: heard)
      }
    }
    return silent.sorted()
  }

  /// A host was heard elsewhere, since an earlier look there.
  mutating func hear(_ host: String, since look: MonotonicInstant, at now: MonotonicInstant) {
    guard let sight = sights[host], sight.beat != nil else { return }
    sights[host]?.since = now
    sights[host]?.heard = max(look, sight.heard ?? look)
  }

  /// A host is being adopted: it is looked at anew.
  mutating func forget(_ host: String) { sights[host] = nil }

  /// Whether a host has said something within the time in which it has to; nil as long as it was seen only once, and not for
  /// that long.
  func isAlive(_ host: String, at now: MonotonicInstant) -> Bool? {
    guard let sight = sights[host], sight.beat != nil, now < sight.since + adopt else { return false }
    return sight.heard == nil ? nil : true
  }

  /// A host has said something then, or later, also where it was adopted since; nil where it never was heard.
  func heard(_ host: String) -> MonotonicInstant? { sights[host]?.heard }

  /// The engine was away: none of them could be heard.
  mutating func forgetAll() { sights = [:] }

  /// The same, but who was heard before counts as heard.
  mutating func listenAnew(at now: MonotonicInstant) {
    for host in sights.keys { sights[host]?.since = now }
  }
}
