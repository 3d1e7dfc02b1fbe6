extension Setting<SocketSettings> {
  /// `[socket]`. The path's limit is that of a Unix-domain address without its NUL, unix(7).
  static var declared: [Self] {
    [
      Setting(
        "path", \.path, SettingType<String>.path(limit: 107).optional,
        "Path of the socket that local programs connect to, at most 107 bytes. Not used when the service manager passes the socket, with `--socket` or with `$GATEWAYD_SOCKET`. Without it: `/run/gatewayd.sock`, or `$XDG_RUNTIME_DIR/gatewayd.sock` with `--user`.",
        example: #""/run/gatewayd.sock""#
      ),
      Setting(
        "mode", \.mode, .mode,
        "Permission bits of the socket file, in octal, as a string: whoever can write to it can connect."),
      Setting(
        "group", \.group, SettingType<String>.groupName.optional,
        "Group of the socket file, by name or number. Without it the file has the daemon's own group.",
        example: #""gateway""#),
    ]
  }
}

extension Setting<LogSettings> {
  /// `[log]`.
  static var declared: [Self] {
    [
      Setting(
        "level", \.level, .choice,
        "The chattiest messages that are still logged. Payloads and secrets are logged at no level.")
    ]
  }
}

extension Setting<StateSettings> {
  /// `[state]`.
  static var declared: [Self] {
    [
      Setting(
        "path", \.path, SettingType<String>.path().optional,
        "Folder of what has to survive a restart, where `$STATE_DIRECTORY` names none. The daemon makes it for itself alone (mode 0700) and locks it. Without it: `$XDG_STATE_HOME/gatewayd` where that is set, else `/var/lib/gatewayd`, or `~/.local/state/gatewayd` with `--user`.",
        example: #""/var/lib/gatewayd""#
      )
    ]
  }
}

extension Setting<MetricsSettings> {
  /// `[metrics]`.
  static var declared: [Self] {
    [
      Setting(
        "listen", \.listen, SettingType<ListenAddress>.address.optional,
        "Where Prometheus reads `/metrics` over HTTP: a numeric address with a port, or the absolute path of a Unix socket, which has mode 0660. Whoever can connect there, over TCP every user of this machine, can read names of upstreams, uids with their numbers of clients, and other numbers, but no URL and no payload; there is no login and no TLS. Without it: nowhere.",
        example: #""127.0.0.1:9817""#
      )
    ]
  }
}

extension Setting<Limits> {
  private static var many: ClosedRange<Int> { 1...1_000_000 }
  private static var bytes: ClosedRange<Int> { (4 << 10)...(64 << 30) }

  /// `[limits]`.
  static var declared: [Self] { clientLimits + queueLimits + memoryLimits + daemonLimits }

  private static var clientLimits: [Self] {
    [
      Setting(
        "line", \.line, .size((4 << 10)...(1 << 30)),
        "Longest line of the local protocol, both ways. A client that sends a longer one gets an error and is disconnected; an event that would need a longer one is announced as a gap."
      ),
      Setting(
        "clients", \.clients, .count(many), "Local clients in all. The next one is turned away with QuotaExceeded."),
      Setting(
        "clients_per_user", \.clientsPerUser, .count(many),
        "Local clients of one user. The next one is turned away with QuotaExceeded."),
      Setting(
        "subscriptions", \.subscriptions, .count(many),
        "Subscriptions of one local client. The next one fails with QuotaExceeded."),
      Setting(
        "inflight", \.inflight, .count(many),
        "Calls of one local client that are not answered yet. The next one fails with QuotaExceeded."),
    ]
  }

  private static var queueLimits: [Self] {
    [
      Setting(
        "subscription_queue", \.subscriptionQueue, .count(1...10_000_000),
        "Events that wait for a subscriber that does not read. Beyond it events are dropped for this subscriber alone, and a gap tells it which ones."
      ),
      Setting(
        "subscription_queue_bytes", \.subscriptionQueueBytes, .size(bytes),
        "The same in bytes; the limit that is reached first counts."),
      Setting(
        "client_queue_bytes", \.clientQueueBytes, .size(bytes),
        "Bytes that wait for one local client over all its subscriptions and replies. Beyond it events are dropped and announced as gaps."
      ),
      Setting(
        "send_queue", \.sendQueue, .count(1...10_000_000),
        "Sends of one user that wait on one connection while it is down; all users together may have twice as many there. The next one fails with QueueFull."
      ),
      Setting(
        "send_queue_bytes", \.sendQueueBytes, .size(bytes),
        "The same in bytes; the limit that is reached first counts."),
    ]
  }

  private static var memoryLimits: [Self] {
    [
      Setting(
        "receive_bytes", \.receiveBytes, .size(bytes),
        "Bytes of messages and lines that have begun and not ended, over all servers and clients; half of it for one user and what it uses by URL. Beyond it a link is lost with `too_large`, and a client's line fails with QuotaExceeded."
      ),
      Setting(
        "send_bytes", \.sendBytes, .size(bytes),
        "Bytes of sends that wait in memory, and of events that wait for clients, over all of them; half of it for one user and what it uses by URL. Beyond it a send fails with QueueFull, and events are dropped and announced as gaps."
      ),
      Setting(
        "history_bytes", \.historyBytes, .size(bytes),
        "Bytes of all histories in memory; half of it for what one user uses by URL. Beyond it a history keeps fewer events."
      ),
    ]
  }

  private static var daemonLimits: [Self] {
    [
      Setting(
        "keys", \.keys, .count(1...10_000_000),
        "Values of `key` that one user may use in \(Limits.keyHours) hours. A send with one more fails with QuotaExceeded."
      ),
      Setting(
        "connections", \.connections, .count(many),
        "Connections to upstreams used by URL, and to other namespaces of configured upstreams than their own, of which one user may have half; they count for whoever asked for them first. A call that would need one more fails with QuotaExceeded; configured upstreams with their own namespaces are not counted."
      ),
      Setting(
        "attempts", \.attempts, .count(1...100_000),
        "Attempts to connect, and examinations by `doctor`, that may start per second in the long run, all together. Whose turn has not come waits for it: turns go round over users, and of one user in the order of asking; an administrator's `reconnect` does not wait."
      ),
      Setting(
        "attempts_burst", \.attemptsBurst, .count(1...100_000), "How many of them may start at once after a quiet time."
      ),
      Setting(
        "stop", \.stop, .duration(milliseconds: 1...3_600_000),
        "Time that queued sends and unread replies get when the daemon stops. Accepted sends that are left then move to the outbox; one that it cannot keep is reported in the log."
      ),
    ]
  }
}

extension Setting<OutboxSettings> {
  private static var counts: ClosedRange<Int> { 1...10_000_000 }
  private static var bytes: ClosedRange<Int> { (4 << 10)...(64 << 30) }

  /// `[outbox]`.
  static var declared: [Self] {
    [
      Setting(
        "entries", \.entries, .count(counts),
        "Durable sends of one user to one upstream that are not finished; all users together may have twice as many there. What happens to the next one says `when_full`."
      ),
      Setting(
        "bytes", \.bytes, .size(bytes),
        "The same in bytes, where a send counts as its message and 512 bytes; the limit that is reached first counts."),
      Setting(
        "total_entries", \.totalEntries, .count(counts),
        "Durable sends over all upstreams that are not finished; one user may have half of them."),
      Setting("total_bytes", \.totalBytes, .size(bytes), "The same in bytes."),
      Setting(
        "age", \.age, .duration(milliseconds: 1_000...31_536_000_000),
        "How long a durable send may wait; a longer `ttl` is cut to it, and one without `ttl` has this one. Then it ends as expired."
      ),
      Setting(
        "when_full", \.whenFull, .choice,
        "What happens to a durable send when a limit is reached: it fails with QueueFull, or its user's oldest one gives way and ends as dropped."
      ),
      Setting(
        "keep", \.keep, .duration(milliseconds: 1...31_536_000_000),
        "How long `outbox.list` shows what is finished, and `outbox.retry` can send again what failed."),
      Setting(
        "keep_entries", \.keepEntries, .count(counts),
        "Finished sends that are shown at most; beyond that those of the user with the most go first, of these the oldest that arrived, and then what `outbox.retry` could send again. Their bytes, with the servers' answers, are bounded by `bytes`."
      ),
    ]
  }
}
