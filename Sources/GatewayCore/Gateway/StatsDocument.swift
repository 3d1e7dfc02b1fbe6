/// The parts of the `stats` result. Members may be added over time, never changed. `StatsAnswer` puts them together.
enum StatsDocument {
  /// So many users are listed, those with the most clients; the others are counted together.
  static let userLimit = 100

  /// The member `daemon`, with clients and outbox of one user, or of all.
  static func writeDaemon(_ gateway: Gateway, of user: UInt32?, into out: inout JSONWriter) {
    let figures = gateway.seams.figures?(gateway.clients.count)
    out.key("daemon")
    out.object {
      $0.member("version", gateway.identity.version)
      $0.member("instance", gateway.instance)
      $0.member("time", gateway.seams.time.wallMilliseconds)
      $0.member("uptime", (gateway.seams.time.now - gateway.started).milliseconds)
      $0.member("rss", gateway.seams.residentBytes())
      StatusDocument.writeMemory(gateway, into: &$0)
      write(figures?.turns ?? DurationHistogram(), "turns", into: &$0)
      $0.member("longest_turn", gateway.seams.longestTurn.map { Int($0().nanoseconds / 1_000) })
      $0.key("descriptors")
      $0.object {
        $0.member("open", figures?.descriptors)
        $0.member("limit", figures?.descriptorLimit)
      }
      writeClients(gateway.clients.countsByUser, of: user, into: &$0)
      OutboxDocument.writeStatus(gateway.relay.outbox, of: user, &$0)
      $0.member("outbox_age", outboxAge(gateway, of: user))
    }
  }

  /// How long the oldest unfinished durable send of one user, or of all, has waited, in milliseconds.
  static func outboxAge(_ gateway: Gateway, of user: UInt32? = nil) -> Int64? {
    let lines = gateway.relay.outbox.usage.allLines.filter { user == nil || $0.owner == user }
    return lines.compactMap { $0.reader(from: 0) }.min().map {
      max(0, gateway.seams.time.wallMilliseconds - $0.record.entry.created)
    }
  }

  private static func writeClients(
    _ all: [(uid: UInt32, count: Int)], of user: UInt32?, into out: inout JSONWriter
  ) {
    let shown = user.map { user in all.filter { $0.uid == user } } ?? all
    out.key("clients")
    out.object {
      $0.member("count", shown.reduce(0) { $0 + $1.count })
      $0.key("users")
      $0.beginArray()
      for user in shown.prefix(userLimit) {
        $0.object {
          $0.member("uid", Int(user.uid))
          $0.member("clients", user.count)
        }
      }
      $0.endArray()
    }
  }

  /// An element of `connections`, with what waits for it in the outbox.
  static func write(_ connection: Connection, outbox amount: OutboxUsage.Amount, into out: inout JSONWriter) {
    let time = connection.context.time
    let now = time.now
    let counters = ConnectionCounters(of: connection, at: now)
    out.beginObject()
    out.member("connection", connection.id)
    StatusDocument.writeIdentity(connection, into: &out)
    out.member("reason", connection.downFailure?.reason.rawValue)
    // Both have the upstream's name.
    if let role = FleetDocument.role(connection) { out.member("role", role.rawValue) }
    out.key("down")
    out.object {
      $0.member("now", connection.record.down(at: now)?.milliseconds)
      $0.member("total", counters.down.milliseconds)
    }
    out.member("attempts", counters.attempts)
    out.member("reconnects", counters.reconnects)
    write(counters, into: &out)
    out.member("leases", connection.leaseCount)
    out.member("subscriptions", connection.stream.subscriptionCount)
    out.key("queue")
    out.object {
      $0.member("count", connection.delivery.commands.queue.count)
      $0.member("bytes", connection.delivery.commands.queue.byteCount)
      $0.member("age", connection.delivery.commands.queue.oldest.map { max(0, time.wallMilliseconds - $0) })
    }
    out.key("outbox")
    out.object {
      $0.member("count", amount.count)
      $0.member("bytes", amount.bytes)
    }
    out.endObject()
  }

  private static func write(_ counters: ConnectionCounters, into out: inout JSONWriter) {
    out.key("in")
    out.object {
      $0.member("events", counters.eventsIn)
      $0.member("bytes", counters.bytesIn)
    }
    out.key("out")
    out.object {
      $0.member("events", counters.eventsOut)
      $0.member("bytes", counters.bytesOut)
    }
    out.member("deliveries", counters.deliveries)
    out.member("gaps", counters.gaps)
    out.member("dropped", counters.dropped)
    out.member("unanswered", counters.unanswered)
    write(counters.latencies, "requests", into: &out)
  }

  /// Times in microseconds; the steps as they are counted.
  private static func write(_ histogram: DurationHistogram, _ name: String, into out: inout JSONWriter) {
    out.key(name)
    out.object {
      $0.member("count", histogram.count)
      $0.member("sum", histogram.sum / 1_000)
      $0.member("p50", histogram.quantile(0.5).map { $0 / 1_000 })
      $0.member("p99", histogram.quantile(0.99).map { $0 / 1_000 })
      $0.key("steps")
      $0.beginArray()
      for count in histogram.steps { $0.integer(count) }
      $0.endArray()
    }
  }

  // MARK: - Schema

  private static let durations = JSONSchema.object([
    .always("count", .count), .always("sum", .count, "Of all, in microseconds."),
    .always("p50", .optional(.count), "Half of them took at most so many microseconds, to a factor of two."),
    .always("p99", .optional(.count)),
    .always("steps", .list(.count), "Element i counts those of at most 2^(10 + i) nanoseconds and more than before."),
  ])

  private static let amount = JSONSchema.object([.always("count", .count), .always("bytes", .count)])
  private static let traffic = JSONSchema.object([.always("events", .count), .always("bytes", .count)])

  private static let connection = JSONSchema.object([
    .always("connection", .text), .always("upstream", .optional(.text)),
    .always("url", .text, "Without user info; query values are hidden."), .always("namespace", .text),
    .always("kind", .text), .always("state", ResultSchemas.connectionState),
    .always("reason", .optional(ResultSchemas.reason), "Why it is not connected."),
    .sometimes(
      "role", .choice(FleetRole.allCases.map(\.rawValue)), "Of an upstream whose link hosts share: what it is there."),
    .always(
      "down", .object([.always("now", .optional(.count)), .always("total", .count)]),
      "How long it is not connected, and was not in all, in milliseconds."),
    .always("attempts", .count), .always("reconnects", .count), .always("in", traffic), .always("out", traffic),
    .always("deliveries", .count, "Events that subscriptions were given as they came."),
    .always("gaps", .count, "Gaps that subscriptions were told."),
    .always("dropped", .count, "Events that slow subscriptions lost."),
    .always("unanswered", .count, "Events whose server wanted an answer and got none."),
    .always("requests", durations, "How long the server took to acknowledge or to answer."),
    .always("leases", .count), .always("subscriptions", .count),
    .always(
      "queue",
      .object([
        .always("count", .count), .always("bytes", .count),
        .always("age", .optional(.count), "How long the first has waited, in milliseconds."),
      ])),
    .always("outbox", amount, "Durable sends that are not finished."),
  ])

  static let schema = JSONSchema.object([
    .always(
      "daemon",
      .object([
        .always("version", .text), .always("instance", .text, "Counters begin anew with another one."),
        .always("time", .count, "When it was asked, in milliseconds since 1970."),
        .always("uptime", .count, "In milliseconds."), .always("rss", .count, "Resident memory in bytes."),
        .always("memory", ResultSchemas.memory),
        .always("turns", durations, "How long the loop was busy with one thing."),
        .always("longest_turn", .optional(.count), "In microseconds."),
        .always(
          "descriptors", .object([.always("open", .optional(.count)), .always("limit", .optional(.count))])),
        .always(
          "clients",
          .object([
            .always("count", .count),
            .always(
              "users", .list(.object([.always("uid", .count), .always("clients", .count)])),
              "Those with the most clients first, at most \(userLimit)."),
          ])),
        .always("outbox", ResultSchemas.outboxStatus),
        .always("outbox_age", .optional(.count), "How long the oldest unfinished one has waited, in milliseconds."),
      ])),
    .always("connections", .list(connection)),
    .always("left_out", .count, "How many connections did not fit into one line."),
  ])
}
