/// What a host has counted as one that may hold an upstream, since it started.
struct FleetCounters: Equatable, Sendable {
  /// Terms that it began.
  var takeOvers: UInt64 = 0
  /// How often it could not be confirmed in time, and wrote nothing.
  var lapses: UInt64 = 0
  /// Beats that were answered later than half a lease after their sending.
  var lateBeats: UInt64 = 0
  /// How often another host had taken what it held.
  var fences: UInt64 = 0
  /// Durable sends of dead hosts that it made the fleet's.
  var adopted: UInt64 = 0
  /// What crossed its links to the server, for all hosts.
  var received = Traffic()
  var sent = Traffic()

  struct Traffic: Equatable, Sendable {
    /// Events, or messages.
    var events: UInt64 = 0
    /// Of their names and arguments.
    var bytes: UInt64 = 0

    mutating func count(_ size: Int) {
      events += 1
      bytes += UInt64(size)
    }
  }
}
