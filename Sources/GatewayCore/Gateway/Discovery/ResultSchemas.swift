/// What the methods answer.
enum ResultSchemas {
  static let connectionState = JSONSchema.choice(ConnectionState.allCases.map(\.rawValue))
  static let state = JSONSchema.object([.always("state", connectionState)])
  static let reason = JSONSchema.choice(DownReason.allCases.map(\.rawValue))
  private static let verbs = JSONSchema.choice(AccessVerb.allCases.map(\.rawValue))
  /// Milliseconds since 1970.
  private static let instant = JSONSchema.count

  static let hello = JSONSchema.object([
    .always("server", .text, "Name and version."),
    .always("protocol", .object([.always("min", .count), .always("max", .count)]), "Versions that are understood."),
    .always("instance", .text, "Changes whenever the daemon starts."),
    .always(
      "limits",
      .object([
        .always("line", .count, "Longest line in either direction, in bytes."),
        .always("subscriptions", .count, "Subscriptions of one client."),
        .always("inflight", .count, "Calls of one client that are not answered yet."),
        .always("queue", .count, "Events queued for one subscription."),
      ])),
    .always("features", .list(.text)),
    .always(
      "you", .object([.always("uid", .count), .always("gid", .count), .always("rights", .list(verbs))]),
      "Who the client is, and what it may do."),
  ])

  /// Whether the connection is up, and if not, why.
  private static let upstream = JSONSchema.object([
    .always("state", connectionState), .always("reason", .optional(reason)), .always("detail", .optional(.text)),
    .sometimes("status", .count, "HTTP status or WebSocket close code."),
    .sometimes("attempt", .count, "How many attempts have failed since the connection was up."),
    .sometimes("in", .count, "Milliseconds until the next attempt."),
  ])

  static let subscribe = JSONSchema.object([
    .always("subscription", .text), .always("connection", .text), .always("state", connectionState),
    .always("epoch", .text, "Ends exactly when continuity is lost."),
    .always("seq", .count, "The number of the last event so far."),
    .always("recovered", .boolean, "Whether everything since the asked position follows."),
    .always("replayed", .count, "How many events of the history follow before anything new."),
    .sometimes("first_epoch", .text, "The epoch of what follows first, where that is an earlier one."),
    .always("upstream", upstream, "Whether the connection is up, and if not, why."),
  ])

  private static let pastEvent = JSONSchema.object([
    .always("seq", .count), .always("time", .count, "When it arrived, in milliseconds since 1970."),
    .always("event", .text), .always("args", .list(.any)), .sometimes("kwargs", .object([])),
  ])

  static let history = JSONSchema.object([
    .always("events", .list(pastEvent), "Oldest first."), .always("epoch", .text),
    .always("seq", .count, "Where the answer ends: `since` with it goes on there."),
    .always("complete", .boolean, "Whether nothing that was asked for is missing up to there."),
    .sometimes("missing", .list(.choice(GapReason.allCases.map(\.rawValue))), "Why something is missing up to there."),
    .sometimes(
      "detail", .optional(.text), "Why what other hosts of a fleet have heard could not be read, in a sentence."),
    .always("more", .boolean, "Whether the limit, or that of a line, left out newer ones."),
  ])

  static let send = JSONSchema.object([
    .always("id", .text),
    .always(
      "state",
      .choice(
        DeliveryLevel.allCases.map(\.rawValue) + ["queued", "expired", "cancelled", "refused", "dropped", "lost"]),
      "What became of it so far; of a duplicate, what became of the first one."),
    .sometimes("args", .list(.any), "What the server answered; with `acked` only."),
    .sometimes("kwargs", .object([]), "The same, where the upstream has such."),
    .sometimes("reason", .text, "By what it was dropped."),
    .sometimes("duplicate", .boolean, "The same key was sent before; this is the first one's id."),
    .always("upstream", upstream, "Whether the connection is up, and if not, why."),
  ])

  static let outbox = JSONSchema.object([
    .always(
      "entries",
      .list(
        .object([
          .always("id", .text), .always("upstream", .optional(.text)),
          .sometimes("url", .text, "For an upstream that is not configured; query values are hidden."),
          options, .always("namespace", .text), .always("event", .text),
          .always("state", .choice(OutboxState.allCases.map(\.rawValue))), .always("created", instant),
          .always("expires", .optional(instant)), .always("attempts", .count), .always("reason", .optional(.text)),
          .always("uid", .count),
          .sometimes("host", .text, "Whose it is, where this host writes it for another one of its fleet."),
          .sometimes("key", .text), .sometimes("ended", instant),
          .sometimes("args", .list(.any), "What the server acknowledged with, unless that was long."),
          .sometimes(
            "size", .count, "In bytes, of an entry that fits into no line: long texts of it are cut, others left out."),
        ]))),
    .always("more", .boolean, "There are further entries behind these."),
  ])

  static let outboxStatus = JSONSchema.object([
    .always("state", .choice(["working", "failing", "unavailable"])), .always("reason", .optional(.text)),
    .always("detail", .optional(.text)),
    .sometimes("warning", .optional(.text), "What needs attention although it works."), .always("queued", queue),
    .always("finished", .count),
  ])

  static let doctorStep = JSONSchema.object([
    .always("step", .choice(DoctorStep.allCases.map(\.rawValue))),
    .always("verdict", .choice(DoctorVerdict.allCases.map(\.rawValue))),
    .always("code", .text, "What was found, for programs."), .always("seen", .text, "The same for people."),
    .always("advice", .optional(.text), "What to do about it."), .always("took", .count, "In milliseconds."),
  ])

  static let doctor = JSONSchema.object([
    .always("verdict", .choice(["ok", "warning", "failed"]), "The worst of the steps."),
    .always("steps", .list(doctorStep)),
  ])

  private static let queue = JSONSchema.object([.always("count", .count), .always("bytes", .count)])

  static let client = JSONSchema.object([
    .always("client", .text), .always("name", .optional(.text)), .always("uid", .count), .always("gid", .count),
    .sometimes("pid", .count), .always("since", instant), .always("subscriptions", .count), .always("requests", .count),
    .always("queue", queue), .always("dropped", .count),
  ])

  private static let traffic = JSONSchema.object([.always("events", .count), .always("bytes", .count)])

  private static let serverTime = JSONSchema.object([
    .always("offset", .integer(nil), "The server's clock minus the local one, in milliseconds."),
    .always("error", .count, "The truth is at most so far from it, in milliseconds."),
    .always("samples", .count), .always("source", .choice(ClockSample.Source.allCases.map(\.rawValue))),
    .always("followed", .boolean, "Whether the time of events follows it."),
  ])

  /// Of a connection, and of an entry of the outbox.
  private static let options = JSONSchema.Member.sometimes(
    "options",
    .object([
      .sometimes("path", .text), .sometimes("headers", .object([])), .sometimes("query", .object([])),
      .sometimes("tls", .object([.sometimes("ca", .text), .sometimes("verify", .boolean)])),
    ]),
    "What a program said of the URL; values of headers and query are hidden, and of certificates the length is told.")

  static let fleetServer = JSONSchema.object([
    .always("state", .choice(["working", "refusing", "unreachable"])), .always("server", .optional(.text)),
    .always("version", .optional(.text)), .always("rtt", .optional(.number), "In milliseconds."),
    .always("reason", .optional(reason)),
    .always("detail", .optional(.text), "Why it is not reached, or what it refuses."),
    .always("warning", .optional(.text), "What may go wrong with it."),
  ])

  private static let fleetOfDaemon = JSONSchema.object([
    .always("name", .text, "Of the fleet."), .always("host", .text, "What the fleet calls this host."),
    .always("warning", .optional(.text)), .always("redis", fleetServer),
  ])

  static let fleet = JSONSchema.object([
    .always("role", .choice(FleetRole.allCases.map(\.rawValue))),
    .always("name", .text, "Of the fleet."),
    .always("host", .text, "What the fleet calls this host."),
    .always("holds", .boolean, "Whether this host has the link."),
    .always("holder", .optional(.text), "The host that has it."),
    .always("term", .count, "Grows with each host that takes the link; 0 before the first is known."),
    .always("conversation", .count, "Grows whenever the link opens, ends or is taken; 0 before the first is known."),
    .always("lease", .optional(.count), "Milliseconds for which the holder may still write without another beat."),
    .always("behind", .optional(.count), "Events that this host has not read; null while it reads none."),
    .always("unconfirmed", .count, "What this host said and the holder has not written yet."),
    .always("hosts", .count, "Hosts that are not known to be dead."),
    .always("carried", .count, "Durable sends of dead hosts that this host has taken on."),
    .always("warning", .optional(.text)),
    .always("redis", fleetServer),
  ])

  private static let connection = JSONSchema.object([
    .always("connection", .text), .sometimes("link", .optional(.text)), .always("upstream", .optional(.text)),
    .always("url", .text, "Without user info; query values are hidden."), .always("namespace", .text),
    options,
    .always("kind", .text), .always("state", connectionState), .always("since", instant),
    .sometimes("down_since", .optional(instant), "Since when it is needed and not connected; attempts do not move it."),
    .sometimes("last_connected", .optional(instant), "When it last became connected."),
    .sometimes("reason", .optional(reason)), .sometimes("detail", .optional(.text)),
    .sometimes("status", .count, "HTTP status or WebSocket close code."),
    .sometimes("rule", .optional(.text), "The keeper's rule that last spoke."),
    .sometimes("why", .optional(.text), "Why it spoke so."), .always("attempt", .count),
    .sometimes("generation", .count, "Number of the last attempt."),
    .sometimes("next", .optional(.count), "Milliseconds until the next attempt."),
    .sometimes("needed", .boolean, "Whether a program, a send or the configuration needs it."),
    .always("leases", .count), .always("subscriptions", .count),
    .sometimes("entered", .count, "Messages that are said at every connect."),
    .always(
      "queue",
      .object([.always("count", .count), .always("bytes", .count), .always("oldest", .optional(instant))])),
    .sometimes("server", .optional(.text), "Scheme, host and port that the link goes to."),
    .sometimes("transport", .optional(.text)), .sometimes("protocol", .optional(.object([]))),
    .sometimes("tls", .optional(.text)), .sometimes("verified", .optional(.boolean)),
    .sometimes("proxy", .optional(.text)),
    .sometimes("compression", .boolean, "Whether the server agreed to compressed WebSocket messages."),
    .sometimes("sid", .optional(.text)), .sometimes("rtt", .optional(.number), "In milliseconds."),
    .sometimes(
      "heartbeat",
      .optional(
        .object([
          .always("interval", .count), .always("timeout", .count),
          .sometimes("age", .optional(.count), "Milliseconds since the last one was heard, or since the link opened."),
        ]))),
    .always("epoch", .text), .always("seq", .count), .always("in", traffic), .always("out", traffic),
    .sometimes(
      "history",
      .object([
        .always("events", .count, "How many are kept."), .always("bytes", .count),
        .always("oldest", .optional(.count), "The number of the oldest that is kept."),
        .always("disk", .choice(ConnectionHistory.Condition.allCases.map(\.rawValue)), "Whether it is on disk too."),
        .always(
          "runtime", .choice(ConnectionHistory.Condition.allCases.map(\.rawValue)),
          "Whether it outlives the daemon, but not the machine's restarts."),
        .always("reason", .optional(.choice(StorageProblem.ofHistories.map(\.rawValue)))),
        .always("detail", .optional(.text), "Why it is not, in a sentence."),
      ])),
    .always("reconnects", .count),
    .sometimes("unanswered", .count, "Events whose server wanted an answer and got none."),
    .sometimes("time", .optional(serverTime), "What is known of the server's clock."),
    .sometimes("fleet", fleet, "Of an upstream whose link hosts share."),
  ])

  /// Bytes.
  static let memory = JSONSchema.object([
    .always("receive", .count), .always("send", .count), .always("history", .count), .always("outbox", .count),
    .always("limit", .count, "What all of it may be together."),
  ])

  static let status = JSONSchema.object([
    .always(
      "daemon",
      .object([
        .always("version", .text), .always("instance", .text), .always("uptime", .count, "In milliseconds."),
        .always("pid", .count), .sometimes("rss", .optional(.count), "Resident memory in bytes."),
        .sometimes("memory", memory, "What grows by what others send."),
        .sometimes(
          "longest_turn", .optional(.count),
          "The longest time in microseconds, since the start, for which one thing made everything else wait."),
        .sometimes("handover", .count, "How often one daemon went on with the clients of the one before."),
        .always("state", .text), .sometimes("outbox", outboxStatus),
        .sometimes("fleet", fleetOfDaemon, "Where the configuration has one."),
      ])),
    .always("connections", .list(connection)), .always("clients", .list(client)),
    .sometimes(
      "left_out", .object([.always("connections", .count), .always("clients", .count)]),
      "How many did not fit into one line."),
  ])
}
