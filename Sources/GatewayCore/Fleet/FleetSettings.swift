/// How a host takes part in one upstream of a fleet.
struct FleetSettings: Equatable, Sendable {
  var place: FleetPlace
  /// What the fleet calls this host.
  var host: String
  /// How long a holder may write after the sending of its last confirmed beat.
  var lease: Duration = .seconds(3)
  /// How long a conversation outlives the loss of the engine, and a lapsed holder keeps its link.
  var grace: Duration = .seconds(10)
  /// How long an attempt waits for the engine.
  var handshake: Duration = .seconds(10)
  /// How long a host is silent before its durable sends become the fleet's.
  var adopt: Duration = .seconds(30)
  /// How many hosts are to take the lease before this one.
  var rank = 0
  /// The servers of the engine: names or addresses.
  var servers: [String] = []

  init(place: FleetPlace, host: String) {
    self.place = place
    self.host = host
  }
}

/// The highest that a host has seen of each number, for an engine that has forgotten.
struct FleetTops: Equatable, Sendable {
  var term: UInt64 = 0
  var conversation: UInt64 = 0
  var sequence: UInt64 = 0

  mutating func note(_ marker: FleetMarker, at position: FleetPosition) {
    term = max(term, marker.term)
    conversation = max(conversation, position.conversation)
    sequence = max(sequence, marker.sequence)
  }

  mutating func note(_ position: FleetPosition) {
    conversation = max(conversation, position.conversation)
    sequence = max(sequence, position.number)
  }
}
