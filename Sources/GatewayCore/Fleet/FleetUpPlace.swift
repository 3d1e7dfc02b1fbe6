/// How far the holder has read `up` on the present connection to the engine. Another server gives other positions, by its own
/// clock, also one that is the master once more: there `up` is read from its beginning, and the numbers of the calls tell
/// what was dealt with. So it is where the stream begins anew below what was read: where its key is deleted and the server's
/// clock has been set back, or an entry of a stranger stood far ahead. Who reads behind its end would wait there for good.
struct FleetUpPlace: Equatable {
  private(set) var position = FleetPosition.start
  /// Where it was when the last beat was sent. What was read since may be younger than what the beat tells.
  private var atBeat = FleetPosition.start

  mutating func go(to position: FleetPosition) {
    self.position = position
    atBeat = min(atBeat, position)
  }

  /// A beat is sent, which tells where the stream ends.
  mutating func beats() { atBeat = position }

  /// That is where. True where it had been read farther than that before: then it is read from its beginning.
  mutating func isBackAtStart(behind top: FleetPosition) -> Bool {
    guard top < atBeat else { return false }
    go(to: .start)
    return true
  }
}
