/// What metrics say of the fleet that a host is in: nothing elsewhere.
enum FleetMetrics {
  /// In the order of the text.
  static var families: [MetricFamily<DaemonFigures>] { server + link + holding }

  private static var server: [MetricFamily<DaemonFigures>] {
    [
      .init("fleet_redis_reached", .gauge, "1 while the fleet's Redis is reached, else 0.") {
        if let fleet = $0.gateway.upstreams.fleet { $1.value(fleet.engine.server == nil ? 0 : 1) }
      },
      .init(
        "fleet_redis_round_trip_seconds", .gauge,
        "How long it took for its last answer; not there while it is not reached."
      ) {
        if let time = $0.gateway.upstreams.fleet?.engine.roundTrip { $1.seconds(time) }
      },
    ]
  }

  private static var link: [MetricFamily<DaemonFigures>] {
    [
      family("fleet_hosts", .gauge, "Hosts that are not known to be dead.") { link, _ in link.roster.presentCount },
      family("fleet_behind_events", .gauge, "Events that this host has not read.") { link, _ in
        Int(clamping: link.behind ?? 0)
      },
      family("fleet_unconfirmed_sends", .gauge, "What this host said and the holder has not written yet.") { link, _ in
        link.unconfirmed
      },
    ]
  }

  private static var holding: [MetricFamily<DaemonFigures>] {
    [
      family("fleet_holds", .gauge, "1 while this host has the link and may write, else 0.") {
        $1?.mayWrite == true ? 1 : 0
      },
      counter("fleet_take_overs", "How often this host has taken the link.", \.takeOvers),
      counter("fleet_lapses", "How often it was not confirmed in time, and wrote nothing.", \.lapses),
      counter("fleet_late_beats", "Signs of life that were confirmed later than half a lease.", \.lateBeats),
      counter("fleet_fences", "How often another host had taken what this one had.", \.fences),
      counter("fleet_adopted_sends", "Durable sends of dead hosts that this one made the fleet's.", \.adopted),
      counter(
        "fleet_link_received_events", "Events that came over this host's links, for all hosts.", \.received.events),
      counter("fleet_link_received_bytes", "Bytes of their names and arguments.", \.received.bytes),
      counter("fleet_link_sent_events", "Messages that this host wrote to the server, for all hosts.", \.sent.events),
      counter("fleet_link_sent_bytes", "Their bytes.", \.sent.bytes),
    ]
  }

  private static func family(
    _ name: String, _ type: MetricType, _ help: String, _ value: @escaping (FleetLink, FleetHolder?) -> Int
  ) -> MetricFamily<DaemonFigures> {
    .init(name, type, labels: ["upstream", "namespace"], help) { figures, writer in
      guard let fleet = figures.gateway.upstreams.fleet else { return }
      for place in fleet.places {
        guard let link = fleet.link(of: place) else { continue }
        writer.subject = ("upstream", place.upstream)
        writer.value(value(link, fleet.holder(of: place)), ("namespace", ShownAddress.namespace(place.namespace)))
      }
      writer.subject = nil
    }
  }

  private static func counter(
    _ name: String, _ help: String, _ path: KeyPath<FleetCounters, UInt64>
  ) -> MetricFamily<DaemonFigures> {
    family(name, .counter, help) { Int(clamping: $1?.counters[keyPath: path] ?? 0) }
  }
}
