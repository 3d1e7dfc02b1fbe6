/// The hosts of a fleet, as the one that holds sees them: it looks at all now and then, and says how many live.
final class FleetHosts {
  private let place: FleetPlace
  /// What the fleet calls this host.
  private var host: String
  /// How long a host is silent before it is adopted.
  private let adopt: Duration
  private let engine: any FleetEngine
  private let timers: Timers
  private var silence: FleetSilence
  private var timer: Timers.ID?
  private(set) var rows: [String: FleetHostRow] = [:]
  /// Tells looks apart that came too late.
  private var term = 0
  /// The term of the look that is under way.
  private var looking: Int?
  /// How many have neither been adopted nor stopped, as of the last look of a term, or as far as its first one has come.
  private(set) var livingCount = 0
  /// The lowest version that those speak which are not silent. Nil before the first look of a term.
  private var lowestVersion: UInt64?

  /// What one look has found up to now.
  private struct Found {
    var census = FleetCensus(living: 0)
    var lowest = UInt64.max
    var silent: [(host: String, row: FleetHostRow)] = []
  }

  /// Most that are told as silent in one turn: each is adopted.
  static let toldAtOnce = 64

  /// They were looked at.
  var onLook: () -> Void = {}
  /// One has been silent for too long.
  var onSilent: (String, FleetHostRow) -> Void = { _, _ in }

  init(_ settings: FleetSettings, engine: any FleetEngine, timers: Timers) {
    (place, host, adopt) = (settings.place, settings.host, settings.adopt)
    (self.engine, self.timers) = (engine, timers)
    silence = FleetSilence(adopt: settings.adopt)
  }

  /// This host holds from now on.
  func begin() {
    silence = FleetSilence(adopt: adopt)
    term += 1
    look()
  }

  /// It does not any more.
  func end() {
    term += 1
    timers.cancel(timer)
    (rows, livingCount, census, lowestVersion) = ([:], 0, nil, nil)
  }

  /// Whether another host would take the lease of a fleet that has agreed upon that, as far as is known.
  func isOtherWilling(for agreement: FleetAgreement) -> Bool {
    rows.contains { name, row in
      name != host && row.details.mayHold && !row.details.isReluctant
        && row.details.agreement.differences(from: agreement).isEmpty
        && silence.isAlive(name, at: timers.now) == true
    }
  }

  /// The engine was away: none of them could be heard meanwhile.
  func engineGained() { silence.listenAnew(at: timers.now) }

  /// This host has another name from now on.
  func rename(_ host: String) { self.host = host }

  /// For the others; nil before the first look of a term.
  private(set) var census: FleetCensus?

  /// The version that the fleet is to speak, of those that are known here; nil before the first look of a term.
  func version(_ versions: ClosedRange<UInt64>) -> UInt64? {
    lowestVersion.map { min(max($0, versions.lowerBound), versions.upperBound) }
  }

  private func look() {
    timers.cancel(timer)
    timer = timers.after(adopt / 6) { [weak self] in self?.look() }
    guard engine.server != nil, looking != term else { return }
    let present = term
    looking = present
    var found = Found()
    FleetLook(place: place, engine: engine).begin { [weak self] portion in
      if let self, term == present { see(portion, &found) }
    } _: { [weak self] names in
      guard let self, term == present else { return }
      looking = nil
      if let names { end(found, names) }
    }
  }

  private func see(_ portion: [String: FleetHostRow], _ found: inout Found) {
    let silent = silence.look(portion, at: timers.now)
    for host in silent { if let row = portion[host] { found.silent.append((host, row)) } }
    for (host, row) in portion {
      rows[host] = row
      guard !row.isAdopted, !row.details.isStopped else { continue }
      found.census.living += 1
      if row.details.mayHold, !row.details.isReluctant, !silent.contains(host) {
        found.census.willing += 1
        if row.details.prefers { found.census.prefers = true }
      }
      if !silent.contains(host) { found.lowest = min(found.lowest, row.details.version) }
    }
    livingCount = max(livingCount, found.census.living)
  }

  private func end(_ found: Found, _ names: [String]) {
    rows.keep(names)
    (livingCount, census, lowestVersion) = (found.census.living, found.census, found.lowest)
    onLook()
    tell(found.silent[...], in: term)
  }

  /// By what was seen then: who has been heard meanwhile is not adopted.
  private func tell(_ silent: ArraySlice<(host: String, row: FleetHostRow)>, in present: Int) {
    guard term == present else { return }
    for (name, row) in silent.prefix(Self.toldAtOnce) where name != host {
      silence.forget(name)
      onSilent(name, row)
    }
    let rest = silent.dropFirst(Self.toldAtOnce)
    if !rest.isEmpty { timers.after(.zero) { [weak self] in self?.tell(rest, in: present) } }
  }
}
