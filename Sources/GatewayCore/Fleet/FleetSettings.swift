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
  /// How long a holder without a link to the server keeps the lease from others.
  var yield: Duration = .seconds(10)
  /// The servers of the engine: names or addresses.
  var servers: [String] = []
  /// The versions of the fleet's protocol that this host speaks.
  var versions = FleetWire.versions
  /// What this host has to have like the others.
  var agreement = FleetAgreement()

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

extension FleetSettings {
  /// Why this host can take no part, as the lease says what the fleet has agreed upon; nil where it can.
  func objection(to record: FleetLeaseRecord) -> UpstreamFailure? {
    if let version = record.version, !versions.contains(version) {
      let own = versions.count == 1 ? "\(versions.upperBound)" : "\(versions.lowerBound) to \(versions.upperBound)"
      return UpstreamFailure(
        .incompatible,
        "the fleet speaks version \(version) of its protocol, and \(host) speaks \(own); install the same gatewayd on all its hosts"
      )
    }
    let differences = agreement.differences(from: record.agreement)
    guard !differences.isEmpty else { return nil }
    let names = differences.map { FleetAgreement.setting($0, of: place.upstream) }.joined(separator: ", ")
    return UpstreamFailure(
      .fleet, "\(host) and the fleet disagree about \(names); what the holder has counts, make it the same on all hosts"
    )
  }
}
