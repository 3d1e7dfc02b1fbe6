/// What is dealt with in one turn of the loop: so many calls, notes and bytes at most. A longer call has a turn of its own.
struct FleetTurn {
  /// Two to three milliseconds of work: a call costs up to 15 µs, with its write to the link or to the engine.
  static let limit = (count: 200, bytes: 1 << 20)
  /// How much of that may be notes, each of what became of a call: 10 µs where it is a step of the engine.
  static let noteLimit = limit.count / 2

  private var count = 0
  private var bytes = 0
  private var notes = 0

  /// Whether it has time for a call of so many bytes, which counts then. For one it has, whatever was noted.
  mutating func takes(_ size: Int) -> Bool {
    guard count == 0 || count + notes < Self.limit.count && bytes + size <= Self.limit.bytes else { return false }
    count += 1
    bytes += size
    return true
  }

  /// For how many notes it has time.
  var noteRoom: Int { Self.noteLimit - notes }

  /// So many were made, for which it had time.
  mutating func note(_ more: Int) { notes += more }
}
