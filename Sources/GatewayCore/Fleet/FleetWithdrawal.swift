/// The durable sends that the engine has of this host for an upstream which the fleet shares no longer. This host writes
/// them by a link of its own from now on, and is silent in the fleet: a host that holds would take it for dead after a
/// while, and write them too. They are removed at once where the engine is reached, and otherwise as soon as it is.
final class FleetWithdrawal {
  let place: FleetPlace
  /// What the fleet called this host.
  let host: String
  /// Names of rows that the engine may still have.
  private let names: [String]
  private let engine: any FleetEngine
  private let timers: Timers
  private var retry: Timers.ID?

  /// Nothing is left.
  var onOver: () -> Void = {}

  init(_ place: FleetPlace, host: String, _ names: [String], engine: any FleetEngine, timers: Timers) {
    (self.place, self.host, self.names) = (place, host, names)
    self.engine = engine
    self.timers = timers
  }

  func begin() { engine.add(self) }

  /// Removes nothing more. Returns the names of the rows that the engine may still have.
  func end() -> [String] {
    engine.remove(self)
    timers.cancel(retry)
    return names
  }

  /// First from the box: what an adoption takes from there meanwhile is among the adopted ones then.
  private func remove() {
    engine.remove(names, of: place.key(.box(host: host))) { [weak self] outcome in
      switch outcome {
      case .done: self?.lookForAdopted()
      case .refused, .uncopied: self?.removeLater()
      // Once more on the next connection.
      case .fenced, .unanswered: break
      }
    }
  }

  /// A host that never holds may read there, and remove nothing.
  private func lookForAdopted() {
    engine.names(of: place.key(.adopted)) { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      case .done(let all):
        let own = Set(names.map { "\(self.host)/\($0)" })
        let left = all.filter(own.contains)
        if left.isEmpty { over() } else { removeAdopted(left) }
      case .refused, .uncopied: removeLater()
      case .fenced, .unanswered: break
      }
    }
  }

  /// Where this host's user may: what the one that holds has read already is written all the same.
  private func removeAdopted(_ left: [String]) {
    engine.remove(left, of: place.key(.adopted)) { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      case .done, .refused: over()
      case .uncopied: removeLater()
      case .fenced, .unanswered: break
      }
    }
  }

  private func removeLater() {
    timers.cancel(retry)
    retry = timers.after(FleetRefusal.pause) { [weak self] in self?.remove() }
  }

  private func over() {
    _ = end()
    onOver()
  }
}

extension FleetWithdrawal: FleetEngineReceiver {
  func engineGained(_ server: FleetServer) { remove() }
  func engineLost(_ failure: UpstreamFailure) { timers.cancel(retry) }
  func engineRead(_ records: [FleetRecord], of key: FleetKey) {}
  func engineReachedEnd(of key: FleetKey) {}
}
