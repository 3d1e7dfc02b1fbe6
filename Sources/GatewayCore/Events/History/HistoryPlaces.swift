/// Where histories outlive the daemon: each in one place at most. Decisions 0042 and 0117.
struct HistoryPlaces {
  /// In the state folder: they outlive the machine's restarts as well.
  let state: HistoryLogs
  /// In the folder that the service manager keeps as long as the machine runs; nil where there is none.
  let runtime: HistoryLogs?

  /// Where one with these settings is kept; nil: in memory alone.
  func place(of settings: HistorySettings) -> HistoryLogs? {
    switch settings.disk {
    case true?: state
    case false?: nil
    case nil: settings.isForRuntime ? runtime : nil
    }
  }

  /// Tells what happens to a history.
  func report(to listener: @escaping (HistoryLog.Identity, HistoryReport) -> Void) {
    state.onReport = listener
    runtime?.onReport = listener
  }

  /// To be called now and then: goes on looking for old files.
  func tick() {
    state.tick()
    runtime?.tick()
  }

  /// A configuration is in force that wants those of the names `kept` in the state folder, and in the other one those of
  /// these upstreams. Of the others that no connection has as many may stay as `bounds` says.
  func adopt(keeping kept: Set<String>, ofUpstreams names: [String], atMost bounds: SharedBounds) {
    state.adopt(keeping: kept, atMost: bounds)
    // What an earlier daemon left of these waits for its connection, and goes when it is too old.
    runtime?.adopt(ofUpstreams: names, atMost: bounds)
  }
}

extension HistorySettings {
  /// Whether a history with these settings need not outlive the machine's restarts, and outlives the daemon's.
  var isForRuntime: Bool { disk == nil && events > 0 }
}
