/// What one connection has counted since it exists, or several together: all of it only grows.
struct ConnectionCounters {
  /// Events that came, and their bytes.
  var eventsIn: UInt64 = 0
  var bytesIn: UInt64 = 0
  /// Messages that were written, and their bytes.
  var eventsOut: UInt64 = 0
  var bytesOut: UInt64 = 0
  /// Events that subscriptions were given as they came.
  var deliveries: UInt64 = 0
  /// Gaps that subscriptions were told.
  var gaps: UInt64 = 0
  /// Events that were lost to subscriptions whose clients did not keep up.
  var dropped: UInt64 = 0
  /// Events whose server wanted an answer and got none.
  var unanswered: UInt64 = 0
  var attempts: UInt64 = 0
  var reconnects: UInt64 = 0
  /// How long it was not connected.
  var down = Duration.zero
  /// How long servers took to acknowledge or to answer.
  var latencies = DurationHistogram()

  init() {}

  init(of connection: Connection, at now: MonotonicInstant) {
    let (stream, delivery) = (connection.stream, connection.delivery)
    (eventsIn, bytesIn) = (stream.eventCount, stream.byteCount)
    (eventsOut, bytesOut) = (delivery.commands.sentEvents, delivery.commands.sentBytes)
    deliveries = stream.deliveryCount
    (gaps, dropped) = (stream.losses.gaps, stream.losses.dropped)
    unanswered = connection.answers.unanswered
    attempts = connection.generation
    reconnects = UInt64(connection.record.reconnects)
    down = connection.record.totalDown(at: now)
    latencies = delivery.commands.latencies
  }

  /// What it adds to the figures of its upstream: what crosses the link of a fleet is the fleet's, and the part of this
  /// host's programs is counted by their connection, which is down while the link is.
  static func ofUpstream(_ connection: Connection, at now: MonotonicInstant) -> ConnectionCounters {
    connection.specification.isHeld ? ConnectionCounters() : ConnectionCounters(of: connection, at: now)
  }

  /// Counts what another one has counted.
  mutating func add(_ other: ConnectionCounters) {
    eventsIn += other.eventsIn
    bytesIn += other.bytesIn
    eventsOut += other.eventsOut
    bytesOut += other.bytesOut
    deliveries += other.deliveries
    gaps += other.gaps
    dropped += other.dropped
    unanswered += other.unanswered
    attempts += other.attempts
    reconnects += other.reconnects
    down += other.down
    latencies.add(other.latencies)
  }
}
