/// The parts of the `status` result: what the daemon, its connections and its clients are doing. Members may be added
/// over time, never changed. `StatusAnswer` puts them together.
enum StatusDocument {
  /// How long an answer may be where its lists end, in bytes: what stands behind them has to fit into the line, too.
  static func listLimit(_ gateway: Gateway) -> Int { gateway.configuration.limits.line - 256 }

  /// The member `daemon`, with the outbox of one user, or of all, and the fleet as far as a program may see it.
  static func writeDaemon(
    _ gateway: Gateway, outboxOf user: UInt32?, shownTo caller: Caller, into out: inout JSONWriter
  ) {
    out.key("daemon")
    out.object {
      $0.member("version", gateway.identity.version)
      $0.member("instance", gateway.instance)
      $0.member("uptime", (gateway.seams.time.now - gateway.started).milliseconds)
      $0.member("pid", Int(gateway.identity.pid))
      $0.member("rss", gateway.seams.residentBytes())
      $0.member("longest_turn", gateway.seams.longestTurn.map { Int($0().nanoseconds / 1_000) })
      writeMemory(gateway, into: &$0)
      $0.member("handover", gateway.handovers)
      $0.member("state", gateway.isDraining ? "draining" : "running")
      OutboxDocument.writeStatus(gateway.relay.outbox, of: user, &$0)
      FleetDocument.writeDaemon(gateway.upstreams.fleet, shownTo: caller, into: &$0)
    }
  }

  /// What grows by what others send, in bytes, and what all of it may be together. The outbox holds unfinished entries
  /// twice, and finished ones.
  static func writeMemory(_ gateway: Gateway, into out: inout JSONWriter) {
    let budgets = gateway.seams.memory
    let outbox = gateway.configuration.outbox
    let limits = [budgets.receive, budgets.send, budgets.history].map(\.limit.total)
    out.key("memory")
    out.object {
      $0.member("receive", budgets.receive.used)
      $0.member("send", budgets.send.used)
      $0.member("history", budgets.history.used)
      $0.member("outbox", gateway.relay.outbox.usage.total.bytes)
      $0.member("limit", limits.reduce(2 * outbox.totalBytes + outbox.bytes, +))
    }
  }

  /// An element of `clients`.
  static func write(_ client: LocalSession, into out: inout JSONWriter) {
    out.object {
      $0.member("client", client.label)
      $0.member("name", client.name)
      $0.member("uid", Int(client.peer.uid))
      $0.member("gid", Int(client.peer.gid))
      $0.member("pid", Int(client.peer.pid))
      $0.member("since", client.since)
      $0.member("subscriptions", client.subscriptions.count)
      $0.member("requests", client.openCallCount)
      $0.key("queue")
      $0.object {
        $0.member("count", client.subscriptions.queuedCount)
        $0.member("bytes", client.subscriptions.queuedBytes + client.output.pointee.count)
      }
      $0.member("dropped", Int(clamping: client.subscriptions.dropped))
    }
  }

  /// An element of `connections`.
  static func write(_ connection: Connection, of fleet: Fleet?, into out: inout JSONWriter) {
    let specification = connection.specification
    let facts = connection.channel?.facts
    out.beginObject()
    out.member("connection", connection.id)
    out.member("link", facts?.link)
    writeIdentity(connection, into: &out)
    if let options = specification.options {
      out.key("options")
      options.writeShown(into: &out)
    }
    out.member("since", connection.record.sinceWall)
    out.member("down_since", connection.record.downSince)
    out.member("last_connected", connection.record.lastConnected)
    writeReason(connection, into: &out)
    out.key("needed")
    out.bool(connection.isOccupied)
    out.member("leases", connection.leaseCount)
    out.member("subscriptions", connection.stream.subscriptionCount)
    out.member("entered", connection.enters.heldCount)
    writeQueue(connection, into: &out)
    writeLink(facts, specification, into: &out)
    writeTraffic(connection, into: &out)
    writeTime(connection, into: &out)
    FleetDocument.write(connection, of: fleet, into: &out)
    out.endObject()
  }

  /// Which connection it is, without secrets, and its state.
  static func writeIdentity(_ connection: Connection, into out: inout JSONWriter) {
    let specification = connection.specification
    out.member("upstream", specification.name)
    // A URL that is not configured was spelled by whoever came first.
    out.member("url", specification.name == nil ? specification.url.short.redacted : specification.url.redacted)
    out.member("namespace", specification.shownNamespace)
    out.member("kind", connection.connector.kind)
    out.member("state", connection.state.rawValue)
  }

  /// The member `upstream` of what `send` and `subscribe` answer: whether the connection is up and, if not, why.
  static func writeUpstream(_ connection: Connection, into out: inout JSONWriter) {
    guard connection.state != .connected else {
      return out.finish(#","upstream":{"state":"connected","reason":null,"detail":null}"#)
    }
    let failure = connection.downFailure
    out.key("upstream")
    out.object {
      $0.member("state", connection.state.rawValue)
      $0.member("reason", failure?.reason.rawValue)
      $0.member("detail", failure?.detail)
      if let status = failure?.status { $0.member("status", status) }
      $0.member("attempt", connection.failedAttempts)
      if let next = connection.retryIn { $0.member("in", next) }
    }
  }

  private static func writeReason(_ connection: Connection, into out: inout JSONWriter) {
    let failure = connection.downFailure
    out.member("reason", failure?.reason.rawValue)
    out.member("detail", failure?.detail)
    if let status = failure?.status { out.member("status", status) }
    out.member("rule", connection.judgement?.rule)
    out.member("why", connection.judgement?.why)
    out.member("attempt", connection.state == .connected ? 0 : connection.failedAttempts)
    out.member("generation", Int(clamping: connection.generation))
    out.member("next", connection.retryIn)
  }

  private static func writeQueue(_ connection: Connection, into out: inout JSONWriter) {
    out.key("queue")
    // Each is read where it is: a copy of the queue counts a reference to everything in it.
    out.object {
      $0.member("count", connection.delivery.commands.queue.count)
      $0.member("bytes", connection.delivery.commands.queue.byteCount)
      $0.member("oldest", connection.delivery.commands.queue.oldest)
    }
  }

  private static func writeLink(
    _ facts: ChannelFacts?, _ specification: UpstreamSpecification, into out: inout JSONWriter
  ) {
    out.member("server", facts?.server)
    out.member("transport", facts?.transport?.name)
    out.key("protocol")
    if let protocols = facts?.protocols, !protocols.isEmpty {
      out.object { for (name, revision) in protocols { $0.member(name, revision) } }
    } else {
      out.null()
    }
    out.member("tls", facts?.transport?.tlsVersion)
    out.key("verified")
    out.bool(facts?.transport?.verified ?? specification.settings.tls.verify)
    out.member("proxy", facts?.transport?.proxy)
    out.key("compression")
    out.bool(facts?.transport?.compression ?? false)
    out.member("sid", facts?.sid)
    out.key("rtt")
    if let roundTrip = facts?.roundTrip { out.number(roundTrip) } else { out.null() }
    out.key("heartbeat")
    if let heartbeat = facts?.heartbeat {
      out.object {
        $0.member("interval", heartbeat.interval.milliseconds)
        $0.member("timeout", heartbeat.timeout.milliseconds)
        $0.member("age", facts?.heartbeatAge?.milliseconds)
      }
    } else {
      out.null()
    }
  }

  private static func writeHistory(_ connection: Connection, into out: inout JSONWriter) {
    let stream = connection.stream
    out.key("history")
    out.object {
      $0.member("events", stream.history.count)
      $0.member("bytes", stream.history.byteCount)
      $0.member("oldest", stream.history.count > 0 ? Int(clamping: stream.history.oldest) : nil)
      $0.member("disk", connection.history.disk.rawValue)
      $0.member("runtime", connection.history.runtime.rawValue)
      $0.member("reason", connection.history.problem?.kind.rawValue)
      $0.member("detail", connection.history.problem?.message)
    }
  }

  private static func writeTime(_ connection: Connection, into out: inout JSONWriter) {
    out.key("time")
    let time = connection.context.time
    guard let estimate = connection.stream.clock.estimate(wall: time.wallMilliseconds, now: time.now) else {
      return out.null()
    }
    out.object {
      $0.member("offset", estimate.offset)
      $0.member("error", estimate.error)
      $0.member("samples", estimate.samples)
      $0.member("source", estimate.source.rawValue)
      $0.key("followed")
      $0.bool(estimate.isFollowed)
    }
  }

  private static func writeTraffic(_ connection: Connection, into out: inout JSONWriter) {
    out.member("epoch", connection.stream.epoch)
    out.member("seq", connection.stream.sequence)
    out.key("in")
    out.object {
      $0.member("events", connection.stream.eventCount)
      $0.member("bytes", connection.stream.byteCount)
    }
    writeHistory(connection, into: &out)
    out.key("out")
    out.object {
      $0.member("events", connection.delivery.commands.sentEvents)
      $0.member("bytes", connection.delivery.commands.sentBytes)
    }
    out.member("reconnects", connection.record.reconnects)
    out.member("unanswered", connection.answers.unanswered)
  }
}
