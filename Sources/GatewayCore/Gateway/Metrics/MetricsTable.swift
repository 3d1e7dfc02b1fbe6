/// One family of metrics: what it is called, what it says, and how its samples are written for a subject.
struct MetricFamily<Subject> {
  /// Without the `_total` that samples of a counter have.
  let name: String
  let type: MetricType
  /// The labels of its samples, beside that of its subject.
  let labels: [String]
  /// One sentence.
  let help: String
  let write: (Subject, inout MetricsWriter) -> Void

  init(
    _ name: String, _ type: MetricType, labels: [String] = [], _ help: String,
    _ write: @escaping (Subject, inout MetricsWriter) -> Void
  ) {
    self.name = "gatewayd_" + name
    self.type = type
    self.labels = labels
    self.help = help
    self.write = write
  }
}

/// What the metrics of the whole daemon are written from: the process is asked once.
struct DaemonFigures {
  let gateway: Gateway
  let process: ProcessFigures?

  init(_ gateway: Gateway) {
    self.gateway = gateway
    process = gateway.seams.figures?(gateway.clients.count)
  }
}

/// Every metric, in the order of the text. Names, types and labels never change once released; `docs/metrics.md` has
/// the same table. The families are made when they are asked for: a daemon without metrics holds none.
enum MetricsTable {
  /// What is of the whole daemon.
  static var daemon: [MetricFamily<DaemonFigures>] { process + sharing + FleetMetrics.families }

  private static var process: [MetricFamily<DaemonFigures>] {
    [
      .init("build_info", .gauge, labels: ["version"], "Always 1; the label has the version.") {
        $1.value(1, ("version", $0.gateway.identity.version))
      },
      .init("start_time_seconds", .gauge, "When the daemon started, in seconds since 1970.") {
        $1.value($0.gateway.startedAt / 1_000)
      },
      .init("loop_turn_seconds", .histogram, "How long the loop was busy with one thing while all others waited.") {
        if let process = $0.process { $1.histogram(process.turns, powers: [14, 16, 18, 20, 22, 24, 26, 28, 30]) }
      },
      .init("loop_turn_longest_seconds", .gauge, "The longest of these since the start.") {
        if let longest = $0.gateway.seams.longestTurn?() { $1.seconds(longest) }
      },
      .init("resident_memory_bytes", .gauge, "Memory that the daemon occupies.") {
        $1.value($0.gateway.seams.residentBytes())
      },
      .init("open_descriptors", .gauge, "File descriptors that are open.") {
        if let process = $0.process { $1.value(process.descriptors) }
      },
      .init("descriptors_limit", .gauge, "How many file descriptors may be open.") {
        if let process = $0.process { $1.value(process.descriptorLimit) }
      },
    ]
  }

  private static var sharing: [MetricFamily<DaemonFigures>] {
    [
      .init("held_bytes", .gauge, labels: ["kind"], "Bytes that are held by what others send, of each kind.") {
        $1.value($0.gateway.seams.memory.receive.used, ("kind", "receive"))
        $1.value($0.gateway.seams.memory.send.used, ("kind", "send"))
        $1.value($0.gateway.seams.memory.history.used, ("kind", "history"))
        $1.value($0.gateway.relay.outbox.usage.total.bytes, ("kind", "outbox"))
      },
      .init(
        "clients", .gauge, labels: ["uid"], "Local clients of each user; of those with the fewest together as others."
      ) {
        let users = $0.gateway.clients.countsByUser
        for user in users.prefix(StatsDocument.userLimit) { $1.value(user.count, ("uid", String(user.uid))) }
        let others = users.dropFirst(StatsDocument.userLimit)
        if !others.isEmpty { $1.value(others.reduce(0) { $0 + $1.count }, ("uid", "others")) }
      },
      .init("outbox_available", .gauge, "1 where there is an outbox, working or not, else 0.") {
        if case .unavailable = $0.gateway.relay.outbox.rows.condition { $1.value(0) } else { $1.value(1) }
      },
      .init("outbox_working", .gauge, "1 while durable sends can be kept, else 0.") {
        $1.value($0.gateway.relay.keepsSends ? 1 : 0)
      },
      .init("outbox_entries", .gauge, "Durable sends that are not finished.") {
        $1.value($0.gateway.relay.outbox.usage.total.count)
      },
      .init("outbox_bytes", .gauge, "Their bytes.") { $1.value($0.gateway.relay.outbox.usage.total.bytes) },
      .init("outbox_oldest_seconds", .gauge, "How long the oldest of them has waited; 0 without any.") {
        $1.seconds(.milliseconds(StatsDocument.outboxAge($0.gateway) ?? 0))
      },
    ]
  }

  /// What is of each upstream, under the label `upstream`.
  static var upstream: [MetricFamily<UpstreamFigures>] { states + traffic + waiting }

  private static var states: [MetricFamily<UpstreamFigures>] {
    [
      .init(
        "upstream_connections", .gauge, labels: ["state"],
        "Connections in each state; an upstream has one for each namespace."
      ) {
        for state in ConnectionState.allCases where state != .released {
          $1.value($0.states[state] ?? 0, ("state", state.rawValue))
        }
      },
      .init(
        "upstream_connections_down", .gauge, labels: ["reason"], "Connections that are down for each reason there is."
      ) {
        for (reason, count) in $0.reasons.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
          $1.value(count, ("reason", reason.rawValue))
        }
      },
      .init("upstream_down_seconds", .gauge, "How long the connection that is down the longest is so; 0 without any.") {
        $1.seconds($0.longestDown)
      },
      .init("upstream_downtime_seconds", .counter, "How long connections were not connected, all together.") {
        $1.seconds($0.counters.down)
      },
      .init("upstream_attempts", .counter, "Attempts to connect.") { $1.value($0.counters.attempts) },
      .init("upstream_reconnects", .counter, "How often a lost connection came back.") {
        $1.value($0.counters.reconnects)
      },
    ]
  }

  private static var traffic: [MetricFamily<UpstreamFigures>] {
    [
      .init("upstream_received_events", .counter, "Events that came from the server.") {
        $1.value($0.counters.eventsIn)
      },
      .init("upstream_received_bytes", .counter, "Bytes of their names and arguments.") {
        $1.value($0.counters.bytesIn)
      },
      .init("upstream_sent_events", .counter, "Messages that were written to the server.") {
        $1.value($0.counters.eventsOut)
      },
      .init("upstream_sent_bytes", .counter, "Their bytes.") { $1.value($0.counters.bytesOut) },
      .init("upstream_deliveries", .counter, "Events that subscriptions were given, each counted for each of them.") {
        $1.value($0.counters.deliveries)
      },
      .init("upstream_gaps", .counter, "Gaps that subscriptions were told.") { $1.value($0.counters.gaps) },
      .init("upstream_dropped_events", .counter, "Events that subscriptions lost because their clients did not read.") {
        $1.value($0.counters.dropped)
      },
      .init("upstream_unanswered_events", .counter, "Events whose server wanted an answer and got none.") {
        $1.value($0.counters.unanswered)
      },
      .init("upstream_request_seconds", .histogram, "How long the server took to acknowledge or to answer.") {
        $1.histogram($0.counters.latencies, powers: [18, 20, 22, 24, 26, 28, 30, 32, 34, 36])
      },
    ]
  }

  private static var waiting: [MetricFamily<UpstreamFigures>] {
    [
      .init("upstream_subscriptions", .gauge, "Subscriptions of local programs.") { $1.value($0.subscriptions) },
      .init("upstream_queued_sends", .gauge, "Sends that wait to be written, durable ones included.") {
        $1.value($0.queue.count)
      },
      .init("upstream_queued_bytes", .gauge, "Their bytes.") { $1.value($0.queue.bytes) },
      .init("upstream_queue_oldest_seconds", .gauge, "How long the oldest of them has waited; 0 without any.") {
        $1.seconds($0.queue.age)
      },
      .init("upstream_outbox_entries", .gauge, "Durable sends that are not finished.") { $1.value($0.outbox.count) },
      .init("upstream_outbox_bytes", .gauge, "Their bytes.") { $1.value($0.outbox.bytes) },
    ]
  }
}
