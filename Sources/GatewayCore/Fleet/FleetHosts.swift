/// The hosts of a fleet, as the one that holds sees them: it looks at all now and then.
final class FleetHosts {
  private var settings: FleetSettings
  private let engine: any FleetEngine
  private let timers: Timers
  private var silence: FleetSilence
  private var timer: Timers.ID?
  private(set) var rows: [String: FleetHostRow] = [:]
  /// Tells looks apart that came too late.
  private var term = 0

  /// They were looked at.
  var onLook: () -> Void = {}
  /// One has been silent for too long.
  var onSilent: (String, FleetHostRow) -> Void = { _, _ in }

  init(_ settings: FleetSettings, engine: any FleetEngine, timers: Timers) {
    (self.settings, self.engine, self.timers) = (settings, engine, timers)
    silence = FleetSilence(adopt: settings.adopt)
  }

  /// This host holds from now on.
  func begin() {
    silence = FleetSilence(adopt: settings.adopt)
    term += 1
    look()
  }

  /// It does not any more.
  func end() {
    term += 1
    timers.cancel(timer)
  }

  /// Whether another host would take the lease, as far as is known.
  var isOtherWilling: Bool {
    rows.contains { host, row in
      host != settings.host && row.details.mayHold && !row.details.isReluctant
        && silence.isAlive(host, at: timers.now) == true
    }
  }

  /// The engine was away: none of them could be heard.
  func engineGained() { silence.forgetAll() }

  /// This host has another name from now on.
  func rename(_ host: String) { settings.host = host }

  /// How many have not been adopted.
  var livingCount: Int { rows.values.count { !$0.isAdopted } }

  private func look() {
    timers.cancel(timer)
    timer = timers.after(settings.adopt / 6) { [weak self] in self?.look() }
    guard engine.server != nil else { return }
    let present = term
    engine.rows(of: settings.place.key(.hosts), nil) { [weak self] outcome in
      guard let self, term == present, case .done(let found) = outcome else { return }
      rows = found.compactMapValues { FleetHostRow($0) }
      onLook()
      for host in silence.look(rows, at: timers.now) where host != settings.host {
        guard let row = rows[host] else { continue }
        silence.forget(host)
        onSilent(host, row)
      }
    }
  }
}
